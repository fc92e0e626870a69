// SPDX-License-Identifier: GPL-3.0-or-later
// Inputs and products of inputs as safetensors, written layer by layer: one layer's are in memory.
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/eval/capture/input_pass.h"
#include "core/eval/capture/writers.h"
#include "core/model/safetensors/safetensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// What is kept of one layer's inputs under a role.
struct Kept {
    std::vector<float> rows;  ///< [taken, inputs]
    std::vector<double> gram; ///< [inputs, inputs], complete
    std::size_t seen = 0;     ///< rows that went by
};

/// X^T X of some rows is added to `into`; sums run over rows in order.
void addGram(std::span<const float> x, std::size_t inputs, std::vector<double>& into) {
    into.resize(inputs * inputs);
    const std::size_t rows = x.size() / inputs;
    parallelFor(inputs, 4, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t t = 0; t < rows; ++t)
            for (std::size_t i = begin; i < end; ++i) {
                const double a = double(x[t * inputs + i]);
                double* row = into.data() + i * inputs;
                for (std::size_t j = 0; j < inputs; ++j) row[j] += a * double(x[t * inputs + j]);
            }
    });
}

/// Row i of `count` that are spread evenly over `tokens` is taken: whether token t is one of them.
bool isTaken(std::size_t t, std::size_t tokens, std::size_t count) {
    return count == 0 || count >= tokens || t * count % tokens < count;
}

template<class T> std::span<const std::byte> bytesOf(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

std::map<std::string, std::string> metadataOf(const CapturePlan& plan, const InputPass& pass, const char* kind) {
    return {{"quantscope.capture", kind},
            {"quantscope.text_sha256", plan.text.sha256},
            {"quantscope.context", std::to_string(plan.context)},
            {"quantscope.chunks", std::to_string(pass.chunks())},
            {"quantscope.tokens", std::to_string(pass.tokens())}};
}

using Place = ProducedTogether::Place;

/// Tensors that one forward pass writes, in any order.
Result<Captured>
writeTogether(const Model& model, InputPass& pass, std::vector<TensorToWrite> tensors,
              std::map<std::string, std::string> metadata, const std::string& path, const Job& job,
              const std::function<void(Kept&, std::size_t inputs, std::span<const float> x)>& keep,
              const std::function<Result<void>(const LayerMatrix&, const Kept&,
                                               const std::function<const Place&(const std::string&)>&)>& write) {
    auto together = std::make_shared<ProducedTogether>();
    for (const TensorToWrite& tensor : tensors) together->names.push_back(tensor.name);
    together->produce = [&, names = together->names](std::span<const Place> places) {
        std::map<std::string, const Place*> byName;
        for (std::size_t i = 0; i < names.size(); ++i) byName[names[i]] = &places[i];
        std::map<std::pair<std::size_t, WeightRole>, std::size_t> widths;
        for (const LayerMatrix& matrix : pass.matrices())
            widths[{matrix.layer, inputsOf(matrix.role)}] = InputPass::inputsOfMatrix(matrix);
        std::map<WeightRole, Kept> kept;
        const auto sees = [&](std::size_t layer, WeightRole role, std::span<const float> x) {
            if (const auto width = widths.find({layer, role}); width != widths.end())
                keep(kept[role], width->second, x);
        };
        const auto placeOfName = [&](const std::string& name) -> const Place& { return *byName.at(name); };
        const auto layerDone = [&](std::size_t layer) -> Result<void> {
            for (const LayerMatrix& matrix : pass.matrices())
                if (matrix.layer == layer)
                    if (auto done = write(matrix, kept.at(inputsOf(matrix.role)), placeOfName); !done) return done;
            kept.clear();
            return {};
        };
        return pass.run(sees, layerDone, job);
    };
    for (TensorToWrite& tensor : tensors) tensor.together = together;
    Captured out{pass.tokens(), pass.chunks(), pass.matrices().size(), 0};
    const auto bytes = writeSafetensors(path, std::move(tensors), std::move(metadata), &model, job);
    if (!bytes) return tl::unexpected(bytes.error());
    out.bytes = *bytes;
    return out;
}

TensorToWrite toWrite(std::string name, DType dtype, std::vector<std::int64_t> shape) {
    TensorToWrite out;
    out.name = std::move(name), out.dtype = dtype, out.shape = shape;
    return out;
}

} // namespace

Result<Captured> writeRows(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job) {
    auto pass = InputPass::of(model, plan, job);
    if (!pass) return tl::unexpected(pass.error());
    const std::size_t tokens = pass->tokens(), limit = plan.rows;
    std::int64_t rows = 0;
    for (std::size_t t = 0; t < tokens; ++t) rows += isTaken(t, tokens, limit) ? 1 : 0;
    std::vector<TensorToWrite> tensors;
    for (const LayerMatrix& matrix : pass->matrices())
        tensors.push_back(
            toWrite(matrix.tensor->name, DType::F32, {rows, std::int64_t(InputPass::inputsOfMatrix(matrix))}));
    const auto keep = [=](Kept& kept, std::size_t inputs, std::span<const float> x) {
        for (std::size_t begin = 0; begin < x.size(); begin += inputs, ++kept.seen)
            if (isTaken(kept.seen, tokens, limit)) {
                const auto row = x.subspan(begin, inputs);
                kept.rows.insert(kept.rows.end(), row.begin(), row.end());
            }
    };
    const auto write = [](const LayerMatrix& matrix, const Kept& kept, const auto& place) {
        return place(matrix.tensor->name)(0, bytesOf(kept.rows));
    };
    return writeTogether(*model, *pass, std::move(tensors), metadataOf(plan, *pass, "rows"), path, job, keep, write);
}

Result<Captured> writeGrams(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job) {
    auto pass = InputPass::of(model, plan, job);
    if (!pass) return tl::unexpected(pass.error());
    std::vector<TensorToWrite> tensors;
    for (const LayerMatrix& matrix : pass->matrices()) {
        const auto inputs = std::int64_t(InputPass::inputsOfMatrix(matrix));
        tensors.push_back(toWrite(matrix.tensor->name + ".gram", DType::F64, {inputs, inputs}));
        tensors.push_back(toWrite(matrix.tensor->name + ".rows", DType::I64, {1}));
    }
    const auto keep = [](Kept& kept, std::size_t inputs, std::span<const float> x) { addGram(x, inputs, kept.gram); };
    const std::vector<std::int64_t> count = {std::int64_t(pass->tokens())};
    const auto write = [&](const LayerMatrix& matrix, const Kept& kept, const auto& place) -> Result<void> {
        if (auto done = place(matrix.tensor->name + ".gram")(0, bytesOf(kept.gram)); !done) return done;
        return place(matrix.tensor->name + ".rows")(0, bytesOf(count));
    };
    return writeTogether(*model, *pass, std::move(tensors), metadataOf(plan, *pass, "gram"), path, job, keep, write);
}

} // namespace qs::eval
