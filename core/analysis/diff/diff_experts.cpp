// SPDX-License-Identifier: GPL-3.0-or-later
// The matrices of experts, one by one, of tensors that hold several.
#include "core/analysis/diff/diff.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_set.h"

#include <algorithm>

namespace qs {
namespace {

constexpr std::int64_t kMostExperts = 4096;

/// A part of the values of a computed tensor.
class ComputedSlice final : public DerivedTensor {
public:
    ComputedSlice(std::shared_ptr<const DerivedTensor> whole, std::uint64_t begin, std::uint64_t parts)
        : whole_(std::move(whole)), begin_(begin), parts_(parts) {}
    const char* typeId() const override { return whole_->typeId(); }
    std::string description() const override { return whole_->description(); }
    std::vector<std::string> fields() const override { return whole_->fields(); }
    std::uint64_t storedBytes() const override { return whole_->storedBytes() / parts_; }
    std::span<const TensorInfo> parts() const override { return whole_->parts(); }
    void read(std::uint64_t begin, std::span<std::byte> into) const override { whole_->read(begin_ + begin, into); }
    Result<void> unchanged() const override { return whole_->unchanged(); }
    void release() const override { whole_->release(); }

private:
    std::shared_ptr<const DerivedTensor> whole_;
    std::uint64_t begin_, parts_; ///< first byte of the computed elements; slices of the whole
};

/// The number of experts whose biases the rows of a tensor are: "experts.gate_up_proj_bias", "ffn_up_exps.bias".
std::int64_t expertsOfBiases(const TensorInfo& tensor) {
    const std::string_view name = tensor.name;
    const bool isNamed =
        (name.find(".experts.") != name.npos && name.ends_with("_bias")) || name.ends_with("_exps.bias");
    return isNamed && tensor.shape.size() == 2 ? tensor.shape[0] : 0;
}

/// The same of DBRX, whose matrices of all experts stand one below the other: [experts * inner, hidden]. The router says
/// how many they are.
std::int64_t expertsOfStack(const TensorInfo& tensor, const Model& model) {
    constexpr std::string_view module = "experts.mlp.";
    const std::string_view name = tensor.name;
    const auto at = name.find(module);
    if (at == name.npos || tensor.shape.size() != 2) return 0;
    const std::string_view matrix = name.substr(at + module.size());
    if (matrix != "w1" && matrix != "v1" && matrix != "w2") return 0;
    const TensorInfo* router = model.find(std::string(name.substr(0, at)) + "router.layer.weight");
    if (!router || router->shape.size() != 2 || router->shape[0] < 1) return 0;
    return tensor.shape[0] % router->shape[0] == 0 ? router->shape[0] : 0;
}

/// The number of experts whose matrices or biases a tensor holds; 0: those of none, or of one.
std::int64_t expertsIn(const TensorInfo& tensor, const Model& model) {
    if (const std::int64_t experts = expertsOfBiases(tensor); experts > 0) return experts;
    if (tensor.role != TensorRole::Experts) return 0;
    return tensor.shape.size() == 3 ? tensor.shape[0] : expertsOfStack(tensor, model);
}

/// The number of experts that a tensor is split into; 0: it stays whole.
std::int64_t splitOf(const TensorInfo& tensor, const Model& model, const Model& other) {
    const std::int64_t experts = expertsIn(tensor, model);
    if (experts < 1 || experts > kMostExperts || tensor.elements == 0) return 0;
    const TensorInfo* same = other.find(tensor.name);
    return !same || same->shape != tensor.shape ? experts : 0;
}

void addExperts(const TensorInfo& tensor, std::int64_t experts, std::vector<TensorInfo>& into) {
    std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
    if (shape[0] == experts)
        shape.erase(shape.begin());
    else
        shape[0] /= experts;
    for (std::int64_t e = 0; e < experts; ++e) {
        TensorInfo one = tensor;
        one.name = nameOfExpert(tensor.name, e);
        one.shape = shape;
        one.elements = tensor.elements / std::uint64_t(experts), one.bytes = tensor.bytes / std::uint64_t(experts);
        one.role = TensorRole::Linear;
        if (tensor.derived)
            one.derived =
                std::make_shared<ComputedSlice>(tensor.derived, std::uint64_t(e) * one.bytes, std::uint64_t(experts));
        else
            one.offset = tensor.offset + std::uint64_t(e) * one.bytes;
        into.push_back(std::move(one));
    }
}

std::shared_ptr<const Model> withExperts(const std::shared_ptr<const Model>& model, const Model& other) {
    const auto split = [&](const TensorInfo& tensor) { return splitOf(tensor, *model, other); };
    if (std::ranges::none_of(model->tensors, [&](const TensorInfo& tensor) { return split(tensor) > 0; })) return model;
    auto out = std::make_shared<Model>(*model);
    out->tensors.clear();
    for (const TensorInfo& tensor : model->tensors) {
        const std::int64_t experts = split(tensor);
        experts > 0 ? addExperts(tensor, experts, out->tensors) : out->tensors.push_back(tensor);
    }
    sortByName(*out);
    return out;
}

} // namespace

DiffPlan diffPlan(std::shared_ptr<const Model> a, std::shared_ptr<const Model> b, std::string tensorRegex) {
    DiffPlan out{withExperts(a, *b), withExperts(b, *a), std::move(tensorRegex)};
    return out;
}

} // namespace qs
