// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A product in f32 for one problem and its weights. The weights are f32 already, are decoded to f32 in every run, or
// were decoded once before.

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

/// The weights that are multiplied: stored as f32, decoded in every run, or decoded in prepare().
enum class Weights { Plain, DecodedInRun, DecodedBefore };
struct VariantRow {
    const char *id, *title, *note;
    Weights weights;
    bool vector; ///< true: it uses sgemv, which needs M = 1
    const char* compute = "f32";
};
/// The variants for these weights and this M, in the order of the table.
std::vector<const VariantRow*> variantsOf(bool plainF32, std::int64_t m);

class Product {
public:
    /// Throws plugin::Refusal if the problem is declined or a tensor is wrong.
    Product(const Library& library, const qs_problem& problem, const VariantRow& variant, const qs_tensor* const* in,
            std::uint32_t count);

    /// Why no variant can do the problem; empty if one can.
    static std::string refusal(const qs_problem& problem, plugin::StoredWeight& weight);

    qs_kernel_info info() const { return info_; }
    void copies(std::uint32_t count); ///< makes copies of the weights until there are `count`
    const void* activations(const qs_tensor* const* act, std::uint32_t count) const; ///< checked, in the host's type
    std::uint64_t outBytes() const { return std::uint64_t(m_ * n_) * (outBf16_ ? 2 : 4); }
    const char* outDtype() const { return outBf16_ ? "bf16" : "f32"; }
    void run(const void* act, std::uint32_t copy, void* out);
    std::string source() const; ///< text for people: the call of OpenBLAS and the library

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
