// SPDX-License-Identifier: GPL-3.0-or-later
// 16 lanes as four NEON registers. Include it once per source file, inside an unnamed namespace.

#define QS_FOUR(i) _Pragma("GCC unroll 4") for (int i = 0; i < 4; ++i)

struct F {
    float32x4_t v[4];
};
struct I {
    uint32x4_t v[4];
};
/// Applies one expression to each of the four registers.
#define QS_MAP(type, expression)                                                                                       \
    type r;                                                                                                            \
    QS_FOUR(i) r.v[i] = expression;                                                                                    \
    return r

QS_INLINE F zeroF() { QS_MAP(F, vdupq_n_f32(0)); }
QS_INLINE I zeroI() { QS_MAP(I, vdupq_n_u32(0)); }
QS_INLINE F loadF(const float* p) { QS_MAP(F, vld1q_f32(p + 4 * i)); }
QS_INLINE I loadI(const void* p) {
    QS_MAP(I, vreinterpretq_u32_u8(vld1q_u8(static_cast<const std::uint8_t*>(p) + 16 * i)));
}
QS_INLINE void storeF(float* p, F a) { QS_FOUR(i) vst1q_f32(p + 4 * i, a.v[i]); }
QS_INLINE void storeI(void* p, I a) {
    QS_FOUR(i) vst1q_u8(static_cast<std::uint8_t*>(p) + 16 * i, vreinterpretq_u8_u32(a.v[i]));
}
QS_INLINE F set1F(float a) { QS_MAP(F, vdupq_n_f32(a)); }
QS_INLINE I set1I(std::uint32_t a) { QS_MAP(I, vdupq_n_u32(a)); }
QS_INLINE F asF(I a) { QS_MAP(F, vreinterpretq_f32_u32(a.v[i])); }
QS_INLINE I asI(F a) { QS_MAP(I, vreinterpretq_u32_f32(a.v[i])); }
QS_INLINE F set1F(const std::uint32_t* bits) { return asF(set1I(*bits)); }
QS_INLINE F fmaF(F a, F b, F c) { QS_MAP(F, vfmaq_f32(c.v[i], a.v[i], b.v[i])); }
QS_INLINE F addF(F a, F b) { QS_MAP(F, vaddq_f32(a.v[i], b.v[i])); }
QS_INLINE F mulF(F a, F b) { QS_MAP(F, vmulq_f32(a.v[i], b.v[i])); }
QS_INLINE F minF(F a, F b) { QS_MAP(F, vminq_f32(a.v[i], b.v[i])); }
QS_INLINE I addI(I a, I b) { QS_MAP(I, vaddq_u32(a.v[i], b.v[i])); }
QS_INLINE F toF(I a) { QS_MAP(F, vcvtq_f32_s32(vreinterpretq_s32_u32(a.v[i]))); }
template<int s> QS_INLINE I shr(I a) {
    if constexpr (s == 0)
        return a;
    else {
        QS_MAP(I, vshrq_n_u32(a.v[i], s));
    }
}
template<int s> QS_INLINE I shl(I a) { QS_MAP(I, vshlq_n_u32(a.v[i], s)); }
template<int s> QS_INLINE I sar(I a) {
    QS_MAP(I, vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(a.v[i]), s)));
}
QS_INLINE I andI(I a, I b) { QS_MAP(I, vandq_u32(a.v[i], b.v[i])); }
QS_INLINE I xorI(I a, I b) { QS_MAP(I, veorq_u32(a.v[i], b.v[i])); }
/// Uses the low four bits of the index. The 64 bytes of the table are looked up byte by byte.
QS_INLINE F lookup16(F table, I index) {
    uint8x16x4_t bytes;
    QS_FOUR(i) bytes.val[i] = vreinterpretq_u8_f32(table.v[i]);
    F r;
    QS_FOUR(i) {
        const uint32x4_t code = vandq_u32(index.v[i], vdupq_n_u32(15));
        const uint32x4_t at = vmlaq_u32(vdupq_n_u32(0x03020100u), code, vdupq_n_u32(0x04040404u));
        r.v[i] = vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_u32(at)));
    }
    return r;
}
/// The table has 4 entries or fewer, which repeat.
QS_INLINE F lookup4(F table, I index) { return lookup16(table, index); }
/// The low or high half of each lane, converted from f16.
template<int half> QS_INLINE F widenF16(I a) {
    const I words = shr<16 * half>(a);
    QS_MAP(F, vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(words.v[i]))));
}
QS_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

/// Int8 codes stay signed, because NEON multiplies signed bytes.
constexpr int kInt8Bias = 0;
template<bool int8> QS_INLINE I dotQuads(I sum, I a, I b) {
    I r;
    QS_FOUR(i) {
        const int8x16_t x = vreinterpretq_s8_u32(a.v[i]), y = vreinterpretq_s8_u32(b.v[i]);
        const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)));
        const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(x), vget_high_s8(y)));
        r.v[i] = vaddq_u32(sum.v[i], vreinterpretq_u32_s32(vpaddq_s32(low, high)));
    }
    return r;
}
