// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/network/attend.h"

#include "kernels/network/row_math.h"
#include "kernels/simd/lane_sets.h"
#include "kernels/simd/sets.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace qs {
namespace {

constexpr std::size_t kPlainRows = 4;

/// The inner loop of dense products without vectors of an instruction set.
template<std::size_t rows> void plainRows(const MicroCall& call) {
    const auto* a = reinterpret_cast<const float*>(call.a);
    const auto* b = reinterpret_cast<const float*>(call.b);
    float sums[rows][kLanes] = {};
    for (std::size_t kk = 0; kk < call.kk; ++kk, a += rows, b += call.bStep)
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t lane = 0; lane < kLanes; ++lane) sums[r][lane] += a[r] * b[lane];
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            call.c[r * kLanes + lane] = sums[r][lane] + (call.add ? call.c[r * kLanes + lane] : 0.0f);
}
constexpr MicroKernel kPlain[kPlainRows] = {plainRows<1>, plainRows<2>, plainRows<3>, plainRows<4>};

/// The dense inner loops of f32 on this processor.
struct Dense {
    const MicroKernel* kernels;
    std::size_t rows, width;
};
const Dense& dense() {
    static const Dense chosen = [] {
#if defined(__x86_64__)
        for (const auto& [set, kernels] :
             {std::pair(&avx512Kernels(), &microKernelsAvx512()), std::pair(&avx2Kernels(), &microKernelsAvx2())})
            if (&bestKernels() == set) return Dense{kernels->f32, kernels->rows, kernels->width};
#endif
        return Dense{kPlain, kPlainRows, kLanes};
    }();
    return chosen;
}

/// c[rows, width] = sum over kk of a[kk, rows] b[kk, width].
void multiply(const float* a, std::size_t rows, const float* b, std::size_t kk, float* c) {
    MicroCall call{};
    call.a = reinterpret_cast<const std::uint32_t*>(a), call.b = reinterpret_cast<const std::uint32_t*>(b);
    call.bStep = dense().width, call.kk = kk, call.c = c;
    dense().kernels[rows - 1](call);
}

/// to[j, i] = from[i, j] for `rows` x `columns` values; rows of `from` and `to` are so many values apart.
void transpose(const float* from, std::size_t fromRow, std::size_t rows, std::size_t columns, float* to,
               std::size_t toRow) {
    using Four [[gnu::vector_size(16)]] = float;
    const std::size_t wholeRows = rows / 4 * 4, wholeColumns = columns / 4 * 4;
    for (std::size_t i = 0; i < wholeRows; i += 4)
        for (std::size_t j = 0; j < wholeColumns; j += 4) {
            Four r[4];
            for (std::size_t n = 0; n < 4; ++n) std::memcpy(&r[n], from + (i + n) * fromRow + j, sizeof r[n]);
            const Four ab = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
                       cd = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
            const Four ef = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7),
                       gh = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
            r[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), r[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
            r[2] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5), r[3] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
            for (std::size_t n = 0; n < 4; ++n) std::memcpy(to + (j + n) * toRow + i, &r[n], sizeof r[n]);
        }
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = i < wholeRows ? wholeColumns : 0; j < columns; ++j)
            to[j * toRow + i] = from[i * fromRow + j];
}

/// x *= factor, of kLanes values.
void scaleLanes(float* x, const float* factor) {
    using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
    Lanes values, factors;
    std::memcpy(&values, x, sizeof values), std::memcpy(&factors, factor, sizeof factors);
    values *= factors;
    std::memcpy(x, &values, sizeof values);
}

/// Keys before those that query `first` sees.
std::size_t firstKey(const AttentionHead& head, std::size_t first) {
    return head.window > 0 && first + 1 > head.window ? first + 1 - head.window : 0;
}

/// Scores of keys that a query does not see become -Inf. `scores`: [keys from `begin` to `end`, width].
void mask(const AttentionHead& head, std::size_t first, std::size_t begin, std::size_t end, float* scores) {
    const std::size_t width = dense().width, last = std::min(first + width, head.length) - 1;
    const auto maskKey = [&](std::size_t s) {
        for (std::size_t lane = 0; lane < width; ++lane) {
            const std::size_t t = std::min(first + lane, last); // lanes beyond the chunk: as the last query
            if ((head.isCausal && s > t) || s < firstKey(head, t))
                scores[(s - begin) * width + lane] = -std::numeric_limits<float>::infinity();
        }
    };
    // Keys between the two ranges are seen by all queries.
    const std::size_t seen = std::clamp(firstKey(head, last), begin, end);
    for (std::size_t s = begin; s < seen; ++s) maskKey(s);
    for (std::size_t s = head.isCausal ? std::max(first + 1, seen) : end; s < end; ++s) maskKey(s);
}

} // namespace

std::size_t attentionQueries() { return dense().width; }

std::size_t packedHeadSize(std::size_t length, std::size_t size) { return 2 * length * size; }

void packHead(const AttentionHead& head, float* packed) {
    const std::size_t most = dense().rows;
    // Keys: for every `most` of them [size, keys]. Values: for every `most` of a head's values [length, values].
    for (std::size_t s = 0; s < head.length; s += most) {
        const std::size_t rows = std::min(most, head.length - s);
        for (std::size_t i = 0; i < head.size; ++i)
            for (std::size_t r = 0; r < rows; ++r) *packed++ = head.key[(s + r) * head.stride + i];
    }
    for (std::size_t i = 0; i < head.size; i += most) {
        const std::size_t rows = std::min(most, head.size - i);
        for (std::size_t s = 0; s < head.length; ++s)
            packed = std::copy_n(head.value + s * head.stride + i, rows, packed);
    }
}

void attend(const AttentionHead& head, const float* packed, std::size_t first, AttentionScratch& scratch, float* out,
            std::size_t outStride) {
    const std::size_t most = dense().rows, width = dense().width, size = head.size;
    const std::size_t queries = std::min(width, head.length - first);
    scratch.query.resize(size * width), scratch.sums.resize((size + 1) * width);
    transpose(head.query + first * head.stride, head.stride, queries, size, scratch.query.data(), width);
    for (std::size_t i = 0; i < size && queries < width; ++i)
        std::fill_n(scratch.query.data() + i * width + queries, width - queries, 0.0f);

    const std::size_t begin = firstKey(head, first) / most * most;
    const std::size_t end = head.isCausal ? first + queries : head.length;
    scratch.scores.resize((end - begin + most) * width);
    for (std::size_t s = begin; s < end; s += most)
        multiply(packed + s * size, std::min(most, head.length - s), scratch.query.data(), size,
                 scratch.scores.data() + (s - begin) * width);
    mask(head, first, begin, end, scratch.scores.data());
    float* inverse = scratch.sums.data() + size * width;
    rowMath().softmaxColumns(scratch.scores.data(), end - begin, width, head.scale, head.cap, inverse);

    const float* values = packed + head.length * size;
    for (std::size_t i = 0; i < size; i += most) {
        const std::size_t rows = std::min(most, size - i);
        multiply(values + head.length * i + begin * rows, rows, scratch.scores.data(), end - begin,
                 scratch.sums.data() + i * width);
    }
    for (std::size_t i = 0; i < size * width; i += kLanes) scaleLanes(scratch.sums.data() + i, inverse + i % width);
    transpose(scratch.sums.data(), width, size, queries, out, outStride);
}

} // namespace qs
