// SPDX-License-Identifier: GPL-3.0-or-later
// Writes inputs and products of inputs as safetensors, layer by layer. Only those of one layer are in memory. For X^T X
// there is besides one of each role for the present chunk.
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/eval/capture/chunk_parts.h"
#include "core/eval/capture/writers.h"
#include "core/model/safetensors/safetensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// What is kept of the inputs of a place, in one chunk or in all of them.
struct Kept {
    std::vector<float> rows;  ///< [taken, inputs]
    std::vector<double> gram; ///< [inputs, inputs], complete
    std::size_t seen = 0;     ///< rows that were seen so far
};

template<class Archive, archive::Of<Kept> T> void fieldsOf(Archive& archive, T& kept) {
    archive(kept.rows, kept.gram, kept.seen);
}

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

/// The places of the matrices. A tensor that holds the matrices of all experts has the place without an expert.
std::set<InputPlace> placesOf(const InputPass& pass) {
    std::set<InputPlace> out;
    for (const LayerMatrix& matrix : pass.matrices()) out.insert(placeOf(matrix));
    return out;
}

/// The one of `places` where the inputs of `place` belong; null: no matrix has them.
const InputPlace* placeIn(const std::set<InputPlace>& places, InputPlace place) {
    auto found = places.find(place);
    if (found == places.end()) place.expert = -1, found = places.find(place);
    return found == places.end() ? nullptr : &*found;
}

using Parts = ChunkParts<Kept>;

/// The number of inputs of each place in the whole text. If it is not known without a look at the parts, because a
/// router decides it, this takes another pass.
Result<std::map<InputPlace, std::size_t>> countRows(const InputPass& pass, const Parts& parts, const Job& job) {
    std::map<InputPlace, std::size_t> out;
    bool isKnown = true;
    for (const LayerMatrix& matrix : pass.matrices()) {
        const bool ofExperts = isOfExperts(matrix.role);
        isKnown = isKnown && matrix.expert < 0;
        out[placeOf(matrix)] =
            matrix.expert >= 0 ? 0 : pass.tokens() * std::size_t(ofExperts ? pass.network().mixture.used : 1);
    }
    if (isKnown) return out;
    const auto take = [&](const InputPlace& place, std::size_t, const Kept& part) -> Result<void> {
        const auto found = out.find(place);
        if (place.expert >= 0 && found != out.end()) found->second += part.seen;
        return {};
    };
    const auto layerDone = [](std::size_t) -> Result<void> { return {}; };
    if (auto done = parts.each(take, layerDone, job); !done) return tl::unexpected(done.error());
    return out;
}

/// Writes tensors while the parts come, in any order. `add`: adds the part of a chunk to what is kept of a place.
Result<Captured>
writeTogether(const InputPass& pass, const Parts& parts, std::vector<TensorToWrite> tensors,
              std::map<std::string, std::string> metadata, const std::string& path, const Job& job,
              const std::function<void(Kept&, const InputPlace&, const Kept& part)>& add,
              const std::function<Result<void>(const LayerMatrix&, const Kept&,
                                               const std::function<const Place&(const std::string&)>&)>& write) {
    auto together = std::make_shared<ProducedTogether>();
    std::vector<std::string> names;
    for (const TensorToWrite& tensor : tensors) names.push_back(tensor.name);
    together->produce = [&](std::span<const Place> places) {
        std::map<std::string, const Place*> byName;
        for (std::size_t i = 0; i < names.size(); ++i) byName[names[i]] = &places[i];
        std::map<InputPlace, Kept> kept; // the inputs of one layer
        const auto take = [&, known = placesOf(pass)](const InputPlace& from, std::size_t,
                                                      const Kept& part) -> Result<void> {
            if (const InputPlace* place = placeIn(known, from)) add(kept[*place], *place, part);
            return {};
        };
        const auto placeOfName = [&](const std::string& name) -> const Place& { return *byName.at(name); };
        const auto layerDone = [&](std::size_t layer) -> Result<void> {
            for (const LayerMatrix& matrix : pass.matrices())
                if (matrix.layer == layer)
                    if (auto done = write(matrix, kept[placeOf(matrix)], placeOfName); !done) return done;
            kept.clear();
            return {};
        };
        return parts.each(take, layerDone, job);
    };
    for (TensorToWrite& tensor : tensors) tensor.together = together;
    Captured out{pass.tokens(), pass.chunks(), pass.matrices().size(), 0};
    const auto bytes = writeSafetensors(path, std::move(tensors), std::move(metadata), &pass.model(), job);
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
    const auto pass = InputPass::of(model, plan);
    if (!pass) return tl::unexpected(pass.error());
    const std::size_t limit = plan.rows, tokens = pass->tokens();
    // Of a place that all tokens pass, a chunk keeps only the rows that are taken. How many tokens pass an expert is not
    // known yet.
    const auto keep = [=, &plan, known = placesOf(*pass)](Kept& part, const ChunkInputs& inputs) {
        if (!placeIn(known, inputs.place)) return; // a router
        const bool isOfAll = inputs.place.expert < 0;
        for (std::size_t begin = 0; begin < inputs.values.size(); begin += inputs.width, ++part.seen)
            if (!isOfAll || isTaken(inputs.chunk * plan.context + part.seen, tokens, limit)) {
                const auto row = inputs.values.subspan(begin, inputs.width);
                part.rows.insert(part.rows.end(), row.begin(), row.end());
            }
    };
    const auto fits = [=, &plan, known = placesOf(*pass)](const ReadPart<Kept>& read) {
        const Kept& part = read.part;
        if (!placeIn(known, read.place)) return part.rows.empty() && part.gram.empty() && part.seen == 0;
        const bool isOfAll = read.place.expert < 0;
        if (!part.gram.empty() || (isOfAll ? part.seen != read.tokens : part.seen > read.tokens)) return false;
        std::size_t rows = 0;
        for (std::size_t i = 0; i < part.seen; ++i)
            rows += !isOfAll || isTaken(read.chunk * plan.context + i, tokens, limit);
        return part.rows.size() == rows * read.width;
    };
    Parts parts(*pass, plan, fmt::format("rows {} of {}", limit, tokens), keep, fits);
    const auto writes = parts.prepare(job);
    if (!writes) return tl::unexpected(writes.error());
    if (!*writes) return Captured();
    const auto counted = countRows(*pass, parts, job);
    if (!counted) return tl::unexpected(counted.error());
    const auto taken = [&](std::size_t all) { return limit == 0 ? all : std::min(all, limit); };
    std::vector<TensorToWrite> tensors;
    for (const LayerMatrix& matrix : pass->matrices())
        tensors.push_back(toWrite(
            matrix.tensor->name, DType::F32,
            {std::int64_t(taken(counted->at(placeOf(matrix)))), std::int64_t(InputPass::inputsOfMatrix(matrix))}));
    const auto add = [&](Kept& kept, const InputPlace& place, const Kept& part) {
        const std::size_t width = part.seen == 0 ? 0 : part.rows.size() / part.seen;
        if (!isOfExperts(place.role)) {
            kept.rows.insert(kept.rows.end(), part.rows.begin(), part.rows.end());
            return;
        }
        for (std::size_t row = 0; row < part.seen; ++row, ++kept.seen)
            if (isTaken(kept.seen, counted->at(place), limit))
                kept.rows.insert(kept.rows.end(), part.rows.begin() + std::ptrdiff_t(row * width),
                                 part.rows.begin() + std::ptrdiff_t((row + 1) * width));
    };
    const auto write = [](const LayerMatrix& matrix, const Kept& kept, const auto& place) {
        return place(matrix.tensor->name)(0, bytesOf(kept.rows));
    };
    return writeTogether(*pass, parts, std::move(tensors), metadataOf(plan, *pass, "rows"), path, job, add, write);
}

Result<Captured> writeGrams(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job) {
    const auto pass = InputPass::of(model, plan);
    if (!pass) return tl::unexpected(pass.error());
    const auto keep = [known = placesOf(*pass)](Kept& part, const ChunkInputs& inputs) {
        if (!placeIn(known, inputs.place)) return; // a router
        addGram(inputs.values, inputs.width, part.gram);
        part.seen += inputs.values.size() / inputs.width;
    };
    const auto fits = [known = placesOf(*pass)](const ReadPart<Kept>& read) {
        const std::size_t width = placeIn(known, read.place) ? read.width : 0;
        return read.part.rows.empty() && read.part.gram.size() == width * width && read.part.seen <= read.tokens;
    };
    Parts parts(*pass, plan, "gram", keep, fits);
    const auto writes = parts.prepare(job);
    if (!writes) return tl::unexpected(writes.error());
    if (!*writes) return Captured();
    std::vector<TensorToWrite> tensors;
    for (const LayerMatrix& matrix : pass->matrices()) {
        const auto inputs = std::int64_t(InputPass::inputsOfMatrix(matrix));
        tensors.push_back(toWrite(matrix.tensor->name + ".gram", DType::F64, {inputs, inputs}));
        tensors.push_back(toWrite(matrix.tensor->name + ".rows", DType::I64, {1}));
    }
    const auto add = [](Kept& kept, const InputPlace&, const Kept& part) {
        kept.gram.resize(part.gram.size());
        for (std::size_t i = 0; i < kept.gram.size(); ++i) kept.gram[i] += part.gram[i];
        kept.seen += part.seen;
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
    return writeTogether(*pass, parts, std::move(tensors), metadataOf(plan, *pass, "gram"), path, job, add, write);
}

} // namespace qs::eval
