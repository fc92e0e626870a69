// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Models and tensors as Python sees them.

#include "app/python/task.h"
#include "core/model/model.h"

#include <memory>
#include <mutex>
#include <string>

namespace qs::python {

/// An opened model. Its tensors are those that are stored; served() decodes what `quantize` stored in fields.
class OpenModel {
public:
    /// Any thread.
    static std::shared_ptr<OpenModel> open(const std::string& path, const std::string& convention = {});
    explicit OpenModel(std::shared_ptr<const Model> model) : opened_(std::move(model)) {}

    const std::shared_ptr<const Model>& opened() const { return opened_; }
    /// Made when it is first asked for. Any thread.
    std::shared_ptr<const Model> served(const Job& job) const;

private:
    std::shared_ptr<const Model> opened_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Model> served_;
};

/// A tensor of a model whose values are read when they are asked for.
struct LazyTensor {
    std::shared_ptr<const Model> model;
    const TensorInfo* info = nullptr;
};

void bindModel(py::module_& module);

} // namespace qs::python
