// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/decode.h"

#include <algorithm>
#include <cmath>

namespace qs::pjrt {
namespace {

/// eformer's polynomial, which approximates the levels of nf4 from the code. The highest power comes first.
constexpr float kTerms[] = {1.82943132356953e-5f, -0.00068587779130373f, 0.0100420261313669f,
                            -0.0722703570217226f, 0.346075459755188f,    -0.994166218659335f};
constexpr float kRounding = 1e-5f;  ///< possible rounding error of the f32 sum, whose terms are up to 14
constexpr float kFarthest = 0.015f; ///< largest accepted distance to a level; from nf4's own it is 0.0148, at code 1

} // namespace

std::vector<float> polynomialLevels(const Weight& w) {
    if (!w.isTable() || w.levels.size() != 16) return {};
    std::vector<float> levels;
    for (int code = 0; code < 16; ++code) {
        float sum = kTerms[0];
        for (int i = 1; i < 6; ++i) sum = sum * float(code) + kTerms[i];
        if (std::abs(sum - w.levels[std::size_t(code)]) > kFarthest) return {};
        levels.push_back(sum);
    }
    const bool own = std::equal(levels.begin(), levels.end(), w.levels.begin(),
                                [](float a, float b) { return std::abs(a - b) <= kRounding; });
    return own ? w.levels : levels;
}

Value Decoder::plane(int index, const std::string& element) {
    const Value codes = v_.planes == Planes::Joined ? unpackJoined() : unpackPlane(index);
    if (!w_.blocks() || v_.compute == Compute::Int8Blocks) return decode(codes, element);
    const Value numbers = decode(codes, "f32");
    return p_.convert(p_.binary("multiply", numbers, blockScales(index, numbers.dims)), element);
}

Value Decoder::unpackPlane(int index) {
    const int shift = g_.order == CodeOrder::HighFirst ? 8 - w_.bits - w_.bits * index : w_.bits * index;
    Value bits = codes_;
    if (shift > 0) bits = p_.binary("shift_right_logical", bits, p_.constant(std::to_string(shift), "ui8", bits.dims));
    if (shift + w_.bits < 8)
        bits = p_.binary("and", bits, p_.constant(std::to_string((1 << w_.bits) - 1), "ui8", bits.dims));
    return bits;
}

Value Decoder::unpackJoined() {
    if (w_.perByte == 1) return codes_;
    std::vector<Value> planes;
    for (int i = 0; i < w_.perByte; ++i) planes.push_back(unpackPlane(i));
    if (g_.order == CodeOrder::Planar) return p_.concatenate(planes, 1);
    for (auto& plane : planes) plane = p_.reshape(plane, {g_.rows, g_.rowBytes, 1});
    return p_.reshape(p_.concatenate(planes, 2), {g_.rows, g_.cols});
}

Value Decoder::decode(const Value& codes, const std::string& element) {
    switch (v_.decode) {
    case Decode::Convert: return p_.convert(codes, element);
    case Decode::Gather: return p_.convert(p_.gather(table_, p_.convert(codes, "i32")), element);
    case Decode::Select: return p_.convert(selectTree(codes), element);
    case Decode::Poly5: return p_.convert(polynomial(codes), element);
    case Decode::Affine: return affine(codes, element);
    }
    return codes;
}

Value Decoder::selectTree(const Value& codes) {
    // All planes have the same shape, so they share these constants.
    if (levels_.empty())
        for (const float level : w_.levels) levels_.push_back(p_.constant(level, "f32", codes.dims));
    const auto zero = p_.constant(std::string("0"), "ui8", codes.dims);
    auto level = levels_;
    for (int bit = 0; bit < w_.bits; ++bit) {
        const auto mask = p_.constant(std::to_string(1 << bit), "ui8", codes.dims);
        const auto set = p_.notEqual(p_.binary("and", codes, mask), zero);
        for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = p_.select(set, level[2 * i + 1], level[2 * i]);
        level.resize(level.size() / 2);
    }
    return level.front();
}

Value Decoder::polynomial(const Value& codes) {
    const auto x = p_.convert(codes, "f32");
    auto sum = p_.constant(kTerms[0], "f32", codes.dims);
    for (int i = 1; i < 6; ++i)
        sum = p_.binary("add", p_.binary("multiply", sum, x), p_.constant(kTerms[i], "f32", codes.dims));
    return sum;
}

Value Decoder::affine(const Value& codes, const std::string& element) {
    // Codes of 8 bits do not fit an i8 before the bias is added, so that sum is computed in i32.
    const bool wide = codes.element == "ui8" && w_.bits == 8 && element == "i8";
    const std::string inner = wide ? "i32" : element;
    const bool integer = inner == "i8" || inner == "i32";
    const auto splat = [&](int value, const Dims& dims) {
        return integer ? p_.constant(std::to_string(value), inner, dims) : p_.constant(float(value), inner, dims);
    };
    auto value = p_.convert(codes, inner);
    if (w_.step != 1) value = p_.binary("multiply", value, splat(w_.step, value.dims));
    if (w_.offset != 0) value = p_.binary("add", value, splat(w_.offset, value.dims));
    return p_.convert(value, element);
}

Value Decoder::blockScales(int index, const Dims& dims) {
    const bool joined = v_.planes == Planes::Joined, contiguous = v_.planes == Planes::Contiguous;
    Value scale = scale_; // its shape is [rows, blocks] or [blocks, cols]
    if (w_.share == ScaleShare::BlockOfRows) {
        if (contiguous)
            scale = p_.slice(scale, 1, index * dims[1], (index + 1) * dims[1]);
        else if (!joined)
            scale = p_.slice(scale, 1, index, g_.cols, w_.perByte);
        return p_.reshape(p_.broadcast(scale, {0, 2}, {g_.blocksPerColumn(w_), w_.block, dims[1]}), dims);
    }
    std::int64_t blocks = g_.blocksPerRow(w_), length = w_.block;
    if (contiguous) {
        blocks /= w_.perByte;
        scale = p_.slice(scale, 1, index * blocks, (index + 1) * blocks);
    } else if (!joined) {
        length /= w_.perByte;
    }
    return p_.reshape(p_.broadcast(scale, {0, 1}, {g_.rows, blocks, length}), dims);
}

} // namespace qs::pjrt
