// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/openblas/product.h"

#include "kernels/kernel_set.h"
#include "plugins/common/operands.h"

#include <chrono>
#include <limits>

namespace qs::openblas {
namespace {

using plugin::is;
using plugin::Refusal;

constexpr VariantRow kVariants[] = {
    {"sgemv", "sgemv", "f32 weights; f32 products and sums", Weights::Plain, true},
    {"sgemm", "sgemm", "f32 weights; f32 products and sums", Weights::Plain, false},
    {"dequantize_sgemv", "Dequantize, then sgemv", "all weights are decoded to f32 in every run; f32 products and sums",
     Weights::DecodedInRun, true},
    {"dequantize_sgemm", "Dequantize, then sgemm", "all weights are decoded to f32 in every run; f32 products and sums",
     Weights::DecodedInRun, false},
    {"dequantized_sgemv", "sgemv over dequantized weights",
     "weights were decoded to f32 once, in prepare; f32 products and sums", Weights::DecodedBefore, true},
    {"dequantized_sgemm", "sgemm over dequantized weights",
     "weights were decoded to f32 once, in prepare; f32 products and sums", Weights::DecodedBefore, false},
};

constexpr std::int64_t kWorthATeam = 1 << 17; ///< elements; smaller weights are decoded by one thread

} // namespace

AlignedBytes::AlignedBytes(std::uint64_t bytes)
    : data(static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
    if (!data && bytes) throw std::bad_alloc();
}

std::vector<const VariantRow*> variantsOf(bool plainF32, std::int64_t m) {
    std::vector<const VariantRow*> rows;
    for (const VariantRow& row : kVariants)
        if ((row.weights == Weights::Plain) == plainF32 && (m == 1 || !row.vector)) rows.push_back(&row);
    return rows;
}

std::string Product::refusal(const qs_problem& p, plugin::StoredWeight& weight) {
    if (!is(p.op, "matmul")) return "OpenBLAS only multiplies";
    if (p.flags & QS_PROBLEM_DYNAMIC_ACT) return "OpenBLAS quantizes no activations";
    if (p.m < 1 || p.n < 1 || p.k < 1) return "the product is empty";
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (p.m > most || p.n > most || p.k > most) return "OpenBLAS takes only sizes below 2^31";
    if (!p.weight || !p.act) return "the problem does not name its formats";
    const auto act = plugin::given(p.act);
    if (!is(act.format, "f32") && !is(act.format, "bf16"))
        return std::string("OpenBLAS has no ") + (act.format ? act.format : "nameless") + " activations";
    if (!is(act.scale_dtype, "none")) return "activations with scales are not read here";
    if (p.compute && !is(p.compute, "f32")) return "OpenBLAS computes products in f32 only";
    if (p.accum && !is(p.accum, "f32")) return "OpenBLAS computes sums in f32 only";
    if (!is(p.out, "f32") && !is(p.out, "bf16"))
        return std::string("results must be f32 or bf16, not ") + (p.out ? p.out : "none");
    const bool kn = p.flags & QS_PROBLEM_W_IS_KN;
    return weight.accept(plugin::given(p.weight), kn ? p.k : p.n, kn ? p.n : p.k);
}

Product::Product(const Library& library, const qs_problem& p, const VariantRow& variant, const qs_tensor* const* in,
                 std::uint32_t count)
    : library_(library), variant_(variant), m_(p.m), n_(p.n), k_(p.k), kn_(p.flags & QS_PROBLEM_W_IS_KN),
      actBf16_(is(p.act->format, "bf16")), outBf16_(is(p.out, "bf16")) {
    if (const std::string reason = refusal(p, stored_); !reason.empty()) throw Refusal(QS_UNIMPLEMENTED, reason);
    const auto start = std::chrono::steady_clock::now();
    const void* weight = plugin::input(in, count, "weight", stored_.dtype(), stored_.weightBytes());
    const std::uint64_t scaleBytes = 4 * stored_.scaleCount(), denseBytes = 4 * std::uint64_t(n_) * std::uint64_t(k_);
    const void* scales = scaleBytes ? plugin::input(in, count, "scale", "f32", scaleBytes) : nullptr;
    if (p.flags & QS_PROBLEM_BIAS) {
        const auto* bias = static_cast<const float*>(plugin::input(in, count, "bias", "f32", 4 * std::uint64_t(n_)));
        bias_.assign(bias, bias + n_);
    }
    Copy first{AlignedBytes(stored_.weightBytes()), AlignedBytes(scaleBytes)};
    std::memcpy(first.weight.data.get(), weight, stored_.weightBytes());
    if (scaleBytes) std::memcpy(first.scales.data.get(), scales, scaleBytes);
    const bool before = variant.weights == Weights::DecodedBefore;
    if (before) {
        Copy dense{AlignedBytes(denseBytes), {}};
        decode(first, dense.weight.floats());
        first = std::move(dense);
    }
    copies_.push_back(std::move(first));
    if (variant.weights == Weights::DecodedInRun) decoded_ = AlignedBytes(denseBytes);
    if (actBf16_) x_ = AlignedBytes(4 * std::uint64_t(m_ * k_));
    if (outBf16_) y_ = AlignedBytes(4 * std::uint64_t(m_ * n_));

    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    info_.fusion = variant.weights == Weights::Plain ? QS_FUSION_UNKNOWN : QS_FUSION_MATERIALISED;
    info_.repack_ms = before ? took.count() : 0;
    info_.upload_ms = info_.compile_ms = -1;
    info_.flops = info_.bytes_accessed = -1;
    info_.arg_bytes = info_.out_bytes = info_.peak_bytes = info_.code_bytes = -1;
    info_.temp_bytes = variant.weights == Weights::DecodedInRun ? std::int64_t(denseBytes) : 0;
    info_.temp_bytes += actBf16_ ? 4 * m_ * k_ : 0;
    info_.temp_bytes += outBf16_ ? 4 * m_ * n_ : 0;
    info_.weight_bytes = std::int64_t(before ? denseBytes : stored_.readBytes());
    constexpr std::int64_t ofAllocations = 512; // most bytes that alignment and malloc add to the two allocations
    info_.copy_bytes = std::int64_t(before ? denseBytes : stored_.weightBytes() + scaleBytes) + ofAllocations;
}

void Product::copies(std::uint32_t count) {
    const std::uint64_t weightBytes =
        variant_.weights == Weights::DecodedBefore ? 4 * std::uint64_t(n_ * k_) : stored_.weightBytes();
    const std::uint64_t scaleBytes = copies_[0].scales.data ? 4 * stored_.scaleCount() : 0;
    while (copies_.size() < count) {
        Copy copy{AlignedBytes(weightBytes), AlignedBytes(scaleBytes)};
        std::memcpy(copy.weight.data.get(), copies_[0].weight.data.get(), weightBytes);
        if (scaleBytes) std::memcpy(copy.scales.data.get(), copies_[0].scales.data.get(), scaleBytes);
        copies_.push_back(std::move(copy));
    }
}

const void* Product::activations(const qs_tensor* const* act, std::uint32_t count) const {
    return plugin::input(act, count, "act", actBf16_ ? "bf16" : "f32", std::uint64_t(m_ * k_) * (actBf16_ ? 2 : 4));
}

void Product::decode(const Copy& from, float* to) const {
    const std::int64_t columns = stored_.columns();
    const auto rows = std::size_t(stored_.rows());
    const auto part = [&](std::size_t begin, std::size_t end) {
        stored_.decode(from.weight.data.get(), from.scales.floats(), std::int64_t(begin), std::int64_t(end),
                       to + std::int64_t(begin) * columns);
    };
    if (stored_.rows() * columns < kWorthATeam) return part(0, rows);
    ThreadTeam& team = library_.team();
    team.run([&](int worker) {
        const auto [begin, end] = shareOf(rows, worker, team.size());
        part(begin, end);
    });
}

void Product::run(const void* act, std::uint32_t copy, void* out) {
    const ThreadTeam::Pin pinned(library_.team());
    const Copy& weights = copies_[copy % copies_.size()];
    const auto* x = static_cast<const float*>(act);
    if (actBf16_) {
        bestKernels().bf16ToF32(static_cast<const std::uint16_t*>(act), std::size_t(m_ * k_), x_.floats());
        x = x_.floats();
    }
    const float* w = weights.weight.floats();
    if (variant_.weights == Weights::DecodedInRun) {
        decode(weights, decoded_.floats());
        w = decoded_.floats();
    }
    float* y = outBf16_ ? y_.floats() : static_cast<float*>(out);
    if (!bias_.empty())
        for (std::int64_t i = 0; i < m_; ++i) std::memcpy(y + i * n_, bias_.data(), sizeof(float) * std::size_t(n_));
    if (variant_.vector) { // some versions of sgemv multiply a NaN in y by beta = 0, so y always holds numbers
        if (bias_.empty()) std::fill(y, y + n_, 0.f);
        library_.addVector(n_, k_, x, w, kn_, y);
    } else {
        library_.multiply(m_, n_, k_, x, w, kn_, y, !bias_.empty());
    }
    if (outBf16_) bestKernels().f32ToBf16(y, std::size_t(m_ * n_), static_cast<std::uint16_t*>(out));
}

std::string Product::source() const {
    const auto text = [](std::int64_t value) { return std::to_string(value); };
    const std::string beta = variant_.vector || !bias_.empty() ? "1" : "0";
    // The arguments are those that Library::multiply() and addVector() pass.
    const std::string call =
        variant_.vector
            ? "cblas_sgemv(row-major, " + std::string(kn_ ? "transposed" : "as it is") + ", " + text(kn_ ? k_ : n_) +
                  ", " + text(kn_ ? n_ : k_) + ", 1, W, " + text(kn_ ? n_ : k_) + ", x, 1, " + beta + ", y, 1)"
            : "cblas_sgemm(row-major, x as it is, W " + std::string(kn_ ? "as it is" : "transposed") + ", " + text(m_) +
                  ", " + text(n_) + ", " + text(k_) + ", 1, x, " + text(k_) + ", W, " + text(kn_ ? n_ : k_) + ", " +
                  beta + ", y, " + text(n_) + ")";
    return std::string("variant: ") + variant_.id + "\ntitle: " + variant_.title + "\narithmetic: " + variant_.note +
           "\ncall: " + call + "\nlibrary: " + library_.describe() + "\n";
}

} // namespace qs::openblas
