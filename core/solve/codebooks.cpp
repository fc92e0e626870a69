// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/codebooks.h"

#include "core/base/text.h"
#include "core/quant/encode/pass.h"
#include "core/solve/inputs.h"

#include <fmt/format.h>

namespace qs::solve {
namespace {

constexpr ShareTraits kShares[] = {{Share::Tensor, "tensor", "One per tensor"},
                                   {Share::Role, "role", "One per role, in all layers"},
                                   {Share::Model, "model", "One for the model"}};

std::string groupOf(const TensorInfo& tensor, Share share) {
    if (share == Share::Tensor) return tensor.name;
    return share == Share::Role ? placeOf(tensor.name).role : std::string();
}

} // namespace

std::span<const ShareTraits> shares() { return kShares; }

Result<Codebooks> learnCodebooks(const Model& model, std::span<const TensorInfo* const> tensors, const QuantSpec& spec,
                                 Share share, const Model* activations, const Job& job) {
    Codebooks out;
    if (!isLearned(spec)) return out;
    std::map<std::string, std::vector<const TensorInfo*>> groups;
    for (const TensorInfo* tensor : tensors)
        if (checkQuantizable(*tensor) && scaleGrid(spec, *tensor)) groups[groupOf(*tensor, share)].push_back(tensor);
    bool weighted = groups.empty();
    for (const auto& [name, members] : groups) {
        std::vector<std::vector<float>> weights;
        std::vector<LearnSource> sources;
        weights.reserve(members.size()); // sources point into it
        for (const TensorInfo* tensor : members) {
            const auto view = model.view(*tensor);
            if (!view) return tl::unexpected(view.error());
            Result<std::optional<std::vector<float>>> asked = std::optional<std::vector<float>>();
            if (activations) asked = columnWeightsOf(*activations, *tensor);
            if (!asked) return tl::unexpected(asked.error());
            weighted = weighted || asked->has_value();
            weights.push_back(asked->value_or(std::vector<float>()));
            sources.push_back({*view, weights.back()});
        }
        auto learned = learnLevels(sources, spec, job);
        if (!learned) return tl::unexpected(learned.error());
        const auto levels = std::make_shared<const LearnedLevels>(std::move(*learned));
        for (const TensorInfo* tensor : members) out[tensor] = levels;
    }
    if (activations && !weighted)
        return fail(fmt::format("{} has inputs for none of the {} tensors: its tensors must have their names",
                                escapeForPeople(activations->title, 60), tensors.size()));
    return out;
}

} // namespace qs::solve
