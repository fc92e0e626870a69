// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/npy.h"

#include "core/model/npy/npy.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace qs::value {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t(1) << 30;

} // namespace

Result<Tensor> parseNpy(std::span<const std::byte> bytes) {
    const auto header = parseNpyHeader(bytes, bytes.size());
    if (!header) return tl::unexpected(header.error());
    const bool isFloat = header->dtype == DType::F16 || header->dtype == DType::F32 || header->dtype == DType::F64;
    if (!isFloat) return fail(fmt::format("the .npy array is {}: f16, f32 and f64 are read", info(header->dtype).id));
    if (header->fortran && header->shape.size() > 1)
        return fail("the .npy array is in Fortran order: write it with np.ascontiguousarray");
    if (header->elements > kMostElements) return fail("the .npy array has more than 2^30 elements");
    Tensor out{header->shape, std::vector<float>(std::size_t(header->elements)), DType::F32};
    const auto size = std::size_t(info(header->dtype).bits / 8);
    const std::byte* at = bytes.data() + header->dataBegin;
    for (float& value : out.values) {
        std::byte one[8];
        std::copy_n(at, size, one);
        if (header->isBigEndian) std::reverse(one, one + size);
        if (size == 4)
            std::memcpy(&value, one, 4);
        else if (size == 8) {
            double wide = 0;
            std::memcpy(&wide, one, 8);
            value = float(wide);
        } else {
            std::uint16_t half = 0;
            std::memcpy(&half, one, 2);
            value = f16ToF32(half);
        }
        at += size;
    }
    return out;
}

} // namespace qs::value
