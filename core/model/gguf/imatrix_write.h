// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes importance matrices as llama.cpp's tools/imatrix does: save_imatrix (GGUF) and save_imatrix_legacy.

#include <cstddef>
#include <string>
#include <vector>

namespace qs {

struct ImatrixToWrite {
    struct Entry {
        std::string name;           ///< of the weight in GGUF files: "blk.0.attn_q.weight"
        std::vector<double> sums;   ///< of x_j^2: [matrices, columns]; more than one matrix: experts
        std::vector<double> counts; ///< rows that were added up, of each matrix
    };
    std::vector<Entry> entries;            ///< sorted by name
    std::string dataset;                   ///< name of the text
    std::size_t chunks = 0, chunkSize = 0; ///< chunkSize: tokens
};

/// NAME.in_sum2, F32 [matrices, columns], raw sums; NAME.counts, F32 [matrices, 1]. One matrix has no axis for it.
std::string imatrixAsGguf(const ImatrixToWrite& matrix);
/// value = sum / count * calls, calls = ceil(largest count / chunk size); 1 * calls where the count is 0.
std::string imatrixAsDat(const ImatrixToWrite& matrix);

} // namespace qs
