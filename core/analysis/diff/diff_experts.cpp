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

bool isSplit(const TensorInfo& tensor, const Model& other) {
    if (tensor.role != TensorRole::Experts || tensor.shape.size() != 3) return false;
    const std::int64_t experts = tensor.shape[0];
    if (experts < 1 || experts > kMostExperts || tensor.elements == 0) return false;
    const TensorInfo* same = other.find(tensor.name);
    return !same || same->elements != tensor.elements;
}

void addExperts(const TensorInfo& tensor, std::vector<TensorInfo>& into) {
    const std::int64_t experts = tensor.shape[0];
    for (std::int64_t e = 0; e < experts; ++e) {
        TensorInfo one = tensor;
        one.name = nameOfExpert(tensor.name, e);
        one.shape = std::vector<std::int64_t>{tensor.shape[1], tensor.shape[2]};
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
    const auto splits = [&](const TensorInfo& tensor) { return isSplit(tensor, other); };
    if (std::ranges::none_of(model->tensors, splits)) return model;
    auto out = std::make_shared<Model>(*model);
    out->tensors.clear();
    for (const TensorInfo& tensor : model->tensors)
        splits(tensor) ? addExperts(tensor, out->tensors) : out->tensors.push_back(tensor);
    sortByName(*out);
    return out;
}

} // namespace

DiffPlan diffPlan(std::shared_ptr<const Model> a, std::shared_ptr<const Model> b, std::string tensorRegex) {
    DiffPlan out{withExperts(a, *b), withExperts(b, *a), std::move(tensorRegex)};
    return out;
}

} // namespace qs
