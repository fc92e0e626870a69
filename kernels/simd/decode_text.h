// SPDX-License-Identifier: GPL-3.0-or-later
// Decodes panels for a dense product, for every instruction set. Include after gemv_text.h. The including file defines
// kWidth, the number of vectors in a dense panel.

/// The scale for stream index i of half h, at vector v of the dense panel.
QS_INLINE F scaleOf(const DecodeCall& call, std::size_t h, std::size_t i, const F (&group)[kWidth], int v) {
    if (!call.weights->scalePerK) return group[v];
    const LaneWeights& w = *call.weights;
    const std::size_t size = w.streamSize(), set = w.sets == 1 ? 0 : std::size_t(v);
    return set1F(call.scales[(set * w.xHalves() + h) * size + i]);
}

template<LaneCodes c, int q>
QS_INLINE void decodeSingles(const DecodeCall& call, I (&word)[kWidth], const F (&group)[kWidth], F table,
                             std::size_t step, std::uint32_t* out) {
    if constexpr (q < perWordOf<c>()) {
        QS_EACH(v, kWidth) {
            F value = decode<c, q>(word[v], table);
            if (call.scales)
                value = mulF(value, scaleOf(call, 0, (call.firstStep + step) * perWordOf<c>() + q, group, v));
            storeF(reinterpret_cast<float*>(out) + std::size_t(q * kWidth + v) * kLanes, value);
        }
        decodeSingles<c, q + 1>(call, word, group, table, step, out);
    }
}
#ifdef QS_PAIRS
template<LaneCodes c, int q>
QS_INLINE void decodePairs(const DecodeCall& call, I (&word)[kWidth], const F (&group)[kWidth], F table,
                           std::size_t step, std::uint32_t* out) {
    constexpr int half = perWordOf<c>() / 2;
    if constexpr (q < half) {
        QS_EACH(v, kWidth) {
            if (c == LaneCodes::Bf16 && !call.scales) { // the stored words are pairs already
                storeI(out + std::size_t(v) * kLanes, word[v]);
                continue;
            }
            F lo = decode<c, q>(word[v], table), hi = decode<c, q + half>(word[v], table);
            if (call.scales) {
                const std::size_t i = (call.firstStep + step) * half + q;
                lo = mulF(lo, scaleOf(call, 0, i, group, v)), hi = mulF(hi, scaleOf(call, 1, i, group, v));
            }
            storeI(out + std::size_t(q * kWidth + v) * kLanes, packPairs(lo, hi));
        }
        decodePairs<c, q + 1>(call, word, group, table, step, out);
    }
}
#endif
#ifdef QS_QUADS
template<LaneCodes c, int q> QS_INLINE void decodeQuads(I (&word)[kWidth], bool twice, std::uint32_t* out) {
    if constexpr (q < perWordOf<c>() / 4) {
        QS_EACH(v, kWidth) {
            const I codes = quad<c>(shr<32 / perWordOf<c>() * q>(word[v]));
            storeI(out + std::size_t(q * kWidth + v) * kLanes, twice ? addI(codes, codes) : codes);
        }
        decodeQuads<c, q + 1>(word, twice, out);
    }
}
#endif

/// Decodes the steps of a call. They may start and end within a group.
template<LaneCodes c, LaneProducts products> void decodePanel(const DecodeCall& call) {
    constexpr int per = perWordOf<c>() / (products == LaneProducts::F32 ? 1 : products == LaneProducts::Bf16 ? 2 : 4);
    const LaneWeights& w = *call.weights;
    const F table = loadF(w.table);
    [[maybe_unused]] const bool twice = c == LaneCodes::Table1 && w.table[1] - w.table[0] == 2;
    const std::uint32_t* words = call.words;
    std::uint32_t* out = call.out;
    std::size_t step = 0, left = w.groupSteps - call.firstStep % w.groupSteps;
    for (std::size_t g = 0; step < call.steps; ++g, left = w.groupSteps) {
        F group[kWidth];
        QS_EACH(v, kWidth) {
            const bool scaled = call.scales && !w.scalePerK;
            group[v] = scaled ? loadF(call.scales + g * kPanel + std::size_t(v) * kLanes) : zeroF();
        }
        for (; left > 0 && step < call.steps; --left, ++step, words += kPanel) {
            I word[kWidth];
            QS_EACH(v, kWidth) {
                word[v] = loadI(words + std::size_t(v) * kLanes);
                prefetch(words + kAhead + std::size_t(v) * kLanes);
            }
            if constexpr (products == LaneProducts::F32) decodeSingles<c, 0>(call, word, group, table, step, out);
#ifdef QS_PAIRS
            if constexpr (products == LaneProducts::Bf16) decodePairs<c, 0>(call, word, group, table, step, out);
#endif
#ifdef QS_QUADS
            if constexpr (products == LaneProducts::I8) decodeQuads<c, 0>(word, twice, out);
#endif
            out += std::size_t(per * kWidth) * kLanes;
        }
    }
}

void finishLanes(const float* lanes, std::size_t n, float scale, const float* addend, float* y) {
    const F factor = set1F(scale);
    for (std::size_t i = 0; i < n; i += kLanes) {
        const F product = mulF(loadF(lanes + i), factor);
        storeF(y + i, addend ? addF(product, loadF(addend + i)) : product);
    }
}

void foldSingles(const float* x, const float* scale, std::size_t n, std::size_t, std::uint32_t* out) {
    std::size_t i = 0;
    auto* into = reinterpret_cast<float*>(out);
    for (; i + kLanes <= n; i += kLanes) {
        const F value = loadF(x + i);
        if (scale) prefetch(scale + i + kAhead);
        storeF(into + i, scale ? mulF(value, loadF(scale + i)) : value);
    }
    for (; i < n; ++i) into[i] = scale ? x[i] * scale[i] : x[i];
}
#ifdef QS_PAIRS
void foldPairs(const float* x, const float* scale, std::size_t n, std::size_t halfStride, std::uint32_t* out) {
    for (std::size_t i = 0; i < n; i += kLanes) {
        const __mmask16 some = n - i < kLanes ? __mmask16((1u << (n - i)) - 1) : __mmask16(0xffff);
        F lo{_mm512_maskz_loadu_ps(some, x + i)}, hi{_mm512_maskz_loadu_ps(some, x + halfStride + i)};
        if (scale) {
            prefetch(scale + i + kAhead), prefetch(scale + halfStride + i + kAhead);
            lo.v = _mm512_maskz_mul_ps(some, lo.v, _mm512_maskz_loadu_ps(some, scale + i));
            hi.v = _mm512_maskz_mul_ps(some, hi.v, _mm512_maskz_loadu_ps(some, scale + halfStride + i));
        }
        _mm512_mask_storeu_epi32(out + i, some, packPairs(lo, hi).v);
    }
}
#endif
