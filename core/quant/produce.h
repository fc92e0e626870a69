// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the layouts' producers share: a tensor quantized slab by slab on all cores, handed to the writer in order.

#include "core/quant/layout.h"
#include "core/quant/pass.h"
#include "core/quant/solved.h"

#include <memory>

namespace qs {

/// A tensor under a spec while it is written; the producers of its output tensors share it.
struct Source {
    TensorView view;
    QuantSpec spec;
    ScaleGrid grid;
    Job job;
    std::shared_ptr<const Solved> solved; ///< null: nothing was decided before
    std::optional<TensorPass> pass;       ///< prepared when the first producer runs
    std::vector<GroupParams> params;      ///< kept from the scales to the zero points, unless they are very many
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
TensorToWrite tensorScaleTensor(const std::shared_ptr<Source>& source, const char* field);
/// All scales of the grid.
Result<std::vector<GroupParams>> measureParams(Source& source);
/// The same in order, some at a time where each range sees its own: very many are never kept.
Result<void> eachParams(Source& source, const std::function<Result<void>(std::span<const GroupParams>)>& take);
/// Runs the pass in slabs of a few MiB of output. `place(element)` is the output byte of an element that begins a
/// range, and of the end.
Result<void> streamSlabs(Source& source, const TensorToWrite::Sink& sink,
                         const std::function<std::uint64_t(std::uint64_t element)>& place,
                         const std::function<void(const PassRange&, RunEncoder&, std::byte* at)>& body);

/// f32 values as bytes of a float dtype, rounded half to even.
void appendAs(DType dtype, const float* values, std::size_t n, std::byte* at);
Result<void> sinkFloats(const TensorToWrite::Sink& sink, DType dtype, const std::vector<float>& values);

} // namespace qs
