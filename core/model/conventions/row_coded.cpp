// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/row_coded.h"

#include "core/base/lanes.h"
#include "core/base/tensor_name.h"
#include "kernels/blocks/block_set.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

using Levels = std::array<float, 256>;

template<class F> Levels levelsBy(F value) {
    Levels out{};
    for (unsigned code = 0; code < 256; ++code) out[code] = value(code);
    return out;
}

float rounded(float value, DType dtype) {
    if (dtype == DType::F16) return f16ToF32(f32ToF16(value));
    return dtype == DType::BF16 ? bf16ToF32(f32ToBf16(value)) : value;
}

class RowCodedLayer final : public Layer {
public:
    explicit RowCodedLayer(RowCoding coding)
        : Layer({coding.type, coding.description, coding.dtype, coding.shown.empty() ? coding.shape : coding.shown,
                 coding.fields}),
          coding_(std::move(coding)), columns_(std::uint64_t(coding_.shape.back())),
          matrixRows_(std::uint64_t(coding_.shape[coding_.shape.size() - 2])),
          groups_(std::uint64_t(groupsOf(coding_.shape.back(), std::int64_t(coding_.group)))) {
        for (unsigned code = 0; code < 1u << coding_.bits; ++code)
            integers_ = integers_ && coding_.levels[code] == coding_.levels[0] + float(code);
        scaleType_ = coding_.fields[1].info.dtype;
        coding_.fields.clear(); // the base class keeps these
        coding_.shape.clear();
        coding_.description.clear();
    }

    std::optional<LayerCoding> coding() const override {
        if (!coding_.order.empty() || !coding_.shown.empty()) return {};
        LayerCoding out;
        using Coded = LayerCoding::Levels;
        out.levels = coding_.levels == e4m3Levels()   ? Coded::E4m3
                     : coding_.levels == e5m2Levels() ? Coded::E5m2
                     : coding_.levels == e2m1Levels() ? Coded::E2m1
                     : coding_.levels == e2m3Levels() ? Coded::E2m3
                                                      : Coded::Integers;
        out.bits = coding_.bits, out.columns = coding_.group, out.rows = coding_.rowsPerScale;
        out.hasOffsets = coding_.zeros >= 0 || coding_.biases >= 0, out.hasTensorScale = coding_.global >= 0;
        out.scaleType = scaleType_;
        if (coding_.scaleCoding != ScaleCoding::Plain)
            out.scales =
                coding_.scaleCoding == ScaleCoding::E8m0 ? LayerCoding::Scales::Exponents : LayerCoding::Scales::E4m3;
        return out;
    }

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        RowScales scales;
        thread_local std::vector<std::byte> scratch;
        for (std::size_t done = 0, part = 0; done < n; done += part) {
            const std::uint64_t row = (begin + done) / columns_, first = (begin + done) % columns_;
            part = std::size_t(std::min<std::uint64_t>(n - done, columns_ - first));
            loadScales(row, scales);
            const std::uint64_t firstByte = byteOf(first), lastByte = byteOf(first + part - 1);
            // A code has at most eight bits, so it lies in one or two bytes. The last code of a row may have no second
            // byte.
            const std::uint64_t end = std::min(coding_.rowBytes, lastByte + 2);
            const auto bytes = field(0).read(row * coding_.rowBytes + firstByte, std::size_t(end - firstByte), scratch);
            decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, firstByte, first, part, scales,
                   out + done);
        }
    }

private:
    /// Scales, zero points and biases of the current row. They are loaded again only if the row of scales changes.
    struct RowScales {
        std::uint64_t row = ~std::uint64_t(0), zeroRow = row;
        std::vector<float> scales, zeros, biases;
    };

    /// Position of a code in its row, in bits.
    std::uint64_t bitOf(std::uint64_t column) const {
        return coding_.perWord ? column / coding_.perWord * 32 + column % coding_.perWord * coding_.bits
                               : column * coding_.bits;
    }
    std::uint64_t byteOf(std::uint64_t column) const { return bitOf(column) / 8; }

    /// Rows of scales in a matrix.
    std::uint64_t scaleRows() const { return (matrixRows_ + coding_.rowsPerScale - 1) / coding_.rowsPerScale; }

    /// The elements of a field for all groups of a row of scales. `read`: a run of elements.
    template<class Read> auto ofRow(std::uint64_t scaleRow, Read read) const {
        const auto groups = std::size_t(groups_);
        if (coding_.scaleOrder == ScaleOrder::Rows) return read(scaleRow * groups_, groups);
        const std::uint64_t rows = scaleRows();
        const bool isTiled = coding_.scaleOrder == ScaleOrder::Tiles;
        const std::size_t run = isTiled ? 4 : 1;
        decltype(read(0, run)) out;
        for (std::size_t g = 0; g < groups; g += run) {
            const auto part = read(isTiled ? tiledIndex(scaleRow, g, (groups_ + 3) / 4 * 4)
                                           : (scaleRow / rows * groups_ + g) * rows + scaleRow % rows,
                                   std::min(run, groups - g));
            out.insert(out.end(), part.begin(), part.end());
        }
        return out;
    }

    void loadScales(std::uint64_t row, RowScales& into) const {
        const std::uint64_t scaleRow = row / matrixRows_ * scaleRows() + row % matrixRows_ / coding_.rowsPerScale;
        const auto floatsOf = [&](const Field& of) {
            return ofRow(scaleRow, [&](std::uint64_t at, std::size_t n) { return of.floats(at, n); });
        };
        const auto groups = std::size_t(groups_);
        if (scaleRow != into.row) {
            into.row = scaleRow;
            if (coding_.scaleCoding == ScaleCoding::Plain) {
                into.scales = floatsOf(field(1));
            } else {
                const auto codes =
                    ofRow(scaleRow, [&](std::uint64_t at, std::size_t n) { return field(1).octets(at, n); });
                into.scales.resize(groups);
                for (std::size_t g = 0; g < groups; ++g)
                    into.scales[g] = coding_.scaleCoding == ScaleCoding::E8m0 ? e8m0(codes[g]) : e4m3Levels()[codes[g]];
            }
            if (coding_.global >= 0) {
                const Field& all = field(std::size_t(coding_.global));
                const std::uint64_t at = all.info.elements > 1 ? row / matrixRows_ : 0;
                const float global = all.floats(at, 1)[0] / coding_.globalDivisor;
                for (float& scale : into.scales) scale = coding_.globalMultiplies ? scale * global : scale / global;
            }
            if (coding_.biases >= 0) into.biases = floatsOf(field(std::size_t(coding_.biases)));
            if (coding_.zeros >= 0 && coding_.zeroBits == 0) into.zeros = floatsOf(field(std::size_t(coding_.zeros)));
        }
        if (coding_.zeroBits > 0 && row != into.zeroRow) {
            into.zeroRow = row;
            const unsigned bits = coding_.zeroBits;
            const std::uint64_t bit = row * bits, word = bit / 32, shift = bit % 32;
            const Field& packed = field(std::size_t(coding_.zeros));
            auto codes = packed.words(word * groups_, groups);
            const bool crosses = shift + bits > 32;
            const auto next = crosses ? packed.words((word + 1) * groups_, groups) : std::vector<std::uint32_t>();
            into.zeros.resize(groups);
            for (std::size_t g = 0; g < groups; ++g) {
                std::uint64_t wide = codes[g];
                if (crosses) wide |= std::uint64_t(next[g]) << 32;
                into.zeros[g] = float(int(wide >> shift & ((1u << bits) - 1)) - (1 << (bits - 1)));
            }
        }
    }

    /// Decodes whole groups with vector kernels. Codes must have 4 or 8 bits and be in order.
    void decodeGroups(const std::uint8_t* bytes, std::size_t n, std::size_t firstGroup, const RowScales& s,
                      float* out) const {
        const auto group = std::size_t(coding_.group);
        thread_local std::vector<std::uint8_t> unpacked;
        const std::uint8_t* codes = bytes;
        if (coding_.bits == 4) {
            unpacked.resize(n);
            unpackNibbles(bytes, n, unpacked.data());
            codes = unpacked.data();
        }
        if (coding_.zeros < 0) {
            bestKernels().dequantize(codes, n, group, s.scales.data() + firstGroup, coding_.levels, 1 << coding_.bits,
                                     out);
        } else {
            for (std::size_t i = 0, g = firstGroup; i < n; i += group, ++g)
                bestBlocks().shiftedValues(codes + i, group, {s.scales[g], s.zeros[g]}, coding_.levels[0], out + i);
        }
        if (coding_.biases < 0) return;
        if (coding_.roundsProducts && dtype() != DType::F32) {
            const KernelSet& kernels = bestKernels();
            thread_local std::vector<std::uint16_t> halves;
            halves.resize(n);
            (dtype() == DType::F16 ? kernels.f32ToF16 : kernels.f32ToBf16)(out, n, halves.data());
            (dtype() == DType::F16 ? kernels.f16ToF32 : kernels.bf16ToF32)(halves.data(), n, out);
        }
        for (std::size_t i = 0, g = firstGroup; i < n; ++g)
            for (const float bias = s.biases[g]; i < (g - firstGroup + 1) * group; i += kLanes) {
                FloatLanes lanes;
                load(lanes, out + i);
                store(lanes + bias, out + i);
            }
    }

    void decode(std::span<const std::uint8_t> bytes, std::uint64_t firstByte, std::uint64_t first, std::size_t n,
                const RowScales& s, float* out) const {
        if (coding_.scalesDivide) {
            for (std::size_t i = 0; i < n; ++i)
                out[i] = coding_.levels[bytes[i]] / s.scales[std::size_t((first + i) / coding_.group)];
            return;
        }
        const bool isWhole = coding_.order.empty() && coding_.perWord == 0 && coding_.group % kLanes == 0 &&
                             first % coding_.group == 0 && n % coding_.group == 0;
        if (isWhole && (coding_.bits == 4 || coding_.bits == 8) && (coding_.zeros < 0 || integers_))
            return decodeGroups(bytes.data(), n, std::size_t(first / coding_.group), s, out);
        const unsigned mask = (1u << coding_.bits) - 1;
        const auto codeAt = [&](std::uint64_t column) {
            const std::uint64_t bit = bitOf(column), at = bit / 8 - firstByte;
            const unsigned low = bytes[at], high = at + 1 < bytes.size() ? bytes[at + 1] : 0u;
            return (low | high << 8) >> (bit % 8) & mask;
        };
        const bool hasZeros = coding_.zeros >= 0, hasBiases = coding_.biases >= 0;
        const auto value = [&](unsigned code, std::size_t g) {
            float x = coding_.levels[code];
            if (hasZeros) x -= s.zeros[g];
            x *= s.scales[g];
            if (hasBiases) x = (coding_.roundsProducts ? rounded(x, dtype()) : x) + s.biases[g];
            return x;
        };
        if (!coding_.order.empty()) {
            for (std::size_t i = 0; i < n; ++i)
                out[i] = value(codeAt(first + i), coding_.order[std::size_t(first + i)]);
            return;
        }
        // For few bits per code: compute the value of each code once per group.
        const bool hasTable = coding_.bits <= 4 && coding_.group >= 16;
        for (std::size_t i = 0; i < n;) {
            const std::uint64_t column = first + i, g = column / coding_.group;
            const auto stop = std::size_t(std::min<std::uint64_t>(n, (g + 1) * coding_.group - first));
            if (hasTable) {
                float table[16];
                for (unsigned code = 0; code <= mask; ++code) table[code] = value(code, std::size_t(g));
                for (; i < stop; ++i) out[i] = table[codeAt(first + i)];
            } else if (coding_.bits == 8 && !hasZeros && !hasBiases) {
                const float scale = s.scales[std::size_t(g)];
                for (; i < stop; ++i) out[i] = coding_.levels[bytes[first + i - firstByte]] * scale;
            } else {
                for (; i < stop; ++i) out[i] = value(codeAt(first + i), std::size_t(g));
            }
        }
    }

    RowCoding coding_;
    bool integers_ = true; ///< levels increase in steps of 1
    DType scaleType_ = DType::F32;
    std::uint64_t columns_, matrixRows_, groups_;
};

} // namespace

std::int64_t groupsOf(std::int64_t columns, std::int64_t group) { return (columns + group - 1) / group; }

std::uint64_t tiledIndex(std::uint64_t row, std::uint64_t column, std::uint64_t wide) {
    const std::uint64_t tile = row / 128 * (wide / 4) + column / 4;
    return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}

std::int64_t tiledScales(std::int64_t rows, std::int64_t columns) {
    return groupsOf(rows, 128) * 128 * groupsOf(columns, 4) * 4;
}

std::shared_ptr<const Layer> rowCodedLayer(RowCoding coding) {
    return std::make_shared<const RowCodedLayer>(std::move(coding));
}

const float* integerLevels(unsigned bits) {
    static const auto all = [] {
        std::array<Levels, 9> out{};
        for (unsigned b = 1; b <= 8; ++b)
            out[b] = levelsBy([b](unsigned code) { return float(int(code) - (1 << (b - 1))); });
        return out;
    }();
    return all[bits].data();
}
const float* unsignedLevels() {
    static const Levels levels = levelsBy([](unsigned code) { return float(code); });
    return levels.data();
}
const float* signedByteLevels() {
    static const Levels levels = levelsBy([](unsigned code) { return float(std::int8_t(code)); });
    return levels.data();
}
const float* e4m3Levels() {
    static const Levels levels = levelsBy([](unsigned code) { return e4m3(std::uint8_t(code)); });
    return levels.data();
}
const float* e5m2Levels() {
    static const Levels levels = levelsBy([](unsigned code) { return e5m2(std::uint8_t(code)); });
    return levels.data();
}
const float* e2m1Levels() { return kE2m1Values; }
const float* e2m3Levels() {
    static const Levels levels = levelsBy([](unsigned code) {
        const int exponent = int(code >> 3 & 3), mantissa = int(code & 7);
        const float size = exponent ? std::ldexp(float(8 + mantissa), exponent - 4) : float(mantissa) / 8;
        return code & 32 ? -size : size;
    });
    return levels.data();
}

Result<std::vector<std::uint32_t>> readOrder(const Field& field, std::uint64_t group, std::uint64_t groups) {
    auto order = field.words(0, std::size_t(field.info.elements));
    bool inOrder = true;
    for (std::size_t column = 0; column < order.size(); ++column) {
        if (order[column] >= groups)
            return fail(fmt::format("{} names group {} for column {}, but there are {}", quotedName(field.info.name),
                                    std::int32_t(order[column]), column, groups));
        inOrder = inOrder && order[column] == column / group;
    }
    if (inOrder) order.clear();
    return order;
}

} // namespace qs
