// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that is given as token ids.

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace qs::eval {

/// From an array of integers in one dimension (.npy; 16, 32 or 64 bits, little-endian), else from text: whole numbers
/// between white space or commas. Errors name the file and the place: no numbers, a number below 0 or above 2^31 - 1,
/// more than 2^28 of them.
Result<std::vector<std::int32_t>> readTokens(const std::string& path);

} // namespace qs::eval
