// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The PTX text of the kernels, for display.

#include <cstdint>
#include <string>
#include <vector>

namespace qs::cuda {

/// The PTX of each source file, whole, for the newest architecture in the build.
std::vector<const char*> ptxTexts();

/// The kernel whose mangled name contains `part`, preceded by the lines with version and target. Empty if there is
/// none.
std::string ptxOf(const std::vector<const char*>& texts, const std::string& part);

// Parts of the mangled names of our kernels.
/// `block` and `affine` have the same meaning as in DeviceWeight.
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
    Nf4Whole64, ///< rows are whole blocks of 64
    BySearch
};
/// `kept`: the kernel of keepsRows(), for the first two only.
std::string quantizerName(Quantizer quantizer, bool measures, bool kept = false);
inline constexpr const char* kJoinTotalsName = "10joinTotals";

} // namespace qs::cuda
