// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor encoded slab by slab on all cores; the bytes of each slab are handed over in order.

#include "core/layouts/measured_tensor.h"
#include "core/model/safetensors/safetensors.h"

namespace qs {

/// The scales of a slab. Fields that are made of scales take them from here while the codes are written, so that one
/// pass over the values makes both.
class SlabScales {
public:
    SlabScales() = default; ///< the scales are not taken
    explicit SlabScales(std::span<const TakeScales> takers) : takers_(takers) {}
    /// Whether all scales were handed over. False: they must be measured in a pass of their own.
    bool handedOver() const { return active_; }

private:
    friend class SlabStream;
    void begin(const MeasuredTensor& tensor, const TensorPass& pass);
    void beginSlab(const TensorPass& pass, std::uint64_t firstUnit, std::uint64_t lastUnit);
    GroupParams* of(const PassRange& range) { return active_ ? params_.data() + (range.firstGroup - first_) : nullptr; }
    Result<void> endSlab() const;

    std::span<const TakeScales> takers_;
    bool active_ = false;
    std::uint64_t first_ = 0;
    std::vector<GroupParams> params_;
};

/// How the values of a tensor become bytes.
struct SlabCoder {
    /// The output byte of an element that begins a range, and of the end.
    std::function<std::uint64_t(std::uint64_t element)> place;
    /// Writes the bytes of a range. Called on several threads.
    std::function<void(const PassRange&, RunEncoder&, std::byte* at)> encode = {};
    /// Used in the place of `encode` by coders that find scales themselves: they put them into `scales` unless it is
    /// null.
    std::function<void(const PassRange&, RunEncoder&, GroupParams* scales, std::byte* at)> encodeAndScale = {};
    /// Ranges may end within a byte. The slab then begins as zeros, and `encode` adds its bits atomically. It may touch
    /// one byte behind its last one.
    bool bitwise = false;
};
/// Encodes a tensor in slabs of a few MiB of output.
Result<void> streamSlabs(MeasuredTensor& tensor, const SlabCoder& coder, SlabScales& scales,
                         const TensorToWrite::Sink& sink);

/// The codes of a range, one a byte, in memory of the calling thread.
std::span<std::uint8_t> codesOf(const PassRange& range, RunEncoder& encode);
/// Adds to codes, modulo 256.
void moveCodes(std::uint8_t* codes, std::size_t n, int offset);
/// f32 values as bytes of a float dtype, rounded half to even.
void appendAs(DType dtype, const float* values, std::size_t n, std::byte* at);
/// The same for decoded values: a finite one that rounding puts beyond the type becomes its largest. Returns how many.
std::size_t appendFinite(DType dtype, const float* values, std::size_t n, std::byte* at);

} // namespace qs
