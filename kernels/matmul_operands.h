// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operand handling that all variants share.

#include "kernels/matmul.h"
#include "kernels/zeroed_pages.h"

#include <cstdlib>
#include <cstring>

namespace qs {

/// An array of a trivial type T that starts at a page and is zeroed. Copies are deep.
template<class T> class Aligned {
public:
    Aligned() = default;
    explicit Aligned(std::size_t n) : m_data(static_cast<T*>(zeroedPages(n * sizeof(T)))), m_n(n) {}
    Aligned(const Aligned& other) : Aligned(other.m_n) {
        if (m_n) std::memcpy(static_cast<void*>(m_data), other.m_data, m_n * sizeof(T));
    }
    Aligned(Aligned&& other) noexcept : m_data(other.m_data), m_n(other.m_n) { other.m_data = nullptr, other.m_n = 0; }
    Aligned& operator=(Aligned other) noexcept {
        std::swap(m_data, other.m_data), std::swap(m_n, other.m_n);
        return *this;
    }
    ~Aligned() { std::free(m_data); }
    T* data() { return m_data; }
    const T* data() const { return m_data; }
    std::size_t size() const { return m_n; }
    T& operator[](std::size_t i) { return m_data[i]; }
    const T& operator[](std::size_t i) const { return m_data[i]; }

private:
    T* m_data = nullptr;
    std::size_t m_n = 0;
};

/// An own copy of the stored operand.
class StoredCopy {
public:
    StoredCopy(const MatmulProblem& problem, const WeightOperand& operand);
    WeightOperand operand() const;
    const float* bias() const { return m_bias.data(); }
    std::size_t bytes() const { return m_codes.size() + m_scales.size(); }

private:
    WeightOperand m_layout;
    Aligned<std::uint8_t> m_codes, m_scales;
    Aligned<float> m_bias;
};
std::size_t storedCodeRows(const MatmulProblem& problem);                      ///< stored rows of bytes
std::size_t storedScales(const MatmulProblem& problem, std::size_t scaleCols); ///< number of stored scales
/// Bytes of one number; 0 for None.
std::size_t bytesOf(NumberType type);

/// Activations as f32 rows. Rows of I8 and Fp8E4m3 hold the values of their codes; the scale of a row is separate. If a
/// dynamic row holds NaN or Inf, its scale is NaN, and so the whole row of the result is NaN.
class ActivationRows {
public:
    ActivationRows(const MatmulProblem& problem, const MatmulInput& in);
    const float* x(std::size_t m) const { return m_x + m * m_k; }
    float scale(std::size_t m) const { return m_scales.empty() ? 1.0f : m_scales[m]; }

private:
    std::size_t m_k;
    const float* m_x = nullptr;
    std::vector<float> m_own, m_scales;
};

/// Row m of I8 activations: copied, or quantized here if dynamicAct. Returns false if the row holds NaN or Inf; q and
/// scale are then undefined.
bool int8Row(const MatmulProblem& problem, const MatmulInput& in, std::size_t m, std::int8_t* q, float* scale);

/// Quantizes row m of f32 activations to fp8_e4m3 by the rule of that format. values gets the level of each code; the
/// scale is separate. Returns false if the row holds NaN or Inf; values is then unchanged.
bool fp8Row(const MatmulProblem& problem, const MatmulInput& in, std::size_t m, float* values, float* scale);

/// Stores one value at index i of an F32 or Bf16 array.
void storeOutput(NumberType type, void* out, std::size_t i, float value);

} // namespace qs
