// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The effect of single tensors on the output of the model. It was measured on a text (core/eval/sensitivity) or by
// another program. An analysis stores it in its rows, so that every page and report shows it beside the figures of the
// weights.

#include "core/quant/spec/spec.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace qs {

/// `error` is the standard error, if chunks of the text are independent; empty if it is not known.
struct OutputFigure {
    double mean = 0;
    std::optional<double> error = {};
};

/// What quantizing one tensor under one spec does to the output. The unit is nats per token unless a comment says
/// otherwise. Empty figures were not measured.
struct OutputEffect {
    std::optional<OutputFigure> alone;                    ///< KL with this tensor alone quantized
    std::optional<OutputFigure> saved;                    ///< KL of all quantized minus KL of all but this one
    std::optional<OutputFigure> slope;                    ///< KL per unit of NMSE of the tensor; the same for all specs
    std::optional<OutputFigure> outputNmse, weightedNmse; ///< on the layer's inputs in the text; no unit
    /// Figures from files of other programs: KL, perplexity with only this tensor quantized, the loss that GPTQ prints.
    std::optional<double> importedKl, importedPerplexity, importedLoss;

    /// Copies the figures that this object does not have from the other one.
    void complete(const OutputEffect& other);
};

class OutputEffects {
public:
    /// `spec` is canonicalText(); "" means that the figures are valid for every spec. A later figure replaces an
    /// earlier one of the same kind.
    void add(const std::string& tensor, const std::string& spec, const OutputEffect& effect);
    /// The effect of a tensor under a spec; null if it is not known.
    std::shared_ptr<const OutputEffect> of(const std::string& tensor, const QuantSpec& spec) const;
    /// Mean KL of the model with all its layers under a spec.
    void addModel(const std::string& spec, const OutputFigure& kl) { models_[spec] = kl; }
    std::optional<OutputFigure> ofModel(const QuantSpec& spec) const;
    bool empty() const { return effects_.empty() && models_.empty(); }
    const std::map<std::string, std::map<std::string, OutputEffect>>& all() const { return effects_; }

private:
    std::map<std::string, std::map<std::string, OutputEffect>> effects_; ///< by tensor, then by spec
    std::map<std::string, OutputFigure> models_;                         ///< by spec
};

} // namespace qs
