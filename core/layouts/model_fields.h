// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes the fields of the quantized tensors of a model, while the model is written and proved.

#include "core/layouts/fields.h"
#include "core/layouts/layout.h"

#include <map>

namespace qs {

/// A tensor and its fields in a layout.
struct TensorInLayout {
    MeasuredTensor tensor;
    OutputFields fields;
};
/// Fails if the layout cannot store the tensor under its spec.
Result<TensorInLayout> inLayout(const Layout& layout, MeasuredTensor tensor);
std::uint64_t bytesOf(const OutputFields& fields);
/// The bytes of a tensor of the model under a spec in the layout. Errors: those of checkWritable() and inLayout().
Result<std::uint64_t> bytesInLayout(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                    const Layout& layout, const Job& job);

/// Only the fields of one tensor are in memory. They are made again whenever another tensor was in memory before: for
/// the list, for writing and for the proof. The object must not be moved.
class ModelFields {
public:
    using Solve = std::function<Result<std::shared_ptr<const Solved>>(const TensorView&)>;
    /// All arguments must stay valid. `solve` is called once for each tensor; null: there is no solver. `nonFinite` is
    /// set if writing fails because of NaN or Inf; null: these were already searched.
    ModelFields(const Model& model, const Layout& layout, const std::vector<TakenTensor>& taken, const Solve& solve,
                std::shared_ptr<std::atomic<bool>> nonFinite, const Job& job)
        : model_(model), layout_(layout), taken_(taken), solve_(solve), nonFinite_(std::move(nonFinite)), job_(job) {}
    ModelFields(const ModelFields&) = delete;

    /// The fields of the tensor at this index of `taken`. The pointer is valid until another tensor is asked for.
    Result<TensorInLayout*> of(std::uint32_t index);
    /// Adds the fields to those of a file, as fields of `source`. Returns their bytes.
    Result<std::uint64_t> list(std::uint32_t index, std::uint32_t source, TensorsToWrite& file);
    /// A field of the tensor at this index, to write.
    Result<TensorToWrite> field(std::uint32_t index, std::uint32_t number);
    bool hasColumnScales(std::uint32_t index) const;
    /// Frees the memory of the last tensor.
    void leave();
    /// The warnings from measuring the tensor; still valid after leave().
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
    // Results that are kept for tensors that have them.
    std::map<std::uint32_t, std::shared_ptr<const Solved>> solved_;
    std::map<std::uint32_t, std::shared_ptr<const TensorScales>> scales_;
    std::map<std::uint32_t, std::vector<std::string>> warnings_;
};

} // namespace qs
