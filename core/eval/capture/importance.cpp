// SPDX-License-Identifier: GPL-3.0-or-later
// Importance matrices as llama.cpp's llama-imatrix makes them: sums of squares of the inputs of every matrix over all
// tokens of whole chunks. It adds in f32; here sums are f64 in the order of the text and are rounded once.
#include "core/base/text.h"
#include "core/eval/capture/input_pass.h"
#include "core/eval/capture/writers.h"
#include "core/model/gguf/imatrix_write.h"
#include "core/model/output/atomic_file.h"

#include <algorithm>

namespace qs::eval {
namespace {

void addSquares(std::span<const float> x, std::size_t inputs, std::vector<double>& into) {
    into.resize(inputs);
    for (std::size_t i = 0; i < x.size(); ++i) into[i % inputs] += double(x[i]) * double(x[i]);
}

Result<Captured> writeImportance(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job,
                                 std::string (*render)(const ImatrixToWrite&)) {
    auto pass = InputPass::of(model, plan, job);
    if (!pass) return tl::unexpected(pass.error());
    for (const LayerMatrix& matrix : pass->matrices())
        if (matrix.gguf.ends_with('.'))
            return fail(
                "This family has no names in GGUF files, so it has no importance matrix: capture to .safetensors.",
                model->path);
    std::map<std::pair<std::size_t, WeightRole>, std::size_t> widths;
    for (const LayerMatrix& matrix : pass->matrices())
        widths[{matrix.layer, inputsOf(matrix.role)}] = InputPass::inputsOfMatrix(matrix);
    std::map<std::pair<std::size_t, WeightRole>, std::vector<double>> sums;
    const auto sees = [&](std::size_t layer, WeightRole role, std::span<const float> x) {
        if (const auto width = widths.find({layer, role}); width != widths.end())
            addSquares(x, width->second, sums[width->first]);
    };
    const auto layerDone = [](std::size_t) -> Result<void> { return {}; };
    if (auto done = pass->run(sees, layerDone, job); !done) return tl::unexpected(done.error());

    ImatrixToWrite out;
    out.dataset = plan.text.path, out.chunks = pass->chunks(), out.chunkSize = plan.context;
    for (const LayerMatrix& matrix : pass->matrices())
        out.entries.push_back({matrix.gguf, sums.at({matrix.layer, inputsOf(matrix.role)}), {double(pass->tokens())}});
    std::sort(out.entries.begin(), out.entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const std::string bytes = render(out);
    if (auto fine = notAnOpenedInput(path, model.get()); !fine) return tl::unexpected(fine.error());
    if (auto done = writeWholeFile(path, bytes); !done) return tl::unexpected(done.error());
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
