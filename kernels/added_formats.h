// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Formats that join the list while the program runs: a user's own codebooks.

#include "kernels/format.h"

namespace qs {

inline constexpr std::size_t kMostAddedFormats = 64;

/// Everything that the row points to lives as long as the program. False when the id is known or the list is full. Spans
/// that formats() gave before stay valid; calls from several threads are not for this.
bool addFormat(const FormatTraits& format);
/// The scales, blocks and other facts of a codebook, without id, words, levels, bits and zero code.
FormatTraits codebookFormat();
bool isAddedFormat(const FormatTraits& format);

} // namespace qs
