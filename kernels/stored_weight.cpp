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
    : m_format(problem.weight), m_operand(operand), m_kn(problem.weightIsKn), m_n(problem.n), m_k(problem.k),
      m_rows(problem.rows()), m_cols(problem.cols()),
      m_codeBytes(problem.weight.bits <= 8 ? 1 : problem.weight.bits / 8) {
    if (m_codeBytes > 1) return;
    m_levels.resize(std::size_t(1) << m_format.bits);
    for (std::size_t code = 0; code < m_levels.size(); ++code) {
        const int integer = m_format.element == NumberType::I8 ? int(std::int8_t(code)) : int(code);
        if (m_format.element == NumberType::Fp8E4m3)
            m_levels[code] = fp8E4m3ToF32(std::uint8_t(code));
        else if (m_format.levels.empty())
            m_levels[code] = float(integer + m_format.codeBias);
        else // a code without a level becomes NaN, so that the error is visible
            m_levels[code] = code < m_format.levels.size() ? m_format.levels[code] : std::nanf("");
    }
}

void StoredWeight::readRow(std::size_t row, std::size_t begin, std::size_t end, std::uint8_t* codes) const {
    const auto* bytes = static_cast<const std::uint8_t*>(m_operand.codes) + row * m_operand.rowBytes;
    switch (m_format.packing) {
    case Packing::None:
        std::memcpy(codes, bytes + begin * std::size_t(m_codeBytes), (end - begin) * std::size_t(m_codeBytes));
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
    const std::size_t bits = std::size_t(m_format.bits), planes = 8 / bits, mask = (1u << bits) - 1;
    if (m_format.packAxis == 0) {
        const std::size_t height = m_rows / planes, plane = row / height;
        bytes = static_cast<const std::uint8_t*>(m_operand.codes) + row % height * m_operand.rowBytes;
        for (std::size_t j = begin; j < end; ++j) *codes++ = std::uint8_t(bytes[j] >> (plane * bits) & mask);
        return;
    }
    const std::size_t width = m_cols / planes;
    for (std::size_t j = begin; j < end; ++j) *codes++ = std::uint8_t(bytes[j % width] >> (j / width * bits) & mask);
}

void StoredWeight::readCodes(std::size_t begin, std::size_t end, void* codes) const {
    auto* out = static_cast<std::uint8_t*>(codes);
    const std::size_t size = std::size_t(m_codeBytes);
    if (!m_kn) {
        for (std::size_t n = begin; n < end; ++n) readRow(n, 0, m_k, out + (n - begin) * m_k * size);
        return;
    }
    std::vector<std::uint8_t> row((end - begin) * size);
    for (std::size_t k = 0; k < m_k; ++k) {
        readRow(k, begin, end, row.data());
        if (size == 1)
            for (std::size_t i = 0; i < end - begin; ++i) out[i * m_k + k] = row[i];
        else
            for (std::size_t i = 0; i < end - begin; ++i) std::memcpy(out + (i * m_k + k) * size, &row[i * size], size);
    }
}

float StoredWeight::scale(std::size_t n, std::size_t k) const {
    if (!hasScales()) return 1;
    const std::size_t row = m_kn ? k : n, col = m_kn ? n : k;
    std::size_t i = 0;
    if (m_format.blockAxis == 1)
        i = row * m_operand.scaleCols + col / m_format.block;
    else if (m_format.blockAxis == 0)
        i = row / m_format.block * m_cols + col;
    else if (m_format.channelAxis >= 0)
        i = m_format.channelAxis == 0 ? row : col;
    return scaleToF32(m_format.scale, m_operand.scales, i);
}

std::size_t StoredWeight::blockOf(int axis) const {
    const std::size_t whole = axis == 0 ? m_rows : m_cols;
    if (!hasScales()) return whole;
    if (m_format.blockAxis >= 0) return m_format.blockAxis == axis ? m_format.block : 1;
    return m_format.channelAxis == axis ? 1 : whole;
}
std::size_t StoredWeight::blockAlongK() const { return std::min(blockOf(m_kn ? 0 : 1), m_k); }
std::size_t StoredWeight::blockAlongN() const { return std::min(blockOf(m_kn ? 1 : 0), m_n); }
bool StoredWeight::scaleVariesAlongK() const { return blockAlongK() < m_k; }
bool StoredWeight::scaleVariesAlongN() const { return blockAlongN() < m_n; }

void StoredWeight::decode(std::size_t begin, std::size_t end, float* values) const {
    const std::size_t count = (end - begin) * m_k, block = blockAlongK();
    std::vector<std::uint8_t> codes(count * std::size_t(m_codeBytes));
    readCodes(begin, end, codes.data());
    for (std::size_t n = begin; n < end; ++n) {
        const std::size_t at = (n - begin) * m_k;
        float* const out = values + at;
        if (m_codeBytes == 1)
            for (std::size_t k = 0; k < m_k; ++k) out[k] = m_levels[codes[at + k]];
        else if (m_codeBytes == 4)
            std::memcpy(out, codes.data() + at * 4, m_k * 4);
        else
            for (std::size_t k = 0; k < m_k; ++k) out[k] = scaleToF32(m_format.element, codes.data(), at + k);
        if (!hasScales()) continue;
        for (std::size_t k = 0; k < m_k; k += block) {
            const float s = scale(n, k);
            for (std::size_t i = k; i < std::min(k + block, m_k); ++i) out[i] *= s;
        }
    }
}

} // namespace qs
