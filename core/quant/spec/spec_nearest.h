// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is advised in the place of a spec that makes no sense.

#include "core/base/nearest_word.h"
#include "core/quant/spec/spec.h"

namespace qs {

/// The spec makes sense; the sentence may say only what is wrong.
Result<void> checkSpec(const QuantSpec& spec);

std::optional<std::string_view> nearestFormat(std::string_view typed);
/// The nearest format, or all of them where none is like the one typed.
std::string nearestFormats(std::string_view typed);
/// The spec without the keys that it does not work with, as few as will do; its format is known.
QuantSpec nearestSpec(const QuantSpec& spec);

bool namesWhatWorks(std::string_view sentence);
std::string withNearest(std::string_view sentence, const QuantSpec& spec);
/// The sentence, with the nearest spec where what it advises is nothing for the spec's format.
std::string withWhatWorks(std::string_view sentence, const QuantSpec& spec);
/// The words of a list, the one that was meant in front.
std::vector<std::string_view> nearestFirst(std::string_view typed, std::vector<std::string_view> words);

} // namespace qs
