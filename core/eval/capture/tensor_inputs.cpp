// SPDX-License-Identifier: GPL-3.0-or-later
// Writes inputs and products of inputs as safetensors, layer by layer. Only those of one layer are in memory.
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
    std::size_t seen = 0;     ///< rows that were seen so far
};

/// Adds X^T X of some rows to `into`, in the order of the rows.
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

/// Values of an input, of every place that some matrix has.
std::map<InputPlace, std::size_t> widthsOf(std::span<const LayerMatrix> matrices) {
    std::map<InputPlace, std::size_t> out;
    for (const LayerMatrix& matrix : matrices) out[placeOf(matrix)] = InputPass::inputsOfMatrix(matrix);
    return out;
}

/// The number of inputs of each place in the whole text. It needs a pass, because the tokens of an expert are not
/// known.
Result<std::map<InputPlace, std::size_t>> countRows(SharedModel model, const CapturePlan& plan, const InputPass& like,
                                                    const Job& job) {
    std::map<InputPlace, std::size_t> out;
    bool isKnown = true;
    for (const LayerMatrix& matrix : like.matrices()) {
        const bool ofExperts = isOfExperts(matrix.role);
        isKnown = isKnown && matrix.expert < 0;
        out[placeOf(matrix)] =
            matrix.expert >= 0 ? 0 : like.tokens() * std::size_t(ofExperts ? like.network().mixture.used : 1);
    }
    if (isKnown) return out;
    auto pass = InputPass::of(model, plan, job);
    if (!pass) return tl::unexpected(pass.error());
    const auto sees = [&](std::size_t layer, const TappedInputs& inputs) {
        const auto found = out.find({layer, inputs.role, inputs.expert});
        if (inputs.expert >= 0 && found != out.end()) found->second += inputs.tokens.size();
    };
    if (auto done = pass->run(
            sees, [](std::size_t) -> Result<void> { return {}; }, job);
        !done)
        return tl::unexpected(done.error());
    return out;
}

/// Tensors that one forward pass writes, in any order.
Result<Captured>
writeTogether(const Model& model, InputPass& pass, std::vector<TensorToWrite> tensors,
              std::map<std::string, std::string> metadata, const std::string& path, const Job& job,
              const std::function<void(Kept&, const InputPlace&, std::size_t inputs, std::span<const float> x)>& keep,
              const std::function<Result<void>(const LayerMatrix&, const Kept&,
                                               const std::function<const Place&(const std::string&)>&)>& write) {
    auto together = std::make_shared<ProducedTogether>();
    for (const TensorToWrite& tensor : tensors) together->names.push_back(tensor.name);
    together->produce = [&, names = together->names](std::span<const Place> places) {
        std::map<std::string, const Place*> byName;
        for (std::size_t i = 0; i < names.size(); ++i) byName[names[i]] = &places[i];
        std::map<InputPlace, Kept> kept; // the inputs of one layer
        const auto sees = [&, widths = widthsOf(pass.matrices())](std::size_t layer, const TappedInputs& inputs) {
            // A tensor that holds the matrices of all experts gets the inputs of all of them.
            for (const int expert : {inputs.expert, -1})
                if (const auto width = widths.find({layer, inputs.role, expert}); width != widths.end())
                    return keep(kept[width->first], width->first, width->second, inputs.values);
        };
        const auto placeOfName = [&](const std::string& name) -> const Place& { return *byName.at(name); };
        const auto layerDone = [&](std::size_t layer) -> Result<void> {
            for (const LayerMatrix& matrix : pass.matrices())
                if (matrix.layer == layer)
                    if (auto done = write(matrix, kept[placeOf(matrix)], placeOfName); !done) return done;
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
    const auto counted = countRows(model, plan, *pass, job);
    if (!counted) return tl::unexpected(counted.error());
    const std::size_t limit = plan.rows;
    const auto taken = [&](std::size_t all) { return limit == 0 ? all : std::min(all, limit); };
    std::vector<TensorToWrite> tensors;
    for (const LayerMatrix& matrix : pass->matrices())
        tensors.push_back(toWrite(
            matrix.tensor->name, DType::F32,
            {std::int64_t(taken(counted->at(placeOf(matrix)))), std::int64_t(InputPass::inputsOfMatrix(matrix))}));
    const auto keep = [=](Kept& kept, const InputPlace& place, std::size_t inputs, std::span<const float> x) {
        for (std::size_t begin = 0; begin < x.size(); begin += inputs, ++kept.seen)
            if (isTaken(kept.seen, counted->at(place), limit)) {
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
    const auto keep = [](Kept& kept, const InputPlace&, std::size_t inputs, std::span<const float> x) {
        addGram(x, inputs, kept.gram);
        kept.seen += x.size() / inputs;
    };
    const auto write = [&](const LayerMatrix& matrix, const Kept& kept, const auto& place) -> Result<void> {
        const std::size_t inputs = InputPass::inputsOfMatrix(matrix);
        const std::vector<double> nothing(kept.gram.empty() ? inputs * inputs : 0); // for an expert that got no token
        const std::vector<std::int64_t> count = {std::int64_t(kept.seen)};
        if (auto done = place(matrix.tensor->name + ".gram")(0, bytesOf(kept.gram.empty() ? nothing : kept.gram));
            !done)
            return done;
        return place(matrix.tensor->name + ".rows")(0, bytesOf(count));
    };
    return writeTogether(*model, *pass, std::move(tensors), metadataOf(plan, *pass, "gram"), path, job, keep, write);
}

} // namespace qs::eval
