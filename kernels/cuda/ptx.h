// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The kernels as PTX, for whoever asks what was run.

#include <string>
#include <vector>

namespace qs::cuda {

/// What nvcc made of each source for the newest architecture that was compiled for, whole.
std::vector<const char*> ptxTexts();

/// The entry whose mangled name has this part, with the lines on version and target before it; empty: there is none.
std::string ptxOf(const std::vector<const char*>& texts, const std::string& part);

/// Parts of the mangled names of our kernels.
std::string skinnyName(int bits, int columns, int scaleMode, bool splitTiles);
std::string largeName(int bits, int scaleMode);
std::string decodeName(bool toBf16);
inline constexpr const char* kQuantizeInt8Name = "10int8Groups";
inline constexpr const char* kQuantizeNf4Name = "9nf4Blocks";
inline constexpr const char* kQuantizeNf4Whole64Name = "11nf4Blocks64"; ///< rows of whole blocks of 64
inline constexpr const char* kQuantizeBySearchName = "10codeGroups";
inline constexpr const char* kFinishIntegersName = "8integers";

} // namespace qs::cuda
