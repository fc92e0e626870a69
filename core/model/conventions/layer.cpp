// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/layer.h"

#include "core/model/mapped_file.h"
#include "kernels/kernel_set.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace qs {
namespace {

// Elements; large, so that a piece has many rows of layers whose words cover several rows.
constexpr std::size_t kPiece = std::size_t(1) << 18;

template<class T> T at(std::span<const std::byte> bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
}

float elementAt(std::span<const std::byte> bytes, DType dtype, std::size_t i) {
    switch (dtype) {
    case DType::F32: return at<float>(bytes, i);
    case DType::F16: return f16ToF32(at<std::uint16_t>(bytes, i));
    case DType::BF16: return bf16ToF32(at<std::uint16_t>(bytes, i));
    case DType::F8_E4M3: return e4m3(at<std::uint8_t>(bytes, i));
    case DType::F8_E5M2: return e5m2(at<std::uint8_t>(bytes, i));
    case DType::F8_E8M0: return e8m0(at<std::uint8_t>(bytes, i));
    case DType::I8: return float(at<std::int8_t>(bytes, i));
    case DType::U8: return float(at<std::uint8_t>(bytes, i));
    case DType::I16: return float(at<std::int16_t>(bytes, i));
    case DType::U16: return float(at<std::uint16_t>(bytes, i));
    case DType::I32: return float(at<std::int32_t>(bytes, i));
    case DType::U32: return float(at<std::uint32_t>(bytes, i));
    default: assert(false && "conventions check the dtypes of their fields"); return 0;
    }
}

template<class T> std::vector<T> copied(const Field& field, std::uint64_t begin, std::size_t n) {
    std::vector<T> out(n);
    const auto into = std::as_writable_bytes(std::span(out));
    if (field.info.derived)
        field.info.derived->read(begin * sizeof(T), into);
    else
        field.file->readInto(field.info.offset + begin * sizeof(T), into);
    return out;
}

} // namespace

const float kE2m1Values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                               -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

const float kBnbFp4Values[16] = {0.0f, 0.0625f / 12,  8.0f / 12,  1.0f,  4.0f / 12,  0.5f,  2.0f / 12,  0.25f,
                                 0.0f, -0.0625f / 12, -8.0f / 12, -1.0f, -4.0f / 12, -0.5f, -2.0f / 12, -0.25f};

void unpackNibbles(const std::uint8_t* bytes, std::size_t n, std::uint8_t* codes) {
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        std::uint32_t packed;
        std::memcpy(&packed, bytes + i / 2, 4);
        std::uint64_t x = packed;
        x = (x | x << 16) & 0x0000ffff0000ffffu;
        x = (x | x << 8) & 0x00ff00ff00ff00ffu;
        x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
        std::memcpy(codes + i, &x, 8);
    }
    for (; i < n; ++i) codes[i] = std::uint8_t(bytes[i / 2] >> (i % 2 * 4) & 15);
}

float e4m3(std::uint8_t code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    const float sign = code & 128 ? -1.0f : 1.0f;
    if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
    return sign * (exponent == 0 ? std::ldexp(float(mantissa), -9) : std::ldexp(float(8 + mantissa), exponent - 10));
}

float e5m2(std::uint8_t code) { return f16ToF32(std::uint16_t(code << 8)); }

float e8m0(std::uint8_t code) {
    if (code == 255) return std::numeric_limits<float>::quiet_NaN();
    return code == 0 ? std::ldexp(1.0f, -127) : std::bit_cast<float>(std::uint32_t(code) << 23);
}

std::span<const std::byte> Field::read(std::uint64_t begin, std::size_t n, std::vector<std::byte>& scratch) const {
    if (!info.derived) return file->read(info.offset + begin, n, scratch);
    scratch.resize(std::max(scratch.size(), n));
    info.derived->read(begin, std::span(scratch).first(n));
    return std::span(scratch).first(n);
}

std::vector<float> Field::floats(std::uint64_t begin, std::size_t n) const {
    if (info.dtype == DType::F32) return copied<float>(*this, begin, n);
    const std::size_t size = std::size_t(qs::info(info.dtype).bits) / 8;
    std::vector<std::byte> scratch;
    const auto bytes = read(begin * size, n * size, scratch);
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = elementAt(bytes, info.dtype, i);
    return out;
}

std::vector<std::uint32_t> Field::words(std::uint64_t begin, std::size_t n) const {
    return copied<std::uint32_t>(*this, begin, n);
}

std::vector<std::uint8_t> Field::octets(std::uint64_t begin, std::size_t n) const {
    return copied<std::uint8_t>(*this, begin, n);
}

Layer::Layer(About about)
    : type_(about.type), description_(std::move(about.description)), dtype_(about.dtype),
      shape_(std::move(about.shape)), fields_(std::move(about.fields)) {
    assert(dtype_ == DType::F32 || dtype_ == DType::F16 || dtype_ == DType::BF16);
    for (const auto size : shape_) elements_ *= std::uint64_t(size);
    for (const auto& field : fields_) parts_.push_back(field.info);
}

std::vector<std::string> Layer::fields() const {
    std::vector<std::string> names;
    for (const auto& part : parts_) names.push_back(part.name);
    return names;
}

std::uint64_t Layer::storedBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.bytes;
    return bytes;
}

Result<void> Layer::unchanged() const {
    const MappedFile* last = nullptr;
    for (const auto& field : fields_) {
        if (field.info.derived)
            if (auto same = field.info.derived->unchanged(); !same) return same;
        if (field.file.get() == last) continue;
        last = field.file.get();
        if (auto same = last->unchanged(); !same) return same;
    }
    return {};
}

void Layer::release() const {
    for (const auto& field : fields_)
        if (field.info.derived)
            field.info.derived->release();
        else
            field.file->dropPages(field.info.offset, field.info.bytes);
}

void Layer::read(std::uint64_t begin, std::span<std::byte> into) const {
    if (into.empty()) return;
    const std::size_t size = std::size_t(qs::info(dtype_).bits) / 8;
    assert(begin + into.size() <= elements_ * size);
    const bool whole = begin % size == 0 && into.size() % size == 0;
    if (whole && dtype_ == DType::F32 && reinterpret_cast<std::uintptr_t>(into.data()) % alignof(float) == 0) {
        values(begin / size, into.size() / size, reinterpret_cast<float*>(into.data()));
        return;
    }
    const KernelSet& kernels = bestKernels();
    thread_local std::vector<float> wide;
    thread_local std::vector<std::uint16_t> narrow;
    while (!into.empty()) { // the range may start or end inside an element
        const std::uint64_t first = begin / size;
        const std::size_t skip = std::size_t(begin % size);
        const std::size_t part = std::min(into.size(), kPiece * size - skip);
        const std::size_t n = (skip + part + size - 1) / size;
        wide.resize(std::max(wide.size(), n));
        values(first, n, wide.data());
        const std::byte* bytes = reinterpret_cast<const std::byte*>(wide.data());
        if (dtype_ != DType::F32) {
            narrow.resize(std::max(narrow.size(), n));
            (dtype_ == DType::F16 ? kernels.f32ToF16 : kernels.f32ToBf16)(wide.data(), n, narrow.data());
            bytes = reinterpret_cast<const std::byte*>(narrow.data());
        }
        std::memcpy(into.data(), bytes + skip, part);
        into = into.subspan(part);
        begin += part;
    }
}

} // namespace qs
