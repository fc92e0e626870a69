// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/lane_input.h"

#include "kernels/kernel_set.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

namespace qs {
namespace {

/// Calls work with n (1, 2, 4, 8 or 16) as a compile-time constant, so that copying n values becomes a few
/// instructions.
template<class Work> void withConstant(std::size_t n, const Work& work) {
    switch (n) {
    case 1: return work(std::integral_constant<std::size_t, 1>{});
    case 2: return work(std::integral_constant<std::size_t, 2>{});
    case 4: return work(std::integral_constant<std::size_t, 4>{});
    case 8: return work(std::integral_constant<std::size_t, 8>{});
    default: return work(std::integral_constant<std::size_t, 16>{});
    }
}

using Bytes [[gnu::vector_size(16)]] = std::uint8_t;

/// Bytes 0, 8, 1, 9, ... of a.
Bytes interleaved(Bytes a) {
    using Halves [[gnu::vector_size(16)]] = std::uint64_t;
    const auto both = std::bit_cast<Halves>(a);
    const auto upper = std::bit_cast<Bytes>(__builtin_shufflevector(both, both, 1, 1));
    return __builtin_shufflevector(a, upper, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/// Reorders 16 bytes to quads of the bytes i, i + quarter, i + 2 quarter, i + 3 quarter.
template<std::size_t quarter> Bytes quads(Bytes a) {
    if constexpr (quarter == 4) return interleaved(interleaved(a));
    using Words [[gnu::vector_size(16)]] = std::uint32_t;
    const auto evenOdd = std::bit_cast<Words>(interleaved(interleaved(interleaved(a))));
    return std::bit_cast<Bytes>(__builtin_shufflevector(evenOdd, evenOdd, 0, 2, 1, 3));
}

} // namespace

void LaneInput::reset(const MatmulProblem& problem, const LaneWeights& weights, std::size_t slots, Keep keep) {
    // Rows are an odd number of cache lines apart. Distances of a power of two would put all rows into the same cache
    // sets.
    const std::size_t words =
        keep == Keep::Tables ? weights.steps * 8 * kLanes : weights.streamSize() + weights.steps / kFixedSteps + 1;
    rowWords_ = ((words + 15) / 16 | 1) * 16;
    rowFloats_ = weights.xFloats() + 16;
    groups_ = weights.groups, keep_ = keep;
    if (words_.size() < slots * rowWords_) words_ = Aligned<std::uint32_t>(slots * rowWords_);
    if (keep == Keep::Floats && floats_.size() < slots * rowFloats_) floats_ = Aligned<float>(slots * rowFloats_);
    const std::size_t rows = std::max(slots, problem.m);
    if (weights.products == LaneProducts::I8) sums_.assign(rows * groups_, 0);
    scales_.assign(rows, 1.0f);
}

void LaneInput::orderFloats(const LaneWeights& w, const float* x, float* out) const {
    const std::size_t half = w.perWord / w.xHalves(), size = w.streamSize();
    for (std::size_t g = 0; g < w.groups; ++g) {
        const float* from = x + g * w.block;
        const std::size_t count = std::min(w.block, w.k - g * w.block), padded = w.groupSteps * w.perWord;
        float* to = out + g * w.groupSteps * half;
        if (w.xHalves() == 1) {
            std::memcpy(to, from, count * sizeof(float));
            std::memset(to + count, 0, (padded - count) * sizeof(float));
            continue;
        }
        const std::size_t whole = count / w.perWord * w.perWord;
        withConstant(half, [&](auto n) {
            for (std::size_t i = 0; i < whole; i += 2 * n, to += n) {
                std::memcpy(to, from + i, n * sizeof(float));
                std::memcpy(to + size, from + i + n, n * sizeof(float));
            }
        });
        for (std::size_t i = whole; i < padded; i += w.perWord, to += half)
            for (std::size_t q = 0; q < w.perWord; ++q)
                to[(q / half) * size + q % half] = i + q < count ? from[i + q] : 0.0f;
    }
}

void LaneInput::orderBytes(const LaneWeights& w, const std::int8_t* q, std::size_t row, std::uint32_t* out,
                           const LaneKernels& kernels) {
    const std::size_t quarter = w.perWord / 4;
    for (std::size_t g = 0; g < w.groups; ++g) {
        const std::size_t begin = g * w.block, count = std::min(w.block, w.k - begin);
        sums_[row * groups_ + g] = kernels.sumBytes(q + begin, count);
        if (quarter == 1 && count % 4 == 0) {
            std::memcpy(out, q + begin, count);
            std::memset(out + count / 4, 0, (w.groupSteps - count / 4) * 4);
            out += w.groupSteps;
            continue;
        }
        withConstant(quarter, [&](auto n) {
            std::size_t at = 0;
            if constexpr (n == 2 || n == 4)
                for (; at + 16 <= count; at += 16, out += 4) {
                    Bytes bytes;
                    std::memcpy(&bytes, q + begin + at, 16);
                    bytes = quads<n>(bytes);
                    std::memcpy(out, &bytes, 16);
                }
            for (; at < w.groupSteps * w.perWord; at += 4 * n, out += n) {
                std::uint8_t tail[32] = {};
                const auto* bytes = reinterpret_cast<const std::uint8_t*>(q) + begin + at;
                if (at + 4 * n > count) {
                    if (at < count) std::memcpy(tail, bytes, count - at);
                    bytes = tail;
                }
                for (std::size_t i = 0; i < n; ++i)
                    out[i] = std::uint32_t(bytes[i]) | std::uint32_t(bytes[i + n]) << 8 |
                             std::uint32_t(bytes[i + 2 * n]) << 16 | std::uint32_t(bytes[i + 3 * n]) << 24;
            }
        });
    }
}

void LaneInput::read(const MatmulProblem& problem, const LaneWeights& weights, const MatmulInput& in, std::size_t row,
                     std::size_t slot, const LaneKernels& kernels) {
    thread_local std::vector<std::int8_t> q;
    thread_local std::vector<float> values, ordered;
    const std::size_t k = problem.k;
    const float* x = static_cast<const float*>(in.x) + row * k;
    std::uint32_t* words = words_.data() + slot * rowWords_;
    if (problem.act == NumberType::I8) {
        q.resize(k);
        if (!int8Row(problem, in, row, q.data(), &scales_[row])) { // NaN or Inf makes the whole row of y NaN
            scales_[row] = std::numeric_limits<float>::quiet_NaN();
            std::fill(q.begin(), q.end(), std::int8_t(0));
        }
        if (weights.products == LaneProducts::I8) return orderBytes(weights, q.data(), row, words, kernels);
        values.assign(q.begin(), q.end());
        x = values.data();
    } else if (problem.act == NumberType::Fp8E4m3) {
        values.resize(k);
        if (!fp8Row(problem, in, row, values.data(), &scales_[row])) {
            scales_[row] = std::numeric_limits<float>::quiet_NaN();
            std::fill(values.begin(), values.end(), 0.0f);
        }
        x = values.data();
    } else if (problem.act == NumberType::Bf16) {
        values.resize(k);
        bestKernels().bf16ToF32(static_cast<const std::uint16_t*>(in.x) + row * k, k, values.data());
        x = values.data();
    }
    if (keep_ == Keep::Floats) return orderFloats(weights, x, floats_.data() + slot * rowFloats_);
    if (weights.products == LaneProducts::F32 && keep_ == Keep::Words)
        return orderFloats(weights, x, reinterpret_cast<float*>(words));
    ordered.resize(rowFloats_);
    orderFloats(weights, x, ordered.data());
    if (keep_ == Keep::Tables)
        return kernels.lookupTables[int(weights.codes)](ordered.data(), weights.streamSize(), weights.table, words);
    if (weights.products == LaneProducts::Fixed)
        return kernels.foldFixed[int(weights.codes)](ordered.data(), nullptr, weights, words);
    kernels.fold(ordered.data(), nullptr, weights.streamSize(), weights.streamSize(), words);
}

} // namespace qs
