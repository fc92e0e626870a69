// SPDX-License-Identifier: GPL-3.0-or-later
// The error of a layer's own output, on the inputs that the text gives it in the network of the stored weights.
#include "core/eval/sensitivity/measures.h"
#include "core/quant/encode/quantizer.h"
#include "core/value/product.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// Sums over the tokens of one chunk, E = V - W.
struct ChunkPower {
    double error = 0, output = 0;                 ///< ||X E^T||^2, ||X W^T||^2
    double weightedError = 0, weightedOutput = 0; ///< sum over rows and columns of x_j^2 E_ij^2, and of x_j^2 W_ij^2
};
constexpr std::size_t kPowers = 4;

/// A unit under a spec.
struct Cell {
    std::vector<ChunkPower> chunks;
    std::string reason;
    std::size_t missing = 0; ///< matrices that are not added yet
    bool isKnown = false;    ///< it was kept
};

/// sum(over) / sum(under), with its error by chunk (CR1 of the linearized ratio).
std::optional<Estimate> ratioOf(const std::vector<ChunkPower>& chunks, double ChunkPower::*over,
                                double ChunkPower::*under) {
    double above = 0, below = 0, squares = 0;
    for (const ChunkPower& chunk : chunks) above += chunk.*over, below += chunk.*under;
    if (!(below > 0) || !std::isfinite(above) || !std::isfinite(below)) return {};
    Estimate out{above / below, {}, {}};
    for (const ChunkPower& chunk : chunks) squares += std::pow(chunk.*over - out.mean * chunk.*under, 2);
    const auto groups = double(chunks.size());
    if (chunks.size() > 1) out.byChunk = std::sqrt(squares * groups / (groups - 1)) / below;
    return out;
}

/// Inputs of the matrices of one layer by the role under which a tap sees them: [tokens, width], the text in order.
using Inputs = std::map<WeightRole, std::vector<float>>;

class OutputMeasure {
public:
    OutputMeasure(SensitivityRun& run, const Job& job)
        : run_(run), job_(job), specs_(run.plan().specs), cells_(run.units().size() * specs_.size()),
          chunks_(run.scored().chunks) {}

    Result<void> operator()() {
        for (std::size_t u = 0; u < run_.units().size(); ++u)
            for (std::size_t s = 0; s < specs_.size(); ++s)
                if (auto done = prepare(u, s); !done) return done;
        auto states = run_.start(job_);
        if (!states) return tl::unexpected(states.error());
        const std::size_t layers = lastLayer();
        for (std::size_t layer = 0; layer < layers; ++layer) {
            job_.progress({double(layer), double(layers), "Collecting inputs of layers", layer + 1, layers});
            const auto loaded = run_.weights().layer(layer, nullptr, job_);
            if (!loaded) return tl::unexpected(loaded.error());
            Inputs inputs;
            const InputTap tap = [&](WeightRole role, std::span<const float> x) {
                inputs[role].insert(inputs[role].end(), x.begin(), x.end());
            };
            if (auto done = states->pass(*loaded, run_.network().layers[layer], job_, tap); !done) return done;
            if (auto done = measureLayer(layer, inputs); !done) return done;
        }
        return {};
    }

private:
    Cell& cell(std::size_t unit, std::size_t spec) { return cells_[unit * specs_.size() + spec]; }

    std::string keyOf(std::size_t unit, std::size_t spec) const {
        return "output " + run_.quantized(run_.units()[unit], specs_[spec]).key;
    }

    Result<void> prepare(std::size_t u, std::size_t s) {
        Cell& one = cell(u, s);
        one.missing = run_.units()[u].matrices.size();
        one.chunks.resize(chunks_);
        const auto numbers = run_.records().find(keyOf(u, s));
        if (!numbers || numbers->size() != kPowers * chunks_) return {};
        for (std::size_t c = 0; c < chunks_; ++c) {
            const double* n = numbers->data() + c * kPowers;
            one.chunks[c] = {n[0], n[1], n[2], n[3]};
        }
        one.isKnown = true;
        return finish(u, s);
    }

    /// One beyond the last layer with a matrix that must be measured.
    std::size_t lastLayer() {
        std::size_t out = 0;
        for (std::size_t u = 0; u < run_.units().size(); ++u)
            for (std::size_t s = 0; s < specs_.size(); ++s)
                if (!cell(u, s).isKnown) out = std::max(out, *run_.units()[u].layers().rbegin() + 1);
        return out;
    }

    Result<void> measureLayer(std::size_t layer, const Inputs& inputs) {
        for (std::size_t u = 0; u < run_.units().size(); ++u)
            for (const LayerMatrix& matrix : run_.units()[u].matrices)
                for (std::size_t s = 0; s < specs_.size() && matrix.layer == layer; ++s) {
                    Cell& one = cell(u, s);
                    if (one.isKnown) continue;
                    const auto seen = inputs.find(inputsOf(matrix.role));
                    auto added = seen == inputs.end() ? fail("The inputs of experts are not measured.")
                                                      : add(matrix, seen->second, specs_[s], one.chunks);
                    if (!added && added.error().cancelled) return added;
                    if (!added && one.reason.empty()) one.reason = added.error().sentence();
                    if (--one.missing > 0) continue;
                    if (auto done = finish(u, s); !done) return done;
                }
        return {};
    }

    Result<void> add(const LayerMatrix& matrix, const std::vector<float>& x, const QuantSpec& spec,
                     std::vector<ChunkPower>& into) {
        const TensorInfo& info = *matrix.tensor;
        const auto view = run_.model().view(info);
        if (!view) return tl::unexpected(view.error());
        auto changed = quantizedAs(spec).values(info, *view, job_);
        if (!changed) return tl::unexpected(changed.error());
        std::vector<float> w(info.elements), &error = *changed;
        loadF32(*view, 0, w.size(), w.data());
        for (std::size_t i = 0; i < w.size(); ++i) error[i] -= w[i];
        const auto inputs = std::size_t(matrix.inputsFirst ? info.shape.front() : info.shape.back());
        const std::size_t outputs = w.size() / inputs, tokens = x.size() / inputs;
        const std::size_t context = std::min(run_.plan().context, tokens);
        const auto columnsOf = [&](const std::vector<float>& matrixValues) { // sum over outputs of squares
            std::vector<double> out(inputs);
            for (std::size_t i = 0; i < matrixValues.size(); ++i)
                out[matrix.inputsFirst ? i / outputs : i % inputs] += double(matrixValues[i]) * double(matrixValues[i]);
            return out;
        };
        const std::vector<double> errorColumns = columnsOf(error), columns = columnsOf(w);
        value::PreparedProduct lost(error.data(), context, outputs, inputs, matrix.inputsFirst),
            whole(w.data(), context, outputs, inputs, matrix.inputsFirst);
        std::vector<float> rows(context * inputs), y(context * outputs);
        for (std::size_t begin = 0, c = 0; begin < tokens; begin += context, ++c) {
            const std::size_t count = std::min(context, tokens - begin);
            std::fill(std::copy_n(x.begin() + std::ptrdiff_t(begin * inputs), count * inputs, rows.begin()), rows.end(),
                      0.0f);
            if (!lost.run(rows.data(), y.data(), job_)) return cancelledError();
            for (const float value : y) into[c].error += double(value) * double(value);
            if (!whole.run(rows.data(), y.data(), job_)) return cancelledError();
            for (const float value : y) into[c].output += double(value) * double(value);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const double square = double(rows[i]) * double(rows[i]);
                into[c].weightedError += square * errorColumns[i % inputs];
                into[c].weightedOutput += square * columns[i % inputs];
            }
        }
        return {};
    }

    Result<void> finish(std::size_t u, std::size_t s) {
        Cell& one = cell(u, s);
        SensitivityRow row = run_.rowOf(run_.units()[u], &specs_[s]);
        row.reason = one.reason;
        if (row.reason.empty()) {
            row.tokens = run_.scored().inputs;
            row.outputNmse = ratioOf(one.chunks, &ChunkPower::error, &ChunkPower::output);
            row.weightedNmse = ratioOf(one.chunks, &ChunkPower::weightedError, &ChunkPower::weightedOutput);
            if (!row.outputNmse) row.reason = "The output of the layer is 0 or not finite.";
            const auto nmse = run_.nmseOf(run_.units()[u], specs_[s], job_);
            if (!nmse) return tl::unexpected(nmse.error());
            row.nmse = *nmse;
            std::vector<double> numbers;
            for (const ChunkPower& c : one.chunks)
                numbers.insert(numbers.end(), {c.error, c.output, c.weightedError, c.weightedOutput});
            if (!one.isKnown)
                if (auto kept = run_.records().add(keyOf(u, s), numbers); !kept) return kept;
        }
        run_.put(u, s, std::move(row));
        return {};
    }

    SensitivityRun& run_;
    const Job& job_;
    const std::vector<QuantSpec>& specs_;
    std::vector<Cell> cells_;
    std::size_t chunks_;
};

} // namespace

Result<void> measureOutput(SensitivityRun& run, const Job& job) { return OutputMeasure(run, job)(); }

} // namespace qs::eval
