// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensors are products, the times of these, and which have none.

#include "core/plan/options.h"

namespace qs::plan {

class KnownTimes {
public:
    /// `specs`: those of the options. Empty where the request has neither times nor a target.
    KnownTimes(const OptionRequest& request, const std::vector<QuantSpec>& specs);
    /// Adds the time of a tensor to the option. Null, or why it has none.
    std::optional<std::string> add(const TensorInfo& tensor, UnitOption& option) const;
    /// Products that a file holds, without those of units.
    void addFixed(Options& out) const;
    /// A tensor of another rank is a product that no benchmark has a shape for.
    bool isProduct(const TensorInfo& tensor) const {
        return tensor.shape.size() > 2 || (!isMatrix_.empty() && isMatrix_[indexOf(tensor)]);
    }
    const std::string& canonical(std::size_t spec) const { return canonical_[spec]; }

private:
    std::size_t indexOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model_.tensors.data()); }

    const Model& model_;
    const Latencies* of_;
    std::vector<std::string> canonical_; ///< of each spec of the options
    std::vector<bool> isMatrix_;         ///< by index of the tensor: it is a product
};

} // namespace qs::plan
