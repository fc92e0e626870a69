// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/inputs.h"

#include "core/base/text.h"
#include "core/model/gguf/imatrix.h"
#include "core/model/output_axis.h"
#include "core/solve/cholesky.h"
#include "core/solve/problem.h"
#include "core/value/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

/// Finds NAME, or NAME without ".weight": files that record the inputs of modules use the module's name.
const TensorInfo* inputTensor(const Model& file, const TensorInfo& layer) {
    const TensorInfo* found = file.find(layer.name);
    std::string_view name = layer.name;
    if (!found && name.ends_with(".weight")) found = file.find(name.substr(0, name.size() - 7));
    return found;
}

/// The part of an importance matrix for a layer, under its name in GGUF files.
struct Importance {
    const TensorInfo *sums = nullptr, *counts = nullptr;
    int expert = -1; ///< the expert whose sums belong to the layer; -1: all experts
};
Importance importanceOf(const Model& file, const TensorInfo& layer) {
    for (const auto& place : {GgufPlace{layer.name}, ggufPlaceOf(layer.name)})
        if (const Importance found{file.find(place.name + ".in_sum2"), file.find(place.name + ".counts"), place.expert};
            !place.name.empty() && found.sums && found.counts)
            return found;
    return {};
}

/// X^T X of the layer; null if the file has none.
const TensorInfo* gramOf(const Model& file, const TensorInfo& layer) { return file.find(layer.name + ".gram"); }

Result<std::vector<double>> loadedGram(const Model& file, const TensorInfo& gram, const TensorInfo& layer) {
    const std::int64_t k = inputsOfLayer(layer);
    if (gram.dtype != DType::F64 || gram.shape.size() != 2 || gram.shape[0] != k || gram.shape[1] != k)
        return fail(fmt::format("tensor '{}' of {} is {} {}: X^T X of a layer of shape {} is F64 ({}, {})",
                                escapeForPeople(gram.name, 80), escapeForPeople(file.title, 60), gram.typeId(),
                                shapeText(gram.shape), shapeText(layer.shape), k, k));
    const auto view = file.view(gram);
    if (!view) return tl::unexpected(view.error());
    std::vector<std::byte> scratch;
    const auto bytes = view->read(0, gram.bytes, scratch);
    std::vector<double> out(gram.elements);
    std::memcpy(out.data(), bytes.data(), gram.bytes);
    if (auto same = file.unchanged(gram); !same) return tl::unexpected(same.error());
    const bool finite = std::ranges::all_of(out, [](double value) { return std::isfinite(value); });
    if (!finite)
        return fail(fmt::format("tensor '{}' of {} has values that are not finite", escapeForPeople(gram.name, 80),
                                escapeForPeople(file.title, 60)));
    return out;
}

/// The number of inputs that were added up in an X^T X.
Result<double> rowsBehind(const Model& file, const TensorInfo& layer) {
    const TensorInfo* rows = file.find(layer.name + ".rows");
    std::int64_t count = 0;
    if (rows && rows->dtype == DType::I64 && rows->elements == 1) {
        const auto view = file.view(*rows);
        if (!view) return tl::unexpected(view.error());
        view->readInto(0, std::as_writable_bytes(std::span(&count, 1)));
    }
    if (count > 0) return double(count);
    return fail(fmt::format("{} does not say with how many inputs X^T X of '{}' was made: it needs a tensor NAME.rows, "
                            "I64 (1)",
                            escapeForPeople(file.title, 60), escapeForPeople(layer.name, 80)));
}

Result<std::optional<std::vector<float>>> usableWeights(const Model& file, const TensorInfo& found,
                                                        std::vector<float> weights) {
    const bool usable = std::ranges::all_of(weights, [](float a) { return a >= 0 && std::isfinite(a); }) &&
                        std::ranges::any_of(weights, [](float a) { return a > 0; });
    if (!usable)
        return fail(fmt::format("the column weights of tensor '{}' in {} are not numbers from 0 on with one above 0",
                                escapeForPeople(found.name, 80), escapeForPeople(file.title, 60)));
    return std::optional(std::move(weights));
}

/// Rows R with R^T R = X^T X: the transposed Cholesky factor.
Result<value::Tensor> rowsOfGram(const Model& file, const TensorInfo& gram, const TensorInfo& layer) {
    auto values = loadedGram(file, gram, layer);
    if (!values) return tl::unexpected(values.error());
    const auto k = std::size_t(inputsOfLayer(layer));
    value::Tensor out;
    out.shape = {std::int64_t(k), std::int64_t(k)};
    const std::vector<double> factor = choleskyOf(std::move(*values), k);
    out.values.assign(factor.begin(), factor.end());
    return out;
}

/// The counts of all matrices.
Result<std::vector<double>> countsOf(const Model& file, const TensorInfo& counts) {
    const auto view = file.view(counts);
    if (!view) return tl::unexpected(view.error());
    if (counts.dtype != DType::I32 && counts.dtype != DType::F32)
        return fail(fmt::format("tensor '{}' of {} is {}: counts are I32 or F32", escapeForPeople(counts.name, 80),
                                escapeForPeople(file.title, 60), counts.typeId()));
    std::vector<double> out;
    std::vector<std::byte> scratch;
    const auto bytes = view->read(0, counts.bytes, scratch);
    for (std::size_t i = 0; i < counts.elements; ++i) {
        std::int32_t whole = 0;
        float real = 0;
        std::memcpy(&whole, bytes.data() + 4 * i, 4);
        std::memcpy(&real, bytes.data() + 4 * i, 4);
        out.push_back(counts.dtype == DType::I32 ? double(whole) : double(real));
    }
    return out;
}

/// Means of the squares of a layer's inputs, by column. `sums`: [matrices, columns].
Result<std::vector<float>> meansOf(const Model& file, const Importance& importance, const TensorInfo& layer,
                                   std::span<const float> sums) {
    const auto counts = countsOf(file, *importance.counts);
    if (!counts) return tl::unexpected(counts.error());
    const auto columns = std::size_t(inputsOfLayer(layer)), matrices = sums.size() / columns;
    std::size_t first = 0, end = matrices;
    if (importance.expert >= 0) {
        // Files before GGUF have one count for all experts, and means in place of sums.
        if (std::size_t(importance.expert) >= matrices || (counts->size() != matrices && counts->size() != 1))
            return fail(fmt::format("the importance matrix {} has no expert {} of tensor '{}'",
                                    escapeForPeople(file.title, 60), importance.expert,
                                    escapeForPeople(layer.name, 80)));
        first = std::size_t(importance.expert), end = first + 1;
    }
    const bool isPerMatrix = counts->size() == matrices;
    double count = 0;
    for (std::size_t i = first; i < end; ++i) count += (*counts)[isPerMatrix ? i : 0];
    if (!(count > 0) && importance.expert >= 0) return std::vector<float>(columns, 1.0f);
    if (!isPerMatrix && importance.expert < 0) count = (*counts)[0] * double(matrices);
    if (!(count > 0))
        return fail(fmt::format("the importance matrix {} counted no inputs of tensor '{}'",
                                escapeForPeople(file.title, 60), escapeForPeople(layer.name, 80)));
    std::vector<double> all(columns);
    for (std::size_t i = first * columns; i < end * columns; ++i) all[i % columns] += double(sums[i]);
    std::vector<float> out;
    for (const double sum : all) out.push_back(float(sum / count));
    return out;
}

Result<void> fits(const Model& file, const TensorInfo& found, const TensorInfo& layer) {
    if (info(found.dtype).quantizable && found.lastAxis() == inputsOfLayer(layer) && found.elements > 0) return {};
    return fail(
        fmt::format("tensor '{}' of {} is {} {} and no input of a layer of shape {}: floats with a last axis of "
                    "{} are needed",
                    escapeForPeople(found.name, 80), escapeForPeople(file.title, 60), found.typeId(),
                    shapeText(found.shape), shapeText(layer.shape), inputsOfLayer(layer)));
}

} // namespace

Result<value::Tensor> inputsOf(const Model* file, const TensorInfo& layer, bool asTheyWere) {
    constexpr std::int64_t kSyntheticRows = 512;
    if (!file) return value::syntheticInputs(kSyntheticRows, inputsOfLayer(layer), 1);
    const TensorInfo* found = inputTensor(*file, layer);
    if (const TensorInfo* gram = found ? nullptr : gramOf(*file, layer)) {
        if (!asTheyWere) return rowsOfGram(*file, *gram, layer);
        return fail(fmt::format("{} holds X^T X, and this solver needs the inputs themselves: capture them with "
                                "--what rows",
                                escapeForPeople(file->title, 60)));
    }
    if (!found && importanceOf(*file, layer).sums)
        return fail(
            fmt::format("{} is an importance matrix: it holds column weights, not the inputs that a solver needs",
                        escapeForPeople(file->title, 60)));
    if (!found)
        return fail(
            fmt::format("{} has no inputs for tensor '{}': it needs a tensor of that name with a last axis of {}",
                        escapeForPeople(file->title, 60), escapeForPeople(layer.name, 80), inputsOfLayer(layer)));
    if (auto ok = fits(*file, *found, layer); !ok) return tl::unexpected(ok.error());
    if (found->shape.size() < 2)
        return fail(fmt::format("tensor '{}' of {} holds column weights, not the inputs that a solver needs",
                                escapeForPeople(found->name, 80), escapeForPeople(file->title, 60)));
    return loaded(*file, *found);
}

Result<std::optional<std::vector<float>>> columnWeightsOf(const Model& file, const TensorInfo& layer) {
    const TensorInfo* found = inputTensor(file, layer);
    if (const TensorInfo* gram = found ? nullptr : gramOf(file, layer)) {
        const auto values = loadedGram(file, *gram, layer);
        if (!values) return tl::unexpected(values.error());
        const auto rows = rowsBehind(file, layer);
        if (!rows) return tl::unexpected(rows.error());
        const auto columns = std::size_t(inputsOfLayer(layer));
        std::vector<float> weights(columns);
        for (std::size_t j = 0; j < columns; ++j) weights[j] = float((*values)[j * columns + j] / *rows);
        return usableWeights(file, *gram, std::move(weights));
    }
    const Importance importance = found ? Importance() : importanceOf(file, layer);
    if (importance.sums) found = importance.sums;
    if (!found) return std::optional<std::vector<float>>();
    // In the older format the experts follow each other along one axis.
    const bool isStack = importance.sums && found->shape.size() == 1 && layer.shape.size() == 3 &&
                         found->elements == std::uint64_t(layer.shape.front() * inputsOfLayer(layer));
    const bool isOfMany =
        isStack || (importance.expert >= 0 && found->elements % std::uint64_t(inputsOfLayer(layer)) == 0);
    if (auto ok = isOfMany ? Result<void>() : fits(file, *found, layer); !ok) return tl::unexpected(ok.error());
    auto values = loaded(file, *found);
    if (!values) return tl::unexpected(values.error());
    std::vector<float> weights;
    if (importance.sums) {
        auto means = meansOf(file, importance, layer, values->values);
        if (!means) return tl::unexpected(means.error());
        weights = std::move(*means);
    } else {
        weights = found->shape.size() < 2 ? std::move(values->values) : meanSquares(*values);
    }
    return usableWeights(file, *found, std::move(weights));
}

} // namespace qs::solve
