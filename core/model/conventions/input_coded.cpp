// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/input_coded.h"

#include "kernels/blocks/block_set.h"

#include <algorithm>
#include <cstring>

namespace qs {
namespace {

/// Position of output r % 8 in its AWQ word; words hold the outputs in the order 0 2 4 6 1 3 5 7.
constexpr unsigned kAwqPlace[8] = {0, 4, 1, 5, 2, 6, 3, 7};

class InputCodedLayer final : public Layer {
public:
    explicit InputCodedLayer(InputCoding coding)
        : Layer(
              {coding.type, coding.description, coding.fields[2].info.dtype,
               coding.isTable ? std::vector{coding.inputs, coding.outputs} : std::vector{coding.outputs, coding.inputs},
               coding.fields}),
          coding_(std::move(coding)), outputs_(std::uint64_t(coding_.outputs)), inputs_(std::uint64_t(coding_.inputs)) {
        coding_.fields.clear(); // the base class keeps these two
        coding_.description.clear();
        groups_ = (inputs_ + coding_.group - 1) / coding_.group;
        for (const auto g : coding_.order) groups_ = std::max<std::uint64_t>(groups_, g + 1);
    }

    std::optional<LayerCoding> coding() const override {
        if (!coding_.order.empty() || coding_.isTable) return {};
        LayerCoding out;
        out.bits = coding_.bits, out.columns = coding_.group, out.hasOffsets = true, out.scaleType = dtype();
        return out;
    }

    // A word holds codes of several rows or columns. So whole rows are decoded together, and parts of rows one by one.
    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        if (coding_.isTable) return rowsOfTable(begin, n, out);
        while (n > 0) {
            const std::uint64_t row = begin / inputs_, column = begin % inputs_;
            std::size_t part = std::size_t(std::min<std::uint64_t>(n, inputs_ - column));
            if (column == 0 && n >= inputs_) {
                const std::uint64_t rows = n / inputs_;
                part = std::size_t(rows * inputs_);
                rectangle(row, row + rows, 0, inputs_, out);
            } else {
                rectangle(row, row + 1, column, column + part, out);
            }
            begin += part, n -= part, out += part;
        }
    }

private:
    /// A row of a table is a column of the codes. 32 of them lie in the same words, so they are decoded together.
    void rowsOfTable(std::uint64_t begin, std::size_t n, float* out) const {
        std::vector<float> turned;
        while (n > 0) {
            const std::uint64_t token = begin / outputs_, first = begin % outputs_;
            const auto tokens = first == 0 ? std::min<std::uint64_t>(n / outputs_, 32 - token % 32) : 0;
            const auto wide = std::size_t(std::max<std::uint64_t>(tokens, 1));
            const auto part = std::size_t(tokens > 0 ? outputs_ : std::min<std::uint64_t>(n, outputs_ - first));
            turned.resize(part * wide);
            rectangle(first, first + part, token, token + wide, turned.data());
            for (std::size_t t = 0; t < wide; ++t)
                for (std::size_t i = 0; i < part; ++i) out[t * part + i] = turned[i * wide + t];
            begin += wide * part, n -= wide * part, out += wide * part;
        }
    }

    /// Decodes rows [r0, r1) and columns [c0, c1) of the matrix [outputs, inputs].
    void rectangle(std::uint64_t r0, std::uint64_t r1, std::uint64_t c0, std::uint64_t c1, float* out) const {
        const auto rows = std::size_t(r1 - r0), columns = std::size_t(c1 - c0);
        // The groups of these columns. With a custom order, all groups may be needed.
        const std::uint64_t g0 = coding_.order.empty() ? c0 / coding_.group : 0;
        const std::uint64_t g1 = coding_.order.empty() ? (c1 - 1) / coding_.group + 1 : groups_;
        std::vector<float> scales, zeros;
        for (std::uint64_t g = g0; g < g1; ++g) {
            const auto more = field(2).floats(g * outputs_ + r0, rows);
            scales.insert(scales.end(), more.begin(), more.end());
            appendZeros(g, r0, r1, zeros);
        }
        // Works on tiles of 32 columns. Rows of the result are often a power of two apart, so whole columns would share
        // few cache lines.
        const bool grouped = !coding_.isAwq && coding_.order.empty() && coding_.group % 32 == 0;
        const std::uint64_t whole0 = (c0 + 31) / 32, whole1 = std::max(whole0, c1 / 32);
        if (grouped && whole1 > whole0)
            wholeTiles(r0, rows, whole0, whole1, &scales[0], &zeros[0], g0, c0, columns, out);
        std::vector<float> tile(rows * 32);
        std::vector<std::uint32_t> words;
        for (std::uint64_t t0 = c0; t0 < c1;) {
            const std::uint64_t t1 = std::min(c1, (t0 / 32 + 1) * 32);
            if (grouped && t0 % 32 == 0 && t1 - t0 == 32) {
                t0 = whole1 * 32;
                continue;
            }
            if (!coding_.isAwq) { // 32 inputs take `bits` rows of words; their codes form one stream, lowest bits first
                words.clear();
                // A last tile of fewer columns has fewer rows of words.
                const std::uint64_t first = t0 / 32 * coding_.bits, last = (inputs_ * coding_.bits + 31) / 32;
                for (std::uint64_t k = first; k < std::min(last, first + coding_.bits); ++k) {
                    const auto more = field(0).words(k * outputs_ + r0, rows);
                    words.insert(words.end(), more.begin(), more.end());
                }
            }
            for (std::uint64_t c = t0; c < t1; ++c) {
                const std::uint64_t g =
                    (coding_.order.empty() ? c / coding_.group : coding_.order[std::size_t(c)]) - g0;
                const float *scale = scales.data() + g * rows, *zero = zeros.data() + g * rows;
                float* to = tile.data() + (c - t0);
                const auto put = [&](std::size_t i, unsigned code) { to[i * 32] = scale[i] * (float(code) - zero[i]); };
                if (coding_.isAwq) {
                    const std::uint64_t firstWord = r0 / 8;
                    words = field(0).words(c * (outputs_ / 8) + firstWord, std::size_t((r1 - 1) / 8 - firstWord + 1));
                    for (std::size_t i = 0; i < rows; ++i)
                        put(i, words[std::size_t((r0 + i) / 8 - firstWord)] >> (4 * kAwqPlace[(r0 + i) % 8]) & 15);
                    continue;
                }
                const std::uint64_t bit = c % 32 * coding_.bits, shift = bit % 32;
                const std::uint32_t* low = words.data() + bit / 32 * rows;
                const bool crosses = shift + coding_.bits > 32;
                const unsigned mask = (1u << coding_.bits) - 1;
                for (std::size_t i = 0; i < rows; ++i) {
                    std::uint64_t wide = low[i];
                    if (crosses) wide |= std::uint64_t(low[rows + i]) << 32;
                    put(i, unsigned(wide >> shift) & mask);
                }
            }
            for (std::size_t i = 0; i < rows; ++i)
                std::copy_n(tile.data() + i * 32, t1 - t0, out + i * columns + (t0 - c0));
            t0 = t1;
        }
    }

    /// Decodes tiles [t0, t1) of 32 columns for `rows` outputs, where all columns of a tile have the same group. Scales
    /// and zero points are [groups from g0 on][rows]. The words of 16 outputs are copied next to each other, so that
    /// each row of the result is written from start to end.
    void wholeTiles(std::uint64_t r0, std::size_t rows, std::uint64_t t0, std::uint64_t t1, const float* scales,
                    const float* zeros, std::uint64_t g0, std::uint64_t c0, std::size_t columns, float* out) const {
        constexpr std::size_t kBand = 16; // 32-bit words in a cache line
        const auto deep = std::size_t(t1 - t0) * coding_.bits;
        std::vector<std::uint32_t> words((rows + kBand - 1) / kBand * kBand * deep);
        std::vector<std::byte> scratch;
        for (std::size_t k = 0; k < deep; ++k) {
            const auto bytes = field(0).read(4 * ((t0 * coding_.bits + k) * outputs_ + r0), 4 * rows, scratch);
            for (std::size_t i = 0; i < rows; i += kBand)
                std::memcpy(&words[i * deep + k * kBand], bytes.data() + 4 * i, 4 * std::min(kBand, rows - i));
        }
        const BlockSet& blocks = bestBlocks();
        const std::uint64_t end = t1 * 32;
        std::vector<std::uint8_t> codes(std::size_t(end - t0 * 32));
        for (std::size_t i = 0; i < rows; ++i) {
            const std::uint32_t* at = &words[i / kBand * kBand * deep + i % kBand];
            for (std::size_t t = 0; t < std::size_t(t1 - t0); ++t)
                unpackStream(at + t * coding_.bits * kBand, kBand, &codes[t * 32]);
            for (std::uint64_t c = t0 * 32, stop = 0; c < end; c = stop) {
                stop = std::min<std::uint64_t>(end, (c / coding_.group + 1) * coding_.group);
                const std::size_t g = std::size_t(c / coding_.group - g0) * rows + i;
                blocks.shiftedValues(&codes[std::size_t(c - t0 * 32)], std::size_t(stop - c), {scales[g], zeros[g]}, 0,
                                     out + i * columns + (c - c0));
            }
        }
    }

    /// Unpacks 32 codes from `bits` words; consecutive words are `step` words apart.
    void unpackStream(const std::uint32_t* words, std::size_t step, std::uint8_t* codes) const {
        std::uint32_t stream[9] = {};
        for (unsigned k = 0; k < coding_.bits; ++k) stream[k] = words[k * step];
        if (coding_.bits == 4) return unpackNibbles(reinterpret_cast<const std::uint8_t*>(stream), 32, codes);
        const unsigned mask = (1u << coding_.bits) - 1;
        for (unsigned c = 0; c < 32; ++c) {
            const unsigned bit = c * coding_.bits;
            const std::uint64_t wide = stream[bit / 32] | std::uint64_t(stream[bit / 32 + 1]) << 32;
            codes[c] = std::uint8_t(wide >> (bit % 32) & mask);
        }
    }

    void appendZeros(std::uint64_t g, std::uint64_t r0, std::uint64_t r1, std::vector<float>& zeros) const {
        const unsigned bits = coding_.bits;
        const std::uint64_t rowWords = (outputs_ * bits + 31) / 32, firstWord = r0 * bits / 32;
        const std::uint64_t lastWord = std::min(rowWords - 1, (r1 * bits - 1) / 32);
        const auto words = field(1).words(g * rowWords + firstWord, std::size_t(lastWord - firstWord + 1));
        for (std::uint64_t r = r0; r < r1; ++r) {
            const std::uint64_t bit = coding_.isAwq ? r / 8 * 32 + 4 * kAwqPlace[r % 8] : r * bits;
            const auto at = std::size_t(bit / 32 - firstWord);
            std::uint64_t wide = words[at];
            if (bit % 32 + bits > 32) wide |= std::uint64_t(words[at + 1]) << 32;
            unsigned zero = unsigned(wide >> (bit % 32)) & ((1u << bits) - 1);
            // As in auto-gptq: the stored zero point plus one, modulo 2^bits. With 3 bits it does not wrap.
            if (coding_.addsOne) zero = bits == 3 ? zero + 1 : (zero + 1) & ((1u << bits) - 1);
            zeros.push_back(float(zero));
        }
    }

    InputCoding coding_;
    std::uint64_t outputs_, inputs_, groups_ = 0;
};

} // namespace

std::shared_ptr<const Layer> inputCodedLayer(InputCoding coding) {
    return std::make_shared<const InputCodedLayer>(std::move(coding));
}

} // namespace qs
