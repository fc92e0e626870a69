// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a layout stores of every tensor, as it is and under every spec. It takes a pass over the model, so it is made once
// and used for every budget, lock and group.

#include "core/base/common_texts.h"
#include "core/base/rare_values.h"
#include "core/export/export_plan.h"

namespace qs::plan {

/// What a layout stores of a tensor under a spec.
struct StoredSize {
    std::uint64_t bytes = 0;
    const std::string& reason; ///< why the layout does not take the spec for the tensor; "": it does
    bool stays = false;        ///< there is a reason, and an export keeps the tensor as it is instead of failing
};

/// A model may have a million tensors, so the sizes are lists of numbers by the index of the tensor in the model.
class StoredSizes {
public:
    std::shared_ptr<const Model> model;
    const Layout* layout = nullptr;
    std::uint64_t elements = 0, bytes = 0; ///< of all tensors of the file, `bytes` as they are
    std::vector<QuantSpec> specs;

    /// Without a spec. Errors: those of planExport().
    static Result<StoredSizes> asStored(std::shared_ptr<const Model> model, const Layout& layout, const Job& job);
    std::optional<std::size_t> find(const QuantSpec& spec) const; ///< index into `specs`
    /// Does nothing for a spec that is there. Errors: those of planExport().
    Result<void> add(const QuantSpec& spec, const Job& job);

    /// Bytes of a tensor as it is.
    std::uint64_t kept(const TensorInfo& tensor) const { return tensor.bytes + keptMore_[indexOf(tensor)]; }
    StoredSize of(std::size_t spec, const TensorInfo& tensor) const;

private:
    struct OfSpec {
        std::vector<std::uint64_t> bytes; ///< by index of the tensor, as the others
        RareValues<std::uint32_t> reason; ///< number of its text
        RareValues<bool> stays;
    };
    std::size_t indexOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model->tensors.data()); }

    RareValues<std::uint64_t> keptMore_; ///< than TensorInfo::bytes, modulo 2^64
    std::vector<OfSpec> of_;             ///< of each spec
    CommonTexts reasons_;
};

/// The layout of that id; "": countedLayout(). Errors: another id, a layout that cannot write the model.
Result<const Layout*> plannedLayout(const Model& model, const TensorInfo* example, const std::vector<QuantSpec>& specs,
                                    const std::string& layout);
/// `layout`: see plannedLayout(). Errors: those of plannedLayout() and planExport().
Result<StoredSizes> storedSizes(std::shared_ptr<const Model> model, const TensorInfo* example,
                                const std::vector<QuantSpec>& specs, const std::string& layout, const Job& job);

} // namespace qs::plan
