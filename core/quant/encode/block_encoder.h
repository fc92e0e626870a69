// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Runs of the formats whose scales lie in blocks of bytes with the codes: encoded, decoded again, and measured.

#include "core/quant/spec/spec.h"
#include "kernels/kernel_set.h"

#include <atomic>
#include <memory>
#include <vector>

namespace qs {

/// nullptr for formats with codes and scales of their own.
const BlockCodec* codecOf(const QuantSpec& spec);
/// Bytes of `elements` values that are whole blocks.
std::uint64_t blockBytes(const BlockCodec& codec, std::uint64_t elements);
/// Why rows of that many values cannot be cut into blocks, and the nearest format that takes them.
Result<void> checkBlocks(const QuantSpec& spec, std::int64_t features);

/// Takes runs of whole blocks. NaN counts as 0, an infinite value as the largest finite one of its sign in its block. One
/// per worker: it keeps scratch.
class BlockEncoder {
public:
    explicit BlockEncoder(const BlockCodec* codec) : codec_(codec) {}
    const BlockCodec* codec() const { return codec_; }
    /// What KernelSet::quantize gives; a scale is that of its group, and valueBins are places among the levels.
    void operator()(const Run& run, const RunOut& out);
    void pack(const Run& run, std::uint8_t* bytes); ///< the blocks as they are stored
    /// From now on, blocks of finite values that decode to NaN or Inf set `met`: their scale overflows its type.
    void watchOverflow(std::shared_ptr<std::atomic<bool>> met) { overflow_ = std::move(met); }

private:
    void piece(const Run& run, const RunOut& out);
    const float* finite(const float* x, std::size_t n);
    void encode(const float* x, std::size_t n, std::uint8_t* bytes);
    const BlockCodec* codec_;
    std::shared_ptr<std::atomic<bool>> overflow_;
    float largest_ = 0; ///< magnitude of the last values; NaN and Inf where there are
    std::vector<std::uint8_t> bytes_, codes_;
    std::vector<float> finite_, decoded_, scales_, errors_, places_;
};

} // namespace qs
