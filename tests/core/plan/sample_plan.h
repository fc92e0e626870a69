// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What plans of the sample model are made of.

#include "core/plan/mixture.h"

#include <QtGlobal>

#include "sized_options.h"

namespace qs::plan {

/// The same object for all: requests point at its tensors.
inline std::shared_ptr<const Model> sampleModel() {
    static const auto model = openModel("resources/samples/tiny-llama");
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

inline OptionRequest requestOf(const std::shared_ptr<const Model>& model) {
    OptionRequest out{model, {}, {}, "", {}, {}};
    for (const char* spec : {"nf4:block=32", "int8", "ternary:scale=channel"}) out.specs.push_back(*parseSpec(spec));
    for (const TensorInfo& tensor : model->tensors)
        if (tensor.isWeight()) out.tensors.push_back(&tensor);
    return out;
}

inline Losses lossesOf(const OptionRequest& request) {
    const Objective& objective = objectives().front();
    auto losses = objective.measure(objective, {request.model, request.tensors, request.specs, {}}, Job());
    if (!losses) qFatal("%s", losses.error().message.c_str());
    return std::move(*losses);
}

inline Options optionsOf(const OptionRequest& request) {
    auto options = sizedOptions(request, lossesOf(request));
    if (!options) qFatal("%s", options.error().message.c_str());
    return std::move(*options);
}

} // namespace qs::plan
