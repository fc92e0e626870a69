// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which specs the kernels of a backend take for the matrices of a model. The backend is asked, nothing is run.

#include "core/bench/backend/capabilities.h"

#include <map>
#include <tuple>

namespace qs::plan {

struct Target {
    std::string backend;
    std::int64_t m = 1; ///< rows of x that were asked about
    std::vector<QuantSpec> specs;
    /// By N, K and canonicalText(): why the backend does not take it; "": it does.
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::string> answers;
    /// "": it does, or it was not asked about such a tensor, which is no product.
    std::string whyNot(const TensorInfo& tensor, const std::string& canonical) const;
};

struct TargetRequest {
    BackendSource source;
    std::shared_ptr<const Model> model;
    std::vector<QuantSpec> specs;
    std::int64_t m = 1;
    OpenBackend open; ///< as BenchmarkPlan::open
};
/// Errors: cancelled, a model without a product, a backend that cannot be opened.
Result<Target> askTarget(const TargetRequest& request, const Job& job);

} // namespace qs::plan
