// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The fields of all quantized tensors of a model, while it is written and proved.

#include "core/layouts/fields.h"
#include "core/layouts/layout.h"

#include <map>

namespace qs {

/// A tensor and its fields in a layout.
struct TensorInLayout {
    MeasuredTensor tensor;
    OutputFields fields;
};
/// Fails where the layout cannot hold the tensor under its spec.
Result<TensorInLayout> inLayout(const Layout& layout, MeasuredTensor tensor);
std::uint64_t bytesOf(const OutputFields& fields);

/// Only one tensor's fields are in memory. They are made when they are asked for: when they are listed, when one of
/// them is written and that of another tensor was written before, and for the proof. Must stay where it is.
class ModelFields {
public:
    using Solve = std::function<Result<std::shared_ptr<const Solved>>(const TensorView&)>;
    /// All arguments must stay valid. `solve` is asked once for a tensor; null: nothing is decided before. `nonFinite`
    /// is set where writing fails for a NaN or Inf; null: these were looked for before.
    ModelFields(const Model& model, const Layout& layout, const std::vector<TakenTensor>& taken, const Solve& solve,
                std::shared_ptr<std::atomic<bool>> nonFinite, const Job& job)
        : model_(model), layout_(layout), taken_(taken), solve_(solve), nonFinite_(std::move(nonFinite)), job_(job) {}
    ModelFields(const ModelFields&) = delete;

    /// The fields of the tensor at this index of `taken`. The pointer is valid until another tensor is asked for.
    Result<TensorInLayout*> of(std::uint32_t index);
    /// Adds the fields to those of a file.
    Result<WrittenTensor> list(std::uint32_t index, std::vector<TensorToWrite>& file);
    /// Frees the memory of the last tensor.
    void leave();
    /// What was warned about when the tensor was measured, after leave().
    std::vector<std::string> warningsOf(std::uint32_t index) const;

private:
    Result<TensorInLayout> make(std::uint32_t index);

    const Model& model_;
    const Layout& layout_;
    const std::vector<TakenTensor>& taken_;
    const Solve& solve_;
    std::shared_ptr<std::atomic<bool>> nonFinite_;
    const Job& job_;
    std::optional<TensorInLayout> last_;
    std::uint32_t index_ = 0;
    // What is kept of tensors, where there is something.
    std::map<std::uint32_t, std::shared_ptr<const Solved>> solved_;
    std::map<std::uint32_t, std::shared_ptr<const TensorScales>> scales_;
    std::map<std::uint32_t, std::vector<std::string>> warnings_;
};

} // namespace qs
