// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What every variant does alike with its operands.

#include "kernels/matmul.h"
#include "kernels/zeroed_pages.h"

#include <cstdlib>
#include <cstring>

namespace qs {

/// Memory of trivial T at the start of a page, zeroed; copies are deep.
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

/// The stored operand, kept.
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
std::size_t storedCodeRows(const MatmulProblem& problem);                      ///< rows of bytes
std::size_t storedScales(const MatmulProblem& problem, std::size_t scaleCols); ///< number of them
std::size_t bytesOf(NumberType type);

/// Activations as f32 rows; i8 and fp8 rows keep what their codes mean, the scale apart. A dynamic row with NaN or Inf is all NaN.
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

/// Row m of i8 activations: given, or quantized here. False (q and scale mean nothing) when the row holds NaN or Inf.
bool int8Row(const MatmulProblem& problem, const MatmulInput& in, std::size_t m, std::int8_t* q, float* scale);

/// Row m of f32 as what its e4m3 codes mean, by their format's own rule; the scale apart. False (values untouched) as above.
bool fp8Row(const MatmulProblem& problem, const MatmulInput& in, std::size_t m, float* values, float* scale);

void storeOutput(NumberType type, void* out, std::size_t i, float value);

} // namespace qs
