// SPDX-License-Identifier: GPL-3.0-or-later
// nf4 with thresholds multiplied by the scale of each group, as in nf4_packed_avx512.h. So no division comes before the
// code.

struct Nf4ScaledCoder {
    static constexpr bool kHasQuotient = true, kHasCodes = true;
    struct Group {
        Floats aux, scale;
        __m512 low, high, inverse15;
    };
    Floats levels;
    __m512i lowCode, highCode, lowIndex, highIndex;
    __m512d middle0, middle1;

    explicit Nf4ScaledCoder(const Nf4Coder& coder)
        : levels(coder.levels), lowCode(coder.codes[0].v), highCode(coder.codes[1].v) {
        const Nf4Thresholds& t = nf4Thresholds();
        lowIndex = _mm512_load_si512(t.bucketIndex), highIndex = _mm512_load_si512(t.bucketIndex + 16);
        middle0 = _mm512_load_pd(t.midpoint), middle1 = _mm512_load_pd(t.midpoint + 8);
    }
    /// Whether a group can use this coder. Larger values would find a wrong bucket, and the reciprocal must be a normal
    /// number. A group of zeros is fine: 0 is always in bucket 16.
    static bool takes(const GroupParams& params, unsigned bits) {
        return bits == 0 || (fromBits(bits) <= params.aux && params.aux >= 0x1p-40f && params.aux <= 0x1p60f);
    }
    QS_INLINE Group forGroup(const GroupParams& params) const {
        return forGroup(params.aux, params.scale,
                        min(set1(Nf4Thresholds::kBucketScale) / set1(params.aux), set1(3e38f)));
    }
    /// `inverse15` is finite, so that 0 * inverse15 is 0.
    QS_INLINE Group forGroup(float aux, float scale, Floats inverse15) const {
        constexpr int kUp = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
        const __m512d a = _mm512_set1_pd(double(aux));
        const __m512 thresholds =
            _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvt_roundpd_ps(_mm512_mul_pd(middle0, a), kUp)),
                               _mm512_cvt_roundpd_ps(_mm512_mul_pd(middle1, a), kUp), 1);
        return {set1(aux), set1(scale), _mm512_permutexvar_ps(lowIndex, thresholds),
                _mm512_permutexvar_ps(highIndex, thresholds), inverse15.v};
    }
    QS_INLINE Ints encode(Floats x, const Group& group, Floats& v) const {
        v = x / group.aux;
        const __m512i bucket =
            _mm512_castps_si512(_mm512_fmadd_ps(x.v, group.inverse15, _mm512_set1_ps(Nf4Thresholds::kBucketOffset)));
        const __m512i code = _mm512_permutex2var_epi32(lowCode, bucket, highCode);
        const __mmask16 above =
            _mm512_cmp_ps_mask(x.v, _mm512_permutex2var_ps(group.low, bucket, group.high), _CMP_GE_OQ);
        return {_mm512_mask_sub_epi32(code, above, code, _mm512_set1_epi32(-1))};
    }
    QS_INLINE Floats decode(Ints code, Floats, const Group& group) const {
        return lookup16(levels, code) * group.scale;
    }
    static bool keepsSigns(const Run& run) { return Nf4Coder::keepsSigns(run); }
};

template<class Call>
QS_INLINE void withFastest(const Nf4Coder& coder, const GroupParams* params, const unsigned* bits, std::size_t groups,
                           const Call& call) {
    bool all = true;
    for (std::size_t k = 0; k < groups; ++k) all = all && Nf4ScaledCoder::takes(params[k], bits[k]);
    if (all) return call(Nf4ScaledCoder(coder));
    call(coder);
}

struct Pass;
inline std::size_t wholeGroups(const Nf4Coder& coder, Pass& pass, std::size_t begin); // nf4_whole_groups_avx512.h
