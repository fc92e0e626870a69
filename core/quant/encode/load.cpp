// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf/packed_type.h"
#include "core/quant/encode/float_values.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <vector>

namespace qs {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian and are used as they are");

/// 16-bit floats: straight from the mapping when aligned, else through a small buffer.
void loadHalf(const std::byte* bytes, std::size_t n, float* out,
              void (*convert)(const std::uint16_t*, std::size_t, float*)) {
    if (reinterpret_cast<std::uintptr_t>(bytes) % alignof(std::uint16_t) == 0) {
        convert(reinterpret_cast<const std::uint16_t*>(bytes), n, out);
        return;
    }
    std::uint16_t buffer[2048];
    for (std::size_t done = 0; done < n;) {
        const std::size_t part = std::min(n - done, std::size(buffer));
        std::memcpy(buffer, bytes + 2 * done, 2 * part);
        convert(buffer, part, out + done);
        done += part;
    }
}

/// Whole blocks straight into `out`; ends within a block through a block of its own.
void loadPacked(const TensorView& view, std::uint64_t begin, std::size_t n, float* out) {
    const PackedType& type = *view.info->packed;
    assert(type.decode && "callers take tensors with values only");
    constexpr std::size_t kMost = 4096; // blocks at a time, where the file is read
    thread_local std::vector<std::byte> scratch;
    thread_local std::vector<float> one;
    const auto decode = [&](std::uint64_t block, std::size_t count, float* to) {
        const auto bytes = view.read(block * type.bytes, count * type.bytes, scratch);
        type.decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), count, to);
    };
    while (n > 0) {
        const std::uint64_t block = begin / type.elements;
        const std::size_t skip = std::size_t(begin % type.elements);
        std::size_t part = std::min(n / type.elements, kMost) * type.elements;
        if (skip == 0 && part > 0) {
            decode(block, part / type.elements, out);
        } else {
            part = std::min(n, type.elements - skip);
            one.resize(type.elements);
            decode(block, 1, one.data());
            std::copy_n(one.data() + skip, part, out);
        }
        begin += part, n -= part, out += part;
    }
}

} // namespace

const float* directF32(const TensorView& view) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(view.bytes.data()) % alignof(float) == 0;
    const bool isThere = !view.bytes.empty() || view.info->bytes == 0;
    return view.info->dtype == DType::F32 && !view.info->packed && aligned && isThere
               ? reinterpret_cast<const float*>(view.bytes.data())
               : nullptr;
}

void loadF32(const TensorView& view, std::uint64_t begin, std::size_t n, float* out) {
    if (n == 0) return; // an empty tensor has no address
    if (view.info->packed) return loadPacked(view, begin, n, out);
    const KernelSet& kernels = bestKernels();
    const std::size_t size = std::size_t(info(view.info->dtype).bits) / 8;
    assert((begin + n) * size <= view.info->bytes);
    if (view.info->dtype == DType::F32) {
        view.readInto(begin * 4, std::as_writable_bytes(std::span(out, n)));
        return;
    }
    thread_local std::vector<std::byte> scratch; // for files that are read; stays small: no caller asks for much
    const std::byte* bytes = view.read(begin * size, n * size, scratch).data();
    switch (view.info->dtype) {
    case DType::F16: loadHalf(bytes, n, out, kernels.f16ToF32); return;
    case DType::BF16: loadHalf(bytes, n, out, kernels.bf16ToF32); return;
    case DType::F64:
        for (std::size_t i = 0; i < n; ++i) {
            double value;
            std::memcpy(&value, bytes + 8 * i, 8);
            out[i] = float(value);
        }
        return;
    default: loadFloats(view, begin, n, out); // floats of 8 bits
    }
}

void roundTo(DType type, float* values, std::size_t n) {
    if (type != DType::F16 && type != DType::BF16) return;
    const KernelSet& kernels = bestKernels();
    std::uint16_t halves[1024];
    for (std::size_t at = 0; at < n; at += std::size(halves)) {
        const std::size_t part = std::min(n - at, std::size(halves));
        float* x = values + at;
        (type == DType::F16 ? kernels.f32ToF16 : kernels.f32ToBf16)(x, part, halves);
        (type == DType::F16 ? kernels.f16ToF32 : kernels.bf16ToF32)(halves, part, x);
    }
}

} // namespace qs
