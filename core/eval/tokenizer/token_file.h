// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that is given as token ids.

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace qs::eval {

/// Reads an array of integers with one dimension (.npy; 16, 32 or 64 bits, little-endian), or a text of whole numbers
/// separated by white space or commas. Errors name the file and the place: there are no numbers, a number is below 0 or
/// above 2^31 - 1, or there are more than 2^28.
Result<std::vector<std::int32_t>> readTokens(const std::string& path);

} // namespace qs::eval
