// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/inputs.h"

#include "core/base/text.h"
#include "core/solve/problem.h"
#include "core/value/synthetic.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::solve {
namespace {

Result<value::Tensor> loaded(const Model& file, const TensorInfo& tensor) {
    const auto view = file.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto values = value::loadTensor(*view);
    if (!values) return values;
    const std::int64_t last = tensor.lastAxis();
    values->shape = {last ? std::int64_t(tensor.elements) / last : 0, last};
    return values;
}

/// NAME, or NAME without ".weight", which is how inputs are called where a module's are recorded.
const TensorInfo* inputTensor(const Model& file, const TensorInfo& layer) {
    const TensorInfo* found = file.find(layer.name);
    std::string_view name = layer.name;
    if (!found && name.ends_with(".weight")) found = file.find(name.substr(0, name.size() - 7));
    return found;
}

Result<void> fits(const Model& file, const TensorInfo& found, const TensorInfo& layer) {
    if (info(found.dtype).quantizable && found.lastAxis() == layer.lastAxis() && found.elements > 0) return {};
    return fail(
        fmt::format("tensor '{}' of {} is {} {} and no input of a layer of shape {}: floats with a last axis of "
                    "{} are needed",
                    escapeForPeople(found.name, 80), escapeForPeople(file.title, 60), found.typeId(),
                    shapeText(found.shape), shapeText(layer.shape), layer.lastAxis()));
}

} // namespace

Result<value::Tensor> inputsOf(const Model* file, const TensorInfo& layer, std::int64_t most) {
    if (!file) return value::syntheticInputs(most, layer.lastAxis(), 1);
    const TensorInfo* found = inputTensor(*file, layer);
    if (!found)
        return fail(
            fmt::format("{} has no inputs for tensor '{}': it needs a tensor of that name with a last axis of {}",
                        escapeForPeople(file->title, 60), escapeForPeople(layer.name, 80), layer.lastAxis()));
    if (auto ok = fits(*file, *found, layer); !ok) return tl::unexpected(ok.error());
    if (found->shape.size() < 2)
        return fail(fmt::format("tensor '{}' of {} holds column weights, not the inputs that a solver needs",
                                escapeForPeople(found->name, 80), escapeForPeople(file->title, 60)));
    auto values = loaded(*file, *found);
    if (!values) return values;
    const std::int64_t kept = std::min(most, values->shape[0]);
    values->values.resize(std::size_t(kept * values->shape[1]));
    values->shape[0] = kept;
    return values;
}

Result<std::optional<std::vector<float>>> columnWeightsOf(const Model& file, const TensorInfo& layer) {
    const TensorInfo* found = inputTensor(file, layer);
    if (!found) return std::optional<std::vector<float>>();
    if (auto ok = fits(file, *found, layer); !ok) return tl::unexpected(ok.error());
    auto values = loaded(file, *found);
    if (!values) return tl::unexpected(values.error());
    auto weights = found->shape.size() < 2 ? std::move(values->values) : meanSquares(*values);
    const bool usable =
        std::all_of(weights.begin(), weights.end(), [](float a) { return a >= 0 && std::isfinite(a); }) &&
        std::any_of(weights.begin(), weights.end(), [](float a) { return a > 0; });
    if (!usable)
        return fail(fmt::format("the column weights of tensor '{}' in {} are not numbers from 0 on with one above 0",
                                escapeForPeople(found->name, 80), escapeForPeople(file.title, 60)));
    return std::optional(std::move(weights));
}

} // namespace qs::solve
