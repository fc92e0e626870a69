// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/stacked_experts.h"

#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_set.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace qs {
namespace {

/// Networks of whose experts mlx_lm stacks the plain weights alone. `takesStacks`: it loads what was stacked before.
struct PlainStacks {
    std::string_view network; ///< model_type
    bool takesStacks;
};
constexpr PlainStacks kPlainStacks[] = {{"bailing_moe_v3", false}, {"ernie4_5_moe", false}, {"jamba", false},
                                        {"kimi_linear", false},    {"lfm2_moe", false},     {"mellum", false},
                                        {"minimax", false},        {"nemotron_h", false},   {"qwen3_moe", true},
                                        {"qwen3_next", false}};

constexpr std::string_view kExperts = ".experts.", kStack = ".switch_mlp.";

/// Tensors of one shape and dtype, one after another.
class StackedTensor final : public DerivedTensor {
public:
    StackedTensor(const Model& model, std::vector<TensorView> views) : model_(&model), views_(std::move(views)) {}

    const char* typeId() const override { return views_.front().info->typeId(); }
    std::string description() const override { return fmt::format("{} experts in one tensor", views_.size()); }
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override {
        std::uint64_t sum = 0;
        for (const TensorView& view : views_) sum += qs::storedBytes(*view.info);
        return sum;
    }
    void read(std::uint64_t begin, std::span<std::byte> into) const override {
        const std::uint64_t each = views_.front().info->bytes;
        while (!into.empty()) {
            const std::uint64_t from = begin % each;
            const auto n = std::size_t(std::min<std::uint64_t>(into.size(), each - from));
            views_[std::size_t(begin / each)].readInto(from, into.first(n));
            begin += n, into = into.subspan(n);
        }
    }
    Result<void> unchanged() const override {
        for (const TensorView& view : views_)
            if (auto same = model_->unchanged(*view.info); !same) return same;
        return {};
    }

private:
    const Model* model_;
    std::vector<TensorView> views_;
};

/// The experts of a stack, by number.
struct Stack {
    std::map<std::uint64_t, const TensorInfo*> experts;
    std::shared_ptr<const QuantSpec> spec; ///< of those that are taken
    std::size_t taken = 0;
    bool isOne = true; ///< all taken ones have the same spec
};

struct ExpertName {
    std::string stack; ///< "layers.0.mlp.switch_mlp.up_proj.weight"
    std::uint64_t number = 0;
};
ExpertName expertNameOf(std::string_view name) {
    const auto at = name.find(kExperts);
    const std::string_view rest = name.substr(at + kExperts.size());
    ExpertName out;
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), out.number);
    if (bad != std::errc()) return {};
    out.stack = std::string(name.substr(0, at)) + std::string(kStack) +
                std::string(rest.substr(std::size_t(end - rest.data()) + 1));
    return out;
}

std::map<std::string, Stack> stacksOf(const Model& model, std::span<const TakenTensor> taken) {
    std::map<std::string, Stack> stacks;
    for (const TensorInfo& tensor : model.tensors)
        if (isExpertMatrix(tensor.name) && tensor.shape.size() == 2)
            if (auto [stack, number] = expertNameOf(tensor.name); !stack.empty())
                stacks[std::move(stack)].experts[number] = &tensor;
    for (const TakenTensor& one : taken) {
        if (!isExpertMatrix(one.tensor->name)) continue;
        Stack& stack = stacks[expertNameOf(one.tensor->name).stack];
        stack.isOne = stack.isOne && (!stack.spec || *stack.spec == one.spec());
        stack.spec = one.shared, ++stack.taken;
    }
    return stacks;
}

Result<void> checkStack(const std::string& name, const Stack& stack) {
    if (stack.experts.empty()) // too large a number, or an expert with more than two axes
        return fail(
            "an expert has no number that mlx_lm could stack it by: --spec 'experts=keep' leaves experts as they "
            "are");
    const TensorInfo& first = *stack.experts.begin()->second;
    const bool isWhole = stack.taken == stack.experts.size() && stack.isOne &&
                         std::ranges::all_of(stack.experts, [&](const auto& expert) {
                             return expert.second->shape == first.shape && expert.second->dtype == first.dtype;
                         });
    if (isWhole) return {};
    return fail(fmt::format("mlx_lm has the experts of a layer in one tensor, here '{}': give all of them one spec",
                            escapeForPeople(name, 80)));
}

Result<TensorInfo> stackInfo(const Model& model, const std::string& name, const Stack& stack) {
    std::vector<TensorView> views;
    for (const auto& [number, expert] : stack.experts) {
        auto view = model.view(*expert);
        if (!view) return tl::unexpected(view.error());
        views.push_back(*view);
    }
    const TensorInfo& first = *stack.experts.begin()->second;
    const auto count = std::int64_t(views.size());
    TensorInfo out = first;
    out.name = name;
    out.shape = std::vector<std::int64_t>{count, first.shape[0], first.shape[1]};
    out.elements = first.elements * std::uint64_t(count), out.bytes = first.bytes * std::uint64_t(count);
    out.offset = 0, out.role = TensorRole::Experts;
    out.derived = std::make_shared<StackedTensor>(model, std::move(views));
    return out;
}

} // namespace

bool isSwitchStack(const TensorInfo& tensor) {
    return tensor.role == TensorRole::Experts && tensor.shape.size() == 3 &&
           std::string_view(tensor.name).find(kStack) != std::string_view::npos;
}

Result<std::shared_ptr<const Model>> stackedExperts(const Model& model, std::vector<TakenTensor>& taken) {
    const std::string type = readCheckpointConfig(model).modelType;
    const auto row = std::ranges::find(kPlainStacks, std::string_view(type), &PlainStacks::network);
    const bool hasExperts =
        std::ranges::any_of(taken, [](const TakenTensor& one) { return isExpertMatrix(one.tensor->name); });
    if (row == std::end(kPlainStacks) || !hasExperts) return std::shared_ptr<const Model>();
    if (!row->takesStacks)
        return fail(fmt::format("mlx_lm loads experts of {} that are not quantized alone: --spec 'experts=keep' leaves "
                                "them as they are",
                                type));
    auto stacks = stacksOf(model, taken);
    std::erase_if(stacks, [](const auto& one) { return one.second.taken == 0; });
    std::unordered_map<std::string, std::shared_ptr<const QuantSpec>> specs;
    for (const TakenTensor& one : taken)
        if (!isExpertMatrix(one.tensor->name)) specs.emplace(one.tensor->name, one.shared);
    auto out = std::make_shared<Model>(model);
    std::erase_if(out->tensors, [&](const TensorInfo& tensor) {
        return isExpertMatrix(tensor.name) && stacks.contains(expertNameOf(tensor.name).stack);
    });
    for (const auto& [name, stack] : stacks) {
        if (auto whole = checkStack(name, stack); !whole) return tl::unexpected(whole.error());
        auto info = stackInfo(model, name, stack);
        if (!info) return tl::unexpected(info.error());
        out->tensors.push_back(std::move(*info));
        specs.emplace(name, stack.spec);
    }
    sortByName(*out);
    taken.clear();
    for (const TensorInfo& tensor : out->tensors)
        if (const auto spec = specs.find(std::string(tensor.name)); spec != specs.end())
            taken.push_back({&tensor, spec->second});
    return std::shared_ptr<const Model>(std::move(out));
}

} // namespace qs
