// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/network/attend.h"

#include "kernels/network/row_math.h"
#include "kernels/simd/lane_sets.h"
#include "kernels/simd/sets.h"

#include <algorithm>
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

/// Keys before those that query `first` sees.
std::size_t firstKey(const AttentionHead& head, std::size_t first) {
    return head.window > 0 && first + 1 > head.window ? first + 1 - head.window : 0;
}

/// Scores of keys that a query does not see become -Inf. `scores`: [keys from `begin` to `end`, width].
void mask(const AttentionHead& head, std::size_t first, std::size_t begin, std::size_t end, float* scores) {
    const std::size_t width = dense().width, last = std::min(first + width, head.length) - 1;
    for (std::size_t s = begin; s < end; ++s) {
        const bool seenByAll = (!head.isCausal || s <= first) && s >= firstKey(head, last);
        if (seenByAll) continue;
        for (std::size_t lane = 0; lane < width; ++lane) {
            const std::size_t t = std::min(first + lane, last); // lanes beyond the chunk: as the last query
            if ((head.isCausal && s > t) || s < firstKey(head, t))
                scores[(s - begin) * width + lane] = -std::numeric_limits<float>::infinity();
        }
    }
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
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t lane = 0; lane < width; ++lane)
            scratch.query[i * width + lane] = lane < queries ? head.query[(first + lane) * head.stride + i] : 0.0f;

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
    for (std::size_t lane = 0; lane < queries; ++lane)
        for (std::size_t i = 0; i < size; ++i)
            out[lane * outStride + i] = scratch.sums[i * width + lane] * inverse[lane];
}

} // namespace qs
