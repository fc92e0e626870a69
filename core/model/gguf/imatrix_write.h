// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes importance matrices as llama.cpp's tools/imatrix does: save_imatrix (GGUF) and save_imatrix_legacy.

#include <cstddef>
#include <string>
#include <vector>

namespace qs {

struct ImatrixToWrite {
    struct Entry {
        std::string name;           ///< name of the weight in GGUF files: "blk.0.attn_q.weight"
        std::vector<double> sums;   ///< sums of x_j^2, [matrices, columns]; there are several matrices for experts
        std::vector<double> counts; ///< for each matrix the number of rows that were added
    };
    std::vector<Entry> entries;            ///< sorted by name
    std::string dataset;                   ///< name of the text
    std::size_t chunks = 0, chunkSize = 0; ///< chunkSize: tokens
};

/// Writes NAME.in_sum2, F32 [matrices, columns], with the sums, and NAME.counts, F32 [matrices, 1]. If there is one
/// matrix, the first axis is left out.
std::string imatrixAsGguf(const ImatrixToWrite& matrix);
/// Writes the older format: value = sum / count * calls, with calls = ceil(largest count / chunk size). If a count is
/// 0, the value is calls.
std::string imatrixAsDat(const ImatrixToWrite& matrix);

} // namespace qs
