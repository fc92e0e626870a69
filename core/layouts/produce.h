// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the layouts' producers share: a tensor quantized slab by slab on all cores, handed to the writer in order.

#include "core/layouts/layout.h"
#include "core/quant/encode/pass.h"
#include "core/quant/encode/solved.h"

#include <atomic>
#include <map>
#include <memory>

namespace qs {

/// Is handed the scales of a tensor in order, some at a time.
using TakeParams = std::function<Result<void>(std::span<const GroupParams>)>;

/// A tensor under a spec while it is written; the producers of its output tensors share it.
struct Source {
    TensorView view;
    QuantSpec spec;
    ScaleGrid grid;
    Job job;
    std::shared_ptr<const Solved> solved;              ///< null: nothing was decided before
    std::optional<TensorPass> pass;                    ///< prepared when the first producer runs
    std::vector<std::string> warnings = {};            ///< about what was measured then
    std::shared_ptr<const TensorScales> scales = {};   ///< what was measured for the first of them
    std::shared_ptr<std::atomic<bool>> nonFinite = {}; ///< see TensorPass::refuseNonFinite()
    /// Fields that are made of the scales alone, by their names; each is begun with where its bytes go.
    std::map<std::string, std::function<TakeParams(const TensorToWrite::Sink&)>> ofParams = {};
    std::vector<TakeParams> takers = {}; ///< of those that are written while the codes are
    bool taken = false;                  ///< they got all of them
    /// Set by layouts whose readers round on the way: what they make of a range's codes, under scales and zero points
    /// of groups of `group`. Null: what analysis decodes.
    std::function<void(std::span<const std::uint8_t> codes, std::span<const float> scales, std::span<const float> zeros,
                       std::size_t group, float* values)>
        readAs = {};
    std::shared_ptr<const TensorInfo> turned; ///< what `view` shows, where it is not in the model: see conv1d.h
    Result<const TensorPass*> prepared();
};
Result<std::shared_ptr<Source>> makeSource(const TensorView& view, const QuantSpec& spec, const Job& job);

/// The scales as a tensor NAME + field, in the spec's scale type.
TensorToWrite scaleTensor(const std::shared_ptr<Source>& source, const char* field);
/// Zero points in their type, see storedZeroType(); and what the stored scales were multiplied by, an F32 of one element.
TensorToWrite zeroTensor(const std::shared_ptr<Source>& source, const char* field);
/// Biases in the type of the scales.
TensorToWrite biasTensor(const std::shared_ptr<Source>& source, const char* field);
TensorToWrite tensorScaleTensor(const std::shared_ptr<Source>& source, const char* field);
/// A field that is made of the scales and zero points, in their order.
TensorToWrite ofParams(const std::shared_ptr<Source>& source, std::string name, DType dtype,
                       std::vector<std::int64_t> shape, std::function<TakeParams(const TensorToWrite::Sink&)> begin);
/// Lets fields of a large source be written while one pass goes over it.
void produceTogether(const std::shared_ptr<Source>& source, std::vector<TensorToWrite>& fields);
/// All scales of the grid.
Result<std::vector<GroupParams>> measureParams(Source& source);
/// The same in order, some at a time where each range sees its own: very many are never kept.
Result<void> eachParams(Source& source, const TakeParams& take);

/// The scales of a slab of units, for fields that are written beside the codes.
class SlabParams {
public:
    explicit SlabParams(Source& source);
    void begin(std::uint64_t firstUnit, std::uint64_t lastUnit);
    /// Measures the groups of a range, which then has their scales.
    PassRange measured(const PassRange& range, RunEncoder& encode);
    /// Where the scales of a range go, which whoever encodes it has found; null: nobody asks.
    GroupParams* of(const PassRange& range) { return active_ ? params_.data() + (range.firstGroup - first_) : nullptr; }
    Result<void> handOn();

private:
    Source& source_;
    bool active_;
    std::uint64_t first_ = 0;
    std::vector<GroupParams> params_;
};
/// Runs the pass in slabs of a few MiB of output. `place(element)` is the output byte of an element that begins a
/// range, and of the end.
Result<void> streamSlabs(Source& source, const TensorToWrite::Sink& sink,
                         const std::function<std::uint64_t(std::uint64_t element)>& place,
                         const std::function<void(const PassRange&, RunEncoder&, std::byte* at)>& body);
/// The same; the body finds the scales by itself and puts them where it is told, unless that is null.
Result<void>
streamSlabs(Source& source, const TensorToWrite::Sink& sink,
            const std::function<std::uint64_t(std::uint64_t element)>& place,
            const std::function<void(const PassRange&, RunEncoder&, GroupParams* params, std::byte* at)>& body);

/// Adds to codes, modulo 256.
void moveCodes(std::uint8_t* codes, std::size_t n, int offset);
/// f32 values as bytes of a float dtype, rounded half to even.
void appendAs(DType dtype, const float* values, std::size_t n, std::byte* at);
Result<void> sinkFloats(const TensorToWrite::Sink& sink, DType dtype, const std::vector<float>& values);

} // namespace qs
