// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/inputs.h"

#include "core/base/text.h"
#include "core/model/gguf/imatrix.h"
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

/// NAME, or NAME without ".weight", which is how inputs are called where a module's are recorded.
const TensorInfo* inputTensor(const Model& file, const TensorInfo& layer) {
    const TensorInfo* found = file.find(layer.name);
    std::string_view name = layer.name;
    if (!found && name.ends_with(".weight")) found = file.find(name.substr(0, name.size() - 7));
    return found;
}

/// An importance matrix's part for the layer, called as in GGUF.
struct Importance {
    const TensorInfo *sums = nullptr, *counts = nullptr;
};
Importance importanceOf(const Model& file, const TensorInfo& layer) {
    for (const auto& name : {layer.name, ggufNameOf(layer.name)})
        if (const Importance found{file.find(name + ".in_sum2"), file.find(name + ".counts")};
            !name.empty() && found.sums && found.counts)
            return found;
    return {};
}

/// X^T X of the layer; null where the file has none.
const TensorInfo* gramOf(const Model& file, const TensorInfo& layer) { return file.find(layer.name + ".gram"); }

Result<std::vector<double>> loadedGram(const Model& file, const TensorInfo& gram, const TensorInfo& layer) {
    const std::int64_t k = layer.lastAxis();
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
    const bool finite = std::all_of(out.begin(), out.end(), [](double value) { return std::isfinite(value); });
    if (!finite)
        return fail(fmt::format("tensor '{}' of {} has values that are not finite", escapeForPeople(gram.name, 80),
                                escapeForPeople(file.title, 60)));
    return out;
}

/// How many inputs an X^T X was added up from.
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
    const bool usable =
        std::all_of(weights.begin(), weights.end(), [](float a) { return a >= 0 && std::isfinite(a); }) &&
        std::any_of(weights.begin(), weights.end(), [](float a) { return a > 0; });
    if (!usable)
        return fail(fmt::format("the column weights of tensor '{}' in {} are not numbers from 0 on with one above 0",
                                escapeForPeople(found.name, 80), escapeForPeople(file.title, 60)));
    return std::optional(std::move(weights));
}

/// Rows whose products of columns are those of the gram: the transposed Cholesky factor.
Result<value::Tensor> rowsOfGram(const Model& file, const TensorInfo& gram, const TensorInfo& layer) {
    auto values = loadedGram(file, gram, layer);
    if (!values) return tl::unexpected(values.error());
    const auto k = std::size_t(layer.lastAxis());
    value::Tensor out;
    out.shape = {std::int64_t(k), std::int64_t(k)};
    const std::vector<double> factor = choleskyOf(std::move(*values), k);
    out.values.assign(factor.begin(), factor.end());
    return out;
}

Result<double> sumOf(const Model& file, const TensorInfo& counts) {
    const auto view = file.view(counts);
    if (!view) return tl::unexpected(view.error());
    if (counts.dtype != DType::I32 && counts.dtype != DType::F32)
        return fail(fmt::format("tensor '{}' of {} is {}: counts are I32 or F32", escapeForPeople(counts.name, 80),
                                escapeForPeople(file.title, 60), counts.typeId()));
    double sum = 0;
    std::vector<std::byte> scratch;
    const auto bytes = view->read(0, counts.bytes, scratch);
    for (std::size_t i = 0; i < counts.elements; ++i) {
        std::int32_t whole = 0;
        float real = 0;
        std::memcpy(&whole, bytes.data() + 4 * i, 4);
        std::memcpy(&real, bytes.data() + 4 * i, 4);
        sum += counts.dtype == DType::I32 ? double(whole) : double(real);
    }
    return sum;
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

Result<value::Tensor> inputsOf(const Model* file, const TensorInfo& layer, std::int64_t most, bool asTheyWere) {
    if (!file) return value::syntheticInputs(most, layer.lastAxis(), 1);
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
    if (const TensorInfo* gram = found ? nullptr : gramOf(file, layer)) {
        const auto values = loadedGram(file, *gram, layer);
        if (!values) return tl::unexpected(values.error());
        const auto rows = rowsBehind(file, layer);
        if (!rows) return tl::unexpected(rows.error());
        const auto columns = std::size_t(layer.lastAxis());
        std::vector<float> weights(columns);
        for (std::size_t j = 0; j < columns; ++j) weights[j] = float((*values)[j * columns + j] / *rows);
        return usableWeights(file, *gram, std::move(weights));
    }
    const Importance importance = found ? Importance() : importanceOf(file, layer);
    if (importance.sums) found = importance.sums;
    if (!found) return std::optional<std::vector<float>>();
    if (auto ok = fits(file, *found, layer); !ok) return tl::unexpected(ok.error());
    auto values = loaded(file, *found);
    if (!values) return tl::unexpected(values.error());
    std::vector<float> weights;
    if (importance.sums) {
        const auto count = sumOf(file, *importance.counts);
        if (!count) return tl::unexpected(count.error());
        if (!(*count > 0))
            return fail(fmt::format("the importance matrix {} counted no inputs of tensor '{}'",
                                    escapeForPeople(file.title, 60), escapeForPeople(layer.name, 80)));
        const auto columns = std::size_t(layer.lastAxis());
        std::vector<double> sums(columns);
        for (std::size_t i = 0; i < values->values.size(); ++i) sums[i % columns] += double(values->values[i]);
        for (const double sum : sums) weights.push_back(float(sum / *count));
    } else {
        weights = found->shape.size() < 2 ? std::move(values->values) : meanSquares(*values);
    }
    return usableWeights(file, *found, std::move(weights));
}

} // namespace qs::solve
