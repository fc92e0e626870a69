// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Hashes of a stream of values, one for every MiB, so that two streams are compared without either being kept. The two
// zeros are one value.

#include "core/model/dtype.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace qs {

class ValueSums {
public:
    static constexpr std::uint64_t kPiece = std::uint64_t(1) << 20;
    explicit ValueSums(DType dtype);
    ~ValueSums();
    void add(std::span<const std::byte> values); ///< whole values
    /// Of the last piece too; nothing is added after it.
    const std::vector<std::uint64_t>& finish();
    std::uint64_t bytes() const { return bytes_; }

private:
    struct Hash;
    DType dtype_;
    std::unique_ptr<Hash> hash_;
    std::vector<std::byte> buffer_;
    std::vector<std::uint64_t> sums_;
    std::uint64_t bytes_ = 0, inPiece_ = 0;
};

} // namespace qs
