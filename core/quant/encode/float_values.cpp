// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/float_values.h"

#include "core/model/conventions/layer.h"
#include "core/model/gguf/packed_type.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

namespace qs {
namespace {

/// Floats without infinities and without -0, whose byte is NaN.
float fnuz(const FloatShape& shape, unsigned byte) {
    if (byte == 0x80) return std::numeric_limits<float>::quiet_NaN();
    const float magnitude = floatMagnitude(shape, byte & 0x7f);
    return byte & 0x80 ? -magnitude : magnitude;
}

using Bytes = std::array<float, 256>;
template<class Value> Bytes tableOf(Value value) {
    Bytes out;
    for (unsigned byte = 0; byte < out.size(); ++byte) out[byte] = value(std::uint8_t(byte));
    return out;
}

/// The value of each byte; null: not a float of 8 bits.
const Bytes* bytesOf(DType type) {
    static const Bytes kE4m3 = tableOf(e4m3), kE5m2 = tableOf(e5m2), kE8m0 = tableOf(e8m0);
    static const Bytes kE4m3Fnuz = tableOf([](std::uint8_t byte) { return fnuz({3, 8}, byte); });
    static const Bytes kE5m2Fnuz = tableOf([](std::uint8_t byte) { return fnuz({2, 16}, byte); });
    switch (type) {
    case DType::F8_E4M3: return &kE4m3;
    case DType::F8_E5M2: return &kE5m2;
    case DType::F8_E8M0: return &kE8m0;
    case DType::F8_E4M3FNUZ: return &kE4m3Fnuz;
    case DType::F8_E5M2FNUZ: return &kE5m2Fnuz;
    default: return nullptr;
    }
}

} // namespace

bool hasFloats(const TensorInfo& tensor) {
    return tensor.packed ? tensor.packed->decode != nullptr : info(tensor.dtype).quantizable || bytesOf(tensor.dtype);
}

void loadFloats(const TensorView& view, std::uint64_t begin, std::size_t n, float* out) {
    const Bytes* bytes = view.info->packed ? nullptr : bytesOf(view.info->dtype);
    if (!bytes && !hasFloats(*view.info)) {
        assert(false && "callers take tensors with hasFloats() only");
        return void(std::fill_n(out, n, 0.0f));
    }
    if (!bytes) return loadF32(view, begin, n, out);
    thread_local std::vector<std::byte> scratch;
    const auto stored = view.read(begin, n, scratch);
    for (std::size_t i = 0; i < n; ++i) out[i] = (*bytes)[std::to_integer<std::size_t>(stored[i])];
}

} // namespace qs
