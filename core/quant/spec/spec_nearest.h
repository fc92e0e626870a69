// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is advised in the place of a spec that makes no sense.

#include "core/base/nearest_word.h"
#include "core/quant/spec/spec.h"

namespace qs {

/// Whether a spec makes sense. `works` of the error are candidates that were not tried: whole specs, or KEY=VALUE for
/// what one key may be. parseSpec() and validate() keep those that work.
Result<void> checkSpec(const QuantSpec& spec);

/// A text that was read as far as it makes sense.
struct ReadSpec {
    QuantSpec spec;
    Result<void> done; ///< as checkSpec() has it
};
ReadSpec readSpec(std::string_view text);

/// The refusal of a format that does not exist.
tl::unexpected<Error> unknownFormat(std::string_view typed);
/// The spec without the keys that it does not work with, as few as will do; its format is known.
QuantSpec nearestSpec(const QuantSpec& spec);

/// Returns the candidates that make `text` a valid spec, as whole specs. If there are none, returns the valid spec that
/// is nearest to `spec`, which is the parsed text.
std::vector<std::string> thoseThatWork(std::span<const std::string> candidates, std::string_view text,
                                       const QuantSpec& spec);
/// The choices "KEY=A", "KEY=B"; the one that was most likely meant comes first.
std::vector<std::string> choices(std::string_view key, std::string_view typed, std::vector<std::string_view> values);

} // namespace qs
