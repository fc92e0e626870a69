// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/pass.h"
#include "core/session/kept_lab.h"
#include "core/session/kept_labs.h"

namespace qs {
namespace kept {
namespace {

static_assert(base64Length(kMostKeptFloats * sizeof(float)) + (8u << 20) <= kLongestKept);
constexpr int kMostSteps = 1'000'000, kMostInputs = 1 << 20;

struct TrainingKept {
    std::string tensor, spec, inputs;
    int rows = 0, steps = 0;
    double rate = 0;
    std::vector<double> losses; ///< one per step, from step 0; the rest of the curve is computed from them
    std::optional<double> weightNmse;
    std::string latent; ///< f32 values; empty if not kept
};

} // namespace

template<class Io> static void fields(Io& io, TrainingKept& all) {
    io("tensor", all.tensor);
    io("spec", all.spec);
    io("inputs", all.inputs);
    io("rows", all.rows);
    io("steps", all.steps);
    io("rate", all.rate);
    io("losses", all.losses);
    io("weight_nmse", all.weightNmse);
    io.longText("latent", all.latent);
}

} // namespace kept

std::string keptTraining(const KeptTraining& training) {
    const auto& result = training.result;
    kept::TrainingKept all{training.tensor,
                           specText(training.spec),
                           training.inputs,
                           training.rows,
                           training.steps,
                           training.rate,
                           {},
                           result.weightNmse,
                           {}};
    for (const auto& step : result.curve) all.losses.push_back(step.loss);
    if (const auto& values = result.latent.values;
        values.size() <= kMostKeptFloats && kept::areFinite(std::span(values)))
        all.latent = kept::textOfFloats(values);
    return kept::textOf(all);
}

Result<std::shared_ptr<const KeptTraining>> trainingKept(const std::string& text, const Model& model) {
    constexpr const char* what = "training is";
    auto lab = kept::readLab<kept::TrainingKept>(text, model, what);
    if (!lab) return tl::unexpected(lab.error());
    const auto damaged = [](const char* why) { return kept::damaged(what, why); };
    const auto& [all, tensor, spec] = *lab;
    if (auto fine = checkQuantizable(*tensor); !fine) return tl::unexpected(fine.error());
    if (all.steps < 1 || all.steps > kept::kMostSteps || all.rows < 1 || all.rows > kept::kMostInputs ||
        !(all.rate > 0 && all.rate <= 1) || !kept::areWords({&all.inputs}))
        return damaged("its settings");
    if (all.losses.empty() || all.losses.size() > std::size_t(all.steps) + 1) return damaged("its steps");
    auto training = std::make_shared<KeptTraining>();
    training->tensor = tensor->name, training->spec = spec, training->inputs = all.inputs;
    training->rows = all.rows, training->steps = all.steps, training->rate = all.rate;
    auto& result = training->result;
    result.spec = forTensor(training->spec, *tensor);
    for (const double loss : all.losses) {
        if (!kept::isMeasure(loss)) return damaged("a loss");
        const int step = int(result.curve.size());
        if (step == 0) result.startLoss = loss;
        if (step == 0 || loss < result.bestLoss) result.bestLoss = loss, result.bestStep = step;
        result.curve.push_back({step, loss, result.bestLoss});
    }
    result.stopped = result.curve.back().step < all.steps;
    if (!kept::isMeasure(all.weightNmse)) return damaged("the error of its weights");
    result.weightNmse = all.weightNmse;
    result.latent.shape = tensor->shape, result.latent.name = tensor->name;
    auto& values = result.latent.values;
    if (!all.latent.empty() &&
        (!kept::floatsOf(all.latent, tensor->elements, values) || !kept::areFinite(std::span<const float>(values))))
        return damaged("its weights");
    return training;
}

} // namespace qs
