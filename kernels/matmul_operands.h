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
    explicit Aligned(std::size_t n) : data_(static_cast<T*>(zeroedPages(n * sizeof(T)))), n_(n) {}
    Aligned(const Aligned& other) : Aligned(other.n_) {
        if (n_) std::memcpy(static_cast<void*>(data_), other.data_, n_ * sizeof(T));
    }
    Aligned(Aligned&& other) noexcept : data_(other.data_), n_(other.n_) { other.data_ = nullptr, other.n_ = 0; }
    Aligned& operator=(Aligned other) noexcept {
        std::swap(data_, other.data_), std::swap(n_, other.n_);
        return *this;
    }
    ~Aligned() { std::free(data_); }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return n_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

private:
    T* data_ = nullptr;
    std::size_t n_ = 0;
};

/// An own copy of the stored operand.
class StoredCopy {
public:
    StoredCopy(const MatmulProblem& problem, const WeightOperand& operand);
    WeightOperand operand() const;
    const float* bias() const { return bias_.data(); }
    std::size_t bytes() const { return codes_.size() + scales_.size(); }

private:
    WeightOperand layout_;
    Aligned<std::uint8_t> codes_, scales_;
    Aligned<float> bias_;
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
    const float* x(std::size_t m) const { return x_ + m * k_; }
    float scale(std::size_t m) const { return scales_.empty() ? 1.0f : scales_[m]; }

private:
    std::size_t k_;
    const float* x_ = nullptr;
    std::vector<float> own_, scales_;
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
