// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How tensors are ordered and named in sentences.

#include <string>
#include <string_view>

namespace qs {

/// "layers.2.w" before "layers.10.w": runs of digits compare as numbers. A strict total order.
bool naturalLess(std::string_view a, std::string_view b);

/// A name from a file, escaped, shortened and in quotes.
std::string quotedName(std::string_view name);

} // namespace qs
