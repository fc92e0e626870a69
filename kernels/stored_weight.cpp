// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/stored_weight.h"

#include "kernels/small_float.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace qs {

float fp8E4m3ToF32(std::uint8_t code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    float value = exponent ? std::ldexp(float(8 + mantissa), exponent - 10) : std::ldexp(float(mantissa), -9);
    if (exponent == 15 && mantissa == 7) value = std::numeric_limits<float>::quiet_NaN();
    return code & 0x80 ? -value : value;
}

float scaleToF32(NumberType type, const void* scales, std::size_t i) {
    switch (type) {
    case NumberType::F32: return static_cast<const float*>(scales)[i];
    case NumberType::F16: return f16ToF32(static_cast<const std::uint16_t*>(scales)[i]);
    case NumberType::Bf16: return bf16ToF32(static_cast<const std::uint16_t*>(scales)[i]);
    case NumberType::E8m0: {
        const int exponent = static_cast<const std::uint8_t*>(scales)[i];
        return exponent == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, exponent - 127);
    }
    default: return 1;
    }
}

StoredWeight::StoredWeight(const MatmulProblem& problem, const WeightOperand& operand)
    : format_(problem.weight), operand_(operand), kn_(problem.weightIsKn), n_(problem.n), k_(problem.k),
      rows_(problem.rows()), cols_(problem.cols()), codeBytes_(problem.weight.bits <= 8 ? 1 : problem.weight.bits / 8) {
    if (codeBytes_ > 1) return;
    levels_.resize(std::size_t(1) << format_.bits);
    for (std::size_t code = 0; code < levels_.size(); ++code) {
        const int integer = format_.element == NumberType::I8 ? int(std::int8_t(code)) : int(code);
        if (format_.element == NumberType::Fp8E4m3)
            levels_[code] = fp8E4m3ToF32(std::uint8_t(code));
        else if (format_.levels.empty())
            levels_[code] = float(integer + format_.codeBias);
        else // a code without a level becomes NaN, so that the error is visible
            levels_[code] = code < format_.levels.size() ? format_.levels[code] : std::nanf("");
    }
}

void StoredWeight::readRow(std::size_t row, std::size_t begin, std::size_t end, std::uint8_t* codes) const {
    const auto* bytes = static_cast<const std::uint8_t*>(operand_.codes) + row * operand_.rowBytes;
    switch (format_.packing) {
    case Packing::None:
        std::memcpy(codes, bytes + begin * std::size_t(codeBytes_), (end - begin) * std::size_t(codeBytes_));
        return;
    case Packing::PairHiFirst:
        for (std::size_t j = begin; j < end; ++j) *codes++ = bytes[j / 2] >> (j % 2 ? 0 : 4) & 15;
        return;
    case Packing::PairLoFirst:
        for (std::size_t j = begin; j < end; ++j) *codes++ = bytes[j / 2] >> (j % 2 * 4) & 15;
        return;
    case Packing::QuadLoFirst:
        for (std::size_t j = begin; j < end; ++j) *codes++ = bytes[j / 4] >> (j % 4 * 2) & 3;
        return;
    case Packing::OctetLoFirst:
        for (std::size_t j = begin; j < end; ++j) *codes++ = bytes[j / 8] >> (j % 8) & 1;
        return;
    case Packing::Planar: break;
    }
    const std::size_t bits = std::size_t(format_.bits), planes = 8 / bits, mask = (1u << bits) - 1;
    if (format_.packAxis == 0) {
        const std::size_t height = rows_ / planes, plane = row / height;
        bytes = static_cast<const std::uint8_t*>(operand_.codes) + row % height * operand_.rowBytes;
        for (std::size_t j = begin; j < end; ++j) *codes++ = std::uint8_t(bytes[j] >> (plane * bits) & mask);
        return;
    }
    const std::size_t width = cols_ / planes;
    for (std::size_t j = begin; j < end; ++j) *codes++ = std::uint8_t(bytes[j % width] >> (j / width * bits) & mask);
}

void StoredWeight::readCodes(std::size_t begin, std::size_t end, void* codes) const {
    auto* out = static_cast<std::uint8_t*>(codes);
    const std::size_t size = std::size_t(codeBytes_);
    if (!kn_) {
        for (std::size_t n = begin; n < end; ++n) readRow(n, 0, k_, out + (n - begin) * k_ * size);
        return;
    }
    std::vector<std::uint8_t> row((end - begin) * size);
    for (std::size_t k = 0; k < k_; ++k) {
        readRow(k, begin, end, row.data());
        if (size == 1)
            for (std::size_t i = 0; i < end - begin; ++i) out[i * k_ + k] = row[i];
        else
            for (std::size_t i = 0; i < end - begin; ++i) std::memcpy(out + (i * k_ + k) * size, &row[i * size], size);
    }
}

float StoredWeight::scale(std::size_t n, std::size_t k) const {
    if (!hasScales()) return 1;
    const std::size_t row = kn_ ? k : n, col = kn_ ? n : k;
    std::size_t i = 0;
    if (format_.blockAxis == 1)
        i = row * operand_.scaleCols + col / format_.block;
    else if (format_.blockAxis == 0)
        i = row / format_.block * cols_ + col;
    else if (format_.channelAxis >= 0)
        i = format_.channelAxis == 0 ? row : col;
    return scaleToF32(format_.scale, operand_.scales, i);
}

std::size_t StoredWeight::blockOf(int axis) const {
    const std::size_t whole = axis == 0 ? rows_ : cols_;
    if (!hasScales()) return whole;
    if (format_.blockAxis >= 0) return format_.blockAxis == axis ? format_.block : 1;
    return format_.channelAxis == axis ? 1 : whole;
}
std::size_t StoredWeight::blockAlongK() const { return std::min(blockOf(kn_ ? 0 : 1), k_); }
std::size_t StoredWeight::blockAlongN() const { return std::min(blockOf(kn_ ? 1 : 0), n_); }

void StoredWeight::decode(std::size_t begin, std::size_t end, float* values) const {
    const std::size_t count = (end - begin) * k_, block = blockAlongK();
    std::vector<std::uint8_t> codes(count * std::size_t(codeBytes_));
    readCodes(begin, end, codes.data());
    for (std::size_t n = begin; n < end; ++n) {
        const std::size_t at = (n - begin) * k_;
        float* const out = values + at;
        if (codeBytes_ == 1)
            for (std::size_t k = 0; k < k_; ++k) out[k] = levels_[codes[at + k]];
        else if (codeBytes_ == 4)
            std::memcpy(out, codes.data() + at * 4, k_ * 4);
        else
            for (std::size_t k = 0; k < k_; ++k) out[k] = scaleToF32(format_.element, codes.data(), at + k);
        if (!hasScales()) continue;
        for (std::size_t k = 0; k < k_; k += block) {
            const float s = scale(n, k);
            for (std::size_t i = k; i < std::min(k + block, k_); ++i) out[i] *= s;
        }
    }
}

} // namespace qs
