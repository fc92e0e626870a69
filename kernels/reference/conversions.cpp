// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference/reference.h"
#include "kernels/small_float.h"

namespace qs::reference {

void f16ToF32(const std::uint16_t* in, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = qs::f16ToF32(in[i]);
}
void bf16ToF32(const std::uint16_t* in, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = qs::bf16ToF32(in[i]);
}
void f32ToF16(const float* in, std::size_t n, std::uint16_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = qs::f32ToF16(in[i]);
}
void f32ToBf16(const float* in, std::size_t n, std::uint16_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = qs::f32ToBf16(in[i]);
}

} // namespace qs::reference
