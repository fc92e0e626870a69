// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/npy.h"

#include "core/base/text.h"
#include "kernels/small_float.h"

#include <charconv>
#include <cstring>
#include <fmt/format.h>

namespace qs::value {
namespace {

constexpr std::int64_t kMostElements = std::int64_t(1) << 30;
constexpr std::size_t kMostRank = 32;

/// What follows 'key': in the header, a Python dictionary that NumPy writes in one way.
std::optional<std::string_view> valueOf(std::string_view header, std::string_view key) {
    const std::string quoted = fmt::format("'{}':", key);
    const std::size_t at = header.find(quoted);
    if (at == std::string_view::npos) return std::nullopt;
    header.remove_prefix(at + quoted.size());
    while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
    return header;
}

std::optional<Shape> shapeOf(std::string_view text) {
    if (text.empty() || text.front() != '(') return std::nullopt;
    text.remove_prefix(1);
    Shape shape;
    for (;;) {
        while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
        if (text.empty()) return std::nullopt;
        if (text.front() == ')') return shape;
        std::int64_t size = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
        if (error != std::errc() || size < 0 || shape.size() == kMostRank) return std::nullopt;
        shape.push_back(size);
        text.remove_prefix(std::size_t(end - text.data()));
    }
}

} // namespace

Result<Tensor> parseNpy(std::span<const std::byte> bytes) {
    const auto* raw = reinterpret_cast<const unsigned char*>(bytes.data());
    if (bytes.size() < 12 || std::memcmp(raw, "\x93NUMPY", 6) != 0) return fail("it is no .npy file of NumPy");
    const unsigned version = raw[6];
    if (version < 1 || version > 3) return fail(fmt::format(".npy version {} is not known: 1 to 3 are", version));
    const std::size_t start = version == 1 ? 10 : 12;
    std::size_t length = std::size_t(raw[8]) | std::size_t(raw[9]) << 8;
    if (version > 1) length |= std::size_t(raw[10]) << 16 | std::size_t(raw[11]) << 24;
    if (length > bytes.size() - start) return fail("the .npy header is longer than the file");
    const std::string_view header(reinterpret_cast<const char*>(raw) + start, length);
    const auto type = valueOf(header, "descr"), order = valueOf(header, "fortran_order"),
               dims = valueOf(header, "shape");
    if (!type || !order || !dims) return fail("the .npy header lacks descr, fortran_order or shape");
    const auto kind = type->substr(0, 5);
    const int size = kind == "'<f4'" ? 4 : kind == "'<f2'" ? 2 : kind == "'<f8'" ? 8 : 0;
    if (size == 0)
        return fail(fmt::format("the .npy array is {}: little-endian f16, f32 and f64 are read",
                                escapeForPeople(type->substr(0, type->find(',')), 20)));
    if (!order->starts_with("False"))
        return fail("the .npy array is in Fortran order: write it with np.ascontiguousarray");
    auto shape = shapeOf(*dims);
    if (!shape) return fail("the .npy header has no shape that can be read");
    std::int64_t elements = 1;
    for (const std::int64_t dim : *shape) {
        if (dim > 0 && elements > kMostElements / dim) return fail("the .npy array has more than 2^30 elements");
        elements *= dim;
    }
    const std::size_t data = start + length;
    if (bytes.size() - data != std::size_t(elements) * std::size_t(size))
        return fail(fmt::format("the .npy array of {} needs {} bytes, the file holds {}", shapeText(*shape),
                                elements * size, bytes.size() - data));
    Tensor out{std::move(*shape), std::vector<float>(std::size_t(elements)), DType::F32};
    const std::byte* at = bytes.data() + data;
    for (float& value : out.values) {
        if (size == 4)
            std::memcpy(&value, at, 4);
        else if (size == 8) {
            double wide = 0;
            std::memcpy(&wide, at, 8);
            value = float(wide);
        } else {
            std::uint16_t half = 0;
            std::memcpy(&half, at, 2);
            value = f16ToF32(half);
        }
        at += size;
    }
    return out;
}

} // namespace qs::value
