// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/output_effects.h"

namespace qs {
namespace {

template<class Figure> void fill(std::optional<Figure>& into, const std::optional<Figure>& from) {
    if (!into) into = from;
}

} // namespace

void OutputEffect::complete(const OutputEffect& other) {
    fill(alone, other.alone), fill(saved, other.saved), fill(slope, other.slope);
    fill(outputNmse, other.outputNmse), fill(weightedNmse, other.weightedNmse);
    fill(importedKl, other.importedKl), fill(importedPerplexity, other.importedPerplexity);
    fill(importedLoss, other.importedLoss);
}

void OutputEffects::add(const std::string& tensor, const std::string& spec, const OutputEffect& effect) {
    OutputEffect& known = effects_[tensor][spec];
    OutputEffect merged = effect;
    merged.complete(known);
    known = merged;
}

std::shared_ptr<const OutputEffect> OutputEffects::of(const std::string& tensor, const QuantSpec& spec) const {
    const auto found = effects_.find(tensor);
    if (found == effects_.end()) return nullptr;
    const auto& specs = found->second;
    const auto own = specs.find(canonicalText(spec)), any = specs.find(std::string());
    if (own == specs.end() && any == specs.end()) return nullptr;
    auto out = std::make_shared<OutputEffect>(own == specs.end() ? OutputEffect() : own->second);
    if (any != specs.end()) out->complete(any->second);
    return out;
}

std::optional<OutputFigure> OutputEffects::ofModel(const QuantSpec& spec) const {
    const auto found = models_.find(canonicalText(spec));
    return found == models_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace qs
