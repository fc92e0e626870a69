// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Hidden states of a network at the borders of its layers, in memory or, beyond a budget, in a temporary file without a
// name.

#include "core/base/result.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace qs::eval {

class Borders {
public:
    /// `memory`: bytes that may stay in memory.
    explicit Borders(std::uint64_t memory) : memory_(memory) {}

    /// Stores the states that enter a layer. States after the last of N layers are stored as layer N. All have the same
    /// length. Error: the temporary file cannot be written.
    Result<void> keep(std::size_t layer, std::span<const float> values);
    bool has(std::size_t layer) const { return inMemory_.contains(layer) || inFile_.contains(layer); }
    Result<std::vector<float>> at(std::size_t layer) const;

private:
    using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    std::uint64_t memory_, used_ = 0;
    std::map<std::size_t, std::vector<float>> inMemory_;
    std::map<std::size_t, long> inFile_; ///< offset in bytes
    std::size_t length_ = 0;             ///< values of one border
    long end_ = 0;                       ///< size of the file in bytes
    File file_{nullptr, std::fclose};
};

} // namespace qs::eval
