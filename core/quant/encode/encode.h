// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From a spec to what a kernel runs, and compute=input, which kernels do not know.

#include "core/model/dtype.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/code_measure.h"
#include "core/quant/encode/encode_plan.h"
#include "core/quant/encode/tensor_scales.h"
#include "kernels/kernel_set.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace qs {

/// Scale and divisor from an absolute maximum, in f32 or in the input type.
GroupParams paramsOfAbsMax(const Run& run, std::optional<DType> inputType, float absMax);
/// Scale and encoder input of one group, in f32 or in the input type.
GroupParams paramsOfGroup(const Run& run, std::optional<DType> inputType, const float* x, std::size_t n);

/// Quantizes and measures runs. One per worker: it keeps scratch.
class RunEncoder {
public:
    /// `scales`: of the tensor, where its groups are measured as they pass; see TensorPass::scales().
    RunEncoder(SharedPlan plan, DType source, std::shared_ptr<const TensorScales> scales = nullptr);
    void operator()(const Run& run, const RunOut& out);
    /// Scale and encoder input of one group of a run; x is element run.index of the tensor.
    GroupParams params(const Run& run, const float* x, std::size_t n) const;
    /// The parameters of all groups of a run, in order.
    void params(const Run& run, GroupParams* out);
    BlockEncoder& blocks() { return blocks_; } ///< of formats with a codec
    /// From now on, a group of finite values that decodes to NaN or Inf sets `met`: its scale overflows its type.
    /// `given`: groups whose scale comes with the run are looked at too.
    void watchOverflow(std::shared_ptr<std::atomic<bool>> met, bool given);

private:
    void encode(const Run& run, const RunOut& out);
    void watchGroups(const Run& run, const GroupParams* params, std::size_t stride);
    void watchPlain(const Run& run, const RunOut& out);
    void sayOverflow() const;
    bool staysFinite(const Run& run, std::size_t begin, const GroupParams& params);
    void inInputType(const Run& run, const RunOut& out);
    void columns(const Run& run, const RunOut& out);
    void altered(const Run& run, const RunOut& out);
    void multiplied(const Run& run, const RunOut& out);
    void cast(const Run& run, const RunOut& out);
    void shifted(const Run& run, const RunOut& out);
    void truncated(const Run& run, const RunOut& out);
    void encodeNormalized(const Run& run, std::size_t n, const RunOut& out);
    void encodeRandomly(const Run& run, const float* x);
    void encodeFloatsRandomly(const Run& run, const float* x);
    void reserve(std::size_t n);
    /// Scales of groups from element `index` on, as they are stored.
    void nest(std::uint64_t index, GroupParams* params, std::size_t groups) const;
    std::optional<DType> inputType_;
    BlockEncoder blocks_;
    CodeMeasure measure_;
    SharedPlan plan_;
    Division division_;
    std::vector<float> boundaries_;   ///< Division::ByReciprocalOfMaximum: between the levels
    std::size_t multipliedBlock_ = 0; ///< the same: elements of a whole block; else 0
    std::shared_ptr<const TensorScales> scales_;
    std::optional<Sparsity> sparsity_;
    std::optional<std::uint64_t> seed_; ///< of random rounding
    std::shared_ptr<std::atomic<bool>> overflow_;
    bool watchesGiven_ = false;
    std::vector<float> scalesOfRun_;
    std::vector<GroupParams> params_;
    std::vector<GroupBound> bounds_;
    std::vector<float> normalized_, decoded_;
    std::vector<std::uint8_t> codes_;
    std::vector<std::uint16_t> halves_;
};

/// Sets all but the largest magnitudes of every `of` values to 0; of equal ones the first stay.
void keepLargest(const Sparsity& sparsity, float* x, std::size_t n);
/// Uniform in [-1/2, 1/2), the same for an element of a tensor whatever the order of the work.
float roundingNoise(std::uint64_t seed, std::uint64_t index);

} // namespace qs
