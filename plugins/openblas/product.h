// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One problem with its weights: products in f32, with the weights as they are, decoded in every run, or decoded before.

#include "plugins/common/stored_weight.h"
#include "plugins/openblas/library.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace qs::openblas {

struct AlignedBytes {
    AlignedBytes() = default;
    explicit AlignedBytes(std::uint64_t bytes);
    float* floats() const { return reinterpret_cast<float*>(data.get()); }
    struct Free {
        void operator()(unsigned char* p) const { std::free(p); }
    };
    std::unique_ptr<unsigned char, Free> data;
};

/// What is multiplied with.
enum class Weights { Plain, DecodedInRun, DecodedBefore };
struct VariantRow {
    const char *id, *title, *note;
    Weights weights;
    bool vector; ///< sgemv; for M = 1
    const char* compute = "f32";
};
/// The variants for these weights and this M, in order.
std::vector<const VariantRow*> variantsOf(bool plainF32, std::int64_t m);

class Product {
public:
    /// Throws plugin::Refusal.
    Product(const Library& library, const qs_problem& problem, const VariantRow& variant, const qs_tensor* const* in,
            std::uint32_t count);

    /// Why the problem cannot be done at all; empty: it can.
    static std::string refusal(const qs_problem& problem, plugin::StoredWeight& weight);

    qs_kernel_info info() const { return info_; }
    void copies(std::uint32_t count); ///< so many copies of the weights exist from now on
    const void* activations(const qs_tensor* const* act, std::uint32_t count) const; ///< checked; as they came
    std::uint64_t outBytes() const { return std::uint64_t(m_ * n_) * (outBf16_ ? 2 : 4); }
    const char* outDtype() const { return outBf16_ ? "bf16" : "f32"; }
    void run(const void* act, std::uint32_t copy, void* out);
    std::string source() const; ///< the call that is made, and of which library

private:
    struct Copy {
        AlignedBytes weight; ///< as stored, or decoded
        AlignedBytes scales;
    };
    void decode(const Copy& from, float* to) const;

    const Library& library_;
    VariantRow variant_;
    plugin::StoredWeight stored_;
    std::int64_t m_, n_, k_;
    bool kn_, actBf16_, outBf16_;
    std::vector<Copy> copies_;
    std::vector<float> bias_;
    AlignedBytes decoded_, x_, y_;
    qs_kernel_info info_{};
};

} // namespace qs::openblas
