// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The kernels as PTX, for whoever asks what was run.

#include <cstdint>
#include <string>
#include <vector>

namespace qs::cuda {

/// What nvcc made of each source for the newest architecture that was compiled for, whole.
std::vector<const char*> ptxTexts();

/// The entry whose mangled name has this part, with the lines on version and target before it; empty: there is none.
std::string ptxOf(const std::vector<const char*>& texts, const std::string& part);

/// Parts of the mangled names of our kernels.
/// `block`, `affine`: as in DeviceWeight.
std::string skinnyName(int bits, int columns, int scaleMode, std::int64_t block, bool affine = false);
std::string stagedName(int bits, int columns, int scaleMode, std::int64_t block, bool affine = false);
std::string largeName(int bits, int scaleMode, bool affine = false);
std::string decodeName(bool toBf16);
std::string decodeRunName(int bits, bool highFirst, bool toBf16);
inline constexpr const char* kFinishIntegersName = "6finishIiLb1E";
inline constexpr const char* kFinishScaledName = "6finishIfLb1E";
enum class Quantizer : int {
    Int8,
    E4m3,
    Nf4,
    Nf4Whole64, ///< rows of whole blocks of 64
    BySearch
};
/// `kept`: see keepsRows(), of the first two.
std::string quantizerName(Quantizer quantizer, bool measures, bool kept = false);
inline constexpr const char* kJoinTotalsName = "10joinTotals";

} // namespace qs::cuda
