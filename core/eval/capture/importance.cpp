// SPDX-License-Identifier: GPL-3.0-or-later
// Importance matrices as llama.cpp's llama-imatrix makes them: sums of squares of the inputs of every matrix over all
// tokens of whole chunks, of every expert over the tokens that come to it. It adds in f32; here sums are f64, see capture.h,
// and are rounded once.
#include "core/base/text.h"
#include "core/eval/capture/chunk_parts.h"
#include "core/eval/capture/writers.h"
#include "core/model/gguf/imatrix_write.h"
#include "core/model/output/atomic_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// Sums of squares of the inputs of a matrix, and how many inputs there were.
struct Squares {
    std::vector<double> sums;
    double rows = 0;
    void add(std::span<const float> x, std::size_t inputs) {
        sums.resize(inputs);
        for (std::size_t i = 0; i < x.size(); ++i) sums[i % inputs] += double(x[i]) * double(x[i]);
        rows += double(x.size() / inputs);
    }
    void add(const Squares& other) {
        sums.resize(other.sums.size());
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += other.sums[i];
        rows += other.rows;
    }
};

template<class Archive, archive::Of<Squares> T> void fieldsOf(Archive& archive, T& squares) {
    archive(squares.sums, squares.rows);
}

bool fits(const ReadPart<Squares>& read) {
    const double rows = read.part.rows;
    return read.part.sums.size() == read.width && rows >= 0 && rows <= double(read.tokens) &&
           rows == std::floor(rows) && std::ranges::none_of(read.part.sums, [](double sum) { return sum < 0; });
}

using SquaresByPlace = std::map<InputPlace, Squares>;

/// The matrices of a name in GGUF files, one, or one for each expert: [matrices, inputs]. An expert that no token has
/// reached has 0.
ImatrixToWrite::Entry entryOf(const LayerMatrix& matrix, const std::string& name, const Network& network,
                              const SquaresByPlace& squares) {
    ImatrixToWrite::Entry out{name, {}, {}};
    const bool isOfMany = isOfExperts(matrix.role);
    const std::size_t inputs = InputPass::inputsOfMatrix(matrix);
    for (int i = 0; i < (isOfMany ? int(network.mixture.experts) : 1); ++i) {
        const auto found = squares.find({matrix.layer, inputsOf(matrix.role), isOfMany ? i : -1});
        out.counts.push_back(found == squares.end() ? 0 : found->second.rows);
        if (found == squares.end())
            out.sums.resize(out.sums.size() + inputs);
        else
            out.sums.insert(out.sums.end(), found->second.sums.begin(), found->second.sums.end());
    }
    return out;
}

/// The names under which llama.cpp looks for the sums of a matrix. Its files have gate and up of experts apart, unless they
/// were asked to be one; both have the same inputs.
std::vector<std::string> namesOf(const LayerMatrix& matrix) {
    const bool isStoredOtherwise = matrix.role == WeightRole::ExpertGateUp && matrix.tensor->name != matrix.gguf;
    if (!isStoredOtherwise) return {matrix.gguf};
    const std::string layer = fmt::format("blk.{}.", matrix.layer);
    return {layer + "ffn_gate_exps.weight", layer + "ffn_up_exps.weight"};
}

Result<Captured> writeImportance(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job,
                                 std::string (*render)(const ImatrixToWrite&)) {
    auto pass = InputPass::of(model, plan);
    if (!pass) return tl::unexpected(pass.error());
    std::vector<LayerMatrix> matrices = pass->matrices();
    for (LayerMatrix& router : pass->routers()) matrices.push_back(std::move(router)); // as llama-imatrix does
    for (const LayerMatrix& matrix : matrices)
        if (matrix.gguf.ends_with('.'))
            return fail(
                "This family has no names in GGUF files, so it has no importance matrix: capture to .safetensors.",
                model->path);
    ChunkParts<Squares> parts(
        *pass, plan, "squares", [](Squares& part, const ChunkInputs& inputs) { part.add(inputs.values, inputs.width); },
        fits);
    const auto writes = parts.prepare(job);
    if (!writes) return tl::unexpected(writes.error());
    if (!*writes) return Captured();
    SquaresByPlace squares;
    const auto take = [&](const InputPlace& place, std::size_t, const Squares& part) -> Result<void> {
        squares[place].add(part);
        return {};
    };
    const auto layerDone = [](std::size_t) -> Result<void> { return {}; };
    if (auto done = parts.each(take, layerDone, job); !done) return tl::unexpected(done.error());

    ImatrixToWrite out;
    out.dataset = plan.text.path, out.chunks = pass->chunks(), out.chunkSize = plan.context;
    std::map<std::string, ImatrixToWrite::Entry> byName; // sorted
    for (const LayerMatrix& matrix : matrices)
        for (const std::string& name : namesOf(matrix))
            if (!byName.contains(name)) byName.emplace(name, entryOf(matrix, name, pass->network(), squares));
    for (auto& [name, entry] : byName) out.entries.push_back(std::move(entry));
    const std::string bytes = render(out);
    if (auto fine = notAnOpenedInput(path, model.get()); !fine) return tl::unexpected(fine.error());
    if (auto done = writeWholeFile(path, bytes, plan.replace); !done) return tl::unexpected(done.error());
    return Captured{pass->tokens(), pass->chunks(), pass->matrices().size(), bytes.size()};
}

} // namespace

Result<Captured> writeImatrixGguf(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job) {
    return writeImportance(model, plan, path, job, imatrixAsGguf);
}

Result<Captured> writeImatrixDat(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job) {
    return writeImportance(model, plan, path, job, imatrixAsDat);
}

} // namespace qs::eval
