// SPDX-License-Identifier: GPL-3.0-or-later
// x in fixed point: rounded to 16-bit integers with a common scale for every kFixedSteps words. Include it after
// storeFixed(), which stores the integers of one word in the order of the products.

/// Rounds x (times scale, unless it is null) to 16-bit integers. After them come the f32 factors, one for every
/// kFixedSteps words.
template<LaneCodes c> void foldFixed(const float* x, const float* scale, const LaneWeights& w, std::uint32_t* out) {
    constexpr int per = perWordOf<c>();
    auto* factors = reinterpret_cast<float*>(out + w.streamSize());
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    for (std::size_t step = 0; step < w.steps; step += kFixedSteps) {
        const std::size_t n = std::min(kFixedSteps, w.steps - step) * per;
        alignas(32) float values[kFixedSteps * per];
        __m256i most = _mm256_setzero_si256(); // compared as integers, so NaN is the largest
        for (std::size_t i = 0; i < n; i += 8) {
            __m256 v = _mm256_loadu_ps(x + i);
            if (scale) v = _mm256_mul_ps(v, _mm256_loadu_ps(scale + i));
            _mm256_store_ps(values + i, v);
            most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(v), magnitude));
        }
        __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
        four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
        const float largest = _mm_cvtss_f32(_mm_castsi128_ps(four)), lift = largest < 1e-30f ? 0x1p64f : 1.0f;
        const bool finite = largest <= 3.402823466e38f, zero = largest == 0;
        *factors++ = finite ? largest * lift / w.fixed.mostX * w.fixed.factor / lift : __builtin_nanf("");
        const float inverse = finite && !zero ? w.fixed.mostX / (largest * lift) : 0.0f;
        const __m256 by = _mm256_set1_ps(inverse), lifted = _mm256_set1_ps(lift);
        for (std::size_t i = 0; i < n; i += per, out += per / 2) {
            __m128i shorts[per / 8];
            QS_EACH(j, per / 8) {
                const __m256 v = _mm256_mul_ps(_mm256_mul_ps(_mm256_load_ps(values + i + 8 * j), lifted), by);
                const __m256i whole = _mm256_cvtps_epi32(v);
                shorts[j] = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
            }
            storeFixed<c>(shorts, out);
        }
        x += n, scale = scale ? scale + n : nullptr;
    }
}
