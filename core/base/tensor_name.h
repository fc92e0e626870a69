// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The order of tensor names, and how sentences quote them.

#include <string>
#include <string_view>

namespace qs {

/// Natural order: runs of digits compare as numbers, so "layers.2.w" comes before "layers.10.w". A strict total order.
bool naturalLess(std::string_view a, std::string_view b);

/// A name from a file, escaped, shortened to 100 characters, in quotes.
std::string quotedName(std::string_view name);

} // namespace qs
