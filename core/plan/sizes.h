// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a layout stores of every tensor, as it is and under every spec. It takes a pass over the model, so it is made once
// and used for every budget, lock and group.

#include "core/export/export_plan.h"

namespace qs::plan {

struct StoredSizes {
    struct One {
        std::uint64_t bytes = 0;
        SharedText reason;  ///< why the layout does not take the spec for the tensor; empty: it does
        bool stays = false; ///< there is a reason, and an export keeps the tensor as it is instead of failing
    };
    std::shared_ptr<const Model> model;
    const Layout* layout = nullptr;
    std::uint64_t elements = 0, bytes = 0; ///< of all tensors of the file, `bytes` as they are
    std::vector<std::uint64_t> kept;       ///< by tensor of the model: bytes as it is
    std::vector<QuantSpec> specs;
    std::vector<std::vector<One>> of; ///< by spec, then by tensor of the model

    std::size_t indexOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model->tensors.data()); }
    std::optional<std::size_t> find(const QuantSpec& spec) const; ///< index into `specs`
    /// Does nothing for a spec that is there. Errors: those of planExport().
    Result<void> add(const QuantSpec& spec, const Job& job);
};

/// `layout`: its id; "" is the first layout that takes the most of the specs for the tensor. Errors: another id, those of
/// planExport().
Result<StoredSizes> storedSizes(std::shared_ptr<const Model> model, const TensorInfo* example,
                                const std::vector<QuantSpec>& specs, const std::string& layout, const Job& job);

} // namespace qs::plan
