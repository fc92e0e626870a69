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
    bool isLeftOut = false;  ///< another process measures it
    bool isOpen() const { return !isKnown && !isLeftOut; }
};

template<class Archive, archive::Of<ChunkPower> T> void fieldsOf(Archive& archive, T& power) {
    archive(power.error, power.output, power.weightedError, power.weightedOutput);
}

template<class Archive, archive::Of<Cell> T> void fieldsOf(Archive& archive, T& cell) {
    archive(cell.chunks, cell.reason);
}

/// True if sums that were read can be those of chunks.
bool areSums(const std::vector<ChunkPower>& chunks, std::size_t count) {
    return chunks.size() == count && std::ranges::none_of(chunks, [](const ChunkPower& c) {
               return c.error < 0 || c.output < 0 || c.weightedError < 0 || c.weightedOutput < 0;
           });
}

/// sum(over) / sum(under), with its error by chunk (CR1 of the linearized ratio). Chunks without a token of an expert
/// say nothing about it.
std::optional<Estimate> ratioOf(const std::vector<ChunkPower>& chunks, double ChunkPower::*over,
                                double ChunkPower::*under) {
    double above = 0, below = 0, squares = 0, groups = 0;
    for (const ChunkPower& chunk : chunks) above += chunk.*over, below += chunk.*under, groups += chunk.*under > 0;
    if (!(below > 0) || !std::isfinite(above) || !std::isfinite(below)) return {};
    Estimate out{above / below, {}, {}};
    for (const ChunkPower& chunk : chunks) squares += std::pow(chunk.*over - out.mean * chunk.*under, 2);
    if (groups > 1) out.byChunk = std::sqrt(squares * groups / (groups - 1)) / below;
    return out;
}

/// Inputs of a matrix over the whole text, in its order.
struct SeenInputs {
    std::vector<float> values;       ///< [rows, width]
    std::vector<std::size_t> tokens; ///< for an expert: the token of each row; else row r is token r
};
/// The inputs of the matrices of one layer, by the role that the tap reports and by expert (-1: no expert).
class SeenByLayer {
public:
    void take(const TappedInputs& inputs, std::size_t hidden) {
        if (inputs.role == WeightRole::Router) before_ = routed_, routed_ += inputs.values.size() / hidden;
        SeenInputs& seen = all_[{inputs.role, inputs.expert}];
        seen.values.insert(seen.values.end(), inputs.values.begin(), inputs.values.end());
        for (const Routed& one : inputs.tokens) seen.tokens.push_back(before_ + one.token);
    }
    /// Null if no inputs have arrived.
    const SeenInputs* of(WeightRole role, int expert) const {
        const auto found = all_.find({inputsOf(role), expert});
        return found == all_.end() ? nullptr : &found->second;
    }

private:
    std::map<std::pair<WeightRole, int>, SeenInputs> all_;
    std::size_t routed_ = 0, before_ = 0; ///< tokens that the router has seen, and those before its last call
};

class OutputMeasure {
public:
    OutputMeasure(SensitivityRun& run, const Job& job)
        : run_(run), job_(job), specs_(run.plan().specs), cells_(run.units().size() * specs_.size()),
          chunks_(run.scored().chunks) {}

    Result<void> operator()() {
        double total = 0;
        for (const Unit& unit : run_.units()) total += double(unit.values()) * double(specs_.size());
        if (run_.plan().units) run_.plan().units->begin(total);
        for (std::size_t u = 0; u < run_.units().size(); ++u)
            for (std::size_t s = 0; s < specs_.size(); ++s)
                if (auto done = prepare(u, s); !done) return done;
        auto states = run_.start(job_);
        if (!states) return tl::unexpected(states.error());
        const std::size_t layers = lastLayer();
        for (std::size_t layer = 0; layer < layers; ++layer) {
            job_.progress({double(layer), double(layers), "Collecting inputs of layers", layer + 1, layers});
            auto loaded = run_.weights().layer(layer, nullptr, job_);
            if (!loaded) return tl::unexpected(loaded.error());
            SeenByLayer inputs;
            const auto hidden = std::size_t(run_.network().hidden);
            const InputTap tap = [&](const TappedInputs& seen) { inputs.take(seen, hidden); };
            if (auto done = states->pass(std::move(*loaded), run_.network().layers[layer], job_, tap); !done)
                return done;
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
        const Unit& unit = run_.units()[u];
        UnitRun* units = run_.plan().units;
        const bool isMine = !units || units->takes(double(unit.values()));
        const auto fits = [&](const Cell& read) { return areSums(read.chunks, chunks_); };
        if (auto known = units ? units->find<Cell>(run_.known().unitKey(keyOf(u, s)), fits) : std::nullopt) {
            one = std::move(*known), one.isKnown = true;
            return put(u, s);
        }
        if (std::ranges::any_of(unit.matrices, [](const LayerMatrix& matrix) { return matrix.isOutside(); })) {
            one.reason =
                "Only matrices of layers have inputs here: measure the embedding and the head alone, spared or "
                "by slope.";
            one.isKnown = true;
            return put(u, s);
        }
        if (one.reason = run_.whyKept(unit, specs_[s]); !one.reason.empty()) {
            one.isKnown = true;
            return put(u, s);
        }
        one.missing = unit.matrices.size();
        one.chunks.resize(chunks_);
        if (!isMine) {
            one.isLeftOut = true;
            units->leaveOut("the output of " + run_.quantized(unit, specs_[s]).name);
            return {};
        }
        const auto numbers = run_.known().records().find(keyOf(u, s));
        if (!numbers || numbers->size() != kPowers * chunks_) return {};
        for (std::size_t c = 0; c < chunks_; ++c) {
            const double* n = numbers->data() + c * kPowers;
            one.chunks[c] = {n[0], n[1], n[2], n[3]};
        }
        if (!areSums(one.chunks, chunks_)) {
            one.chunks.assign(chunks_, {});
            return {};
        }
        one.isKnown = true;
        return finish(u, s);
    }

    /// One beyond the last layer with a matrix that must be measured.
    std::size_t lastLayer() {
        std::size_t out = 0;
        for (std::size_t u = 0; u < run_.units().size(); ++u)
            for (std::size_t s = 0; s < specs_.size(); ++s)
                if (cell(u, s).isOpen()) out = std::max(out, *run_.units()[u].layers().rbegin() + 1);
        return out;
    }

    Result<void> measureLayer(std::size_t layer, const SeenByLayer& inputs) {
        for (std::size_t u = 0; u < run_.units().size(); ++u)
            for (const LayerMatrix& matrix : run_.units()[u].matrices)
                for (std::size_t s = 0; s < specs_.size() && matrix.layer == layer; ++s) {
                    Cell& one = cell(u, s);
                    if (!one.isOpen()) continue;
                    auto added = add(matrix, inputs, specs_[s], one.chunks);
                    if (!added && added.error().cancelled) return added;
                    if (!added && one.reason.empty()) one.reason = added.error().sentence();
                    if (--one.missing > 0) continue;
                    if (auto done = finish(u, s); !done) return done;
                }
        return {};
    }

    /// Adds the sums of a matrix. If a tensor holds all experts, adds for each expert the sums over its own tokens.
    Result<void> add(const LayerMatrix& matrix, const SeenByLayer& inputs, const QuantSpec& spec,
                     std::vector<ChunkPower>& into) {
        const TensorInfo& info = *matrix.tensor;
        const SpecScope& scope = run_.scopeOf(spec);
        if (!scope.covers(info)) return {};
        const auto view = run_.model().view(info);
        if (!view) return tl::unexpected(view.error());
        auto changed = quantizedAs(spec, {.layout = scope.layout}).values(info, *view, job_);
        if (!changed) return tl::unexpected(changed.error());
        std::vector<float> w(info.elements), &error = *changed;
        loadF32(*view, 0, w.size(), w.data());
        for (std::size_t i = 0; i < w.size(); ++i) error[i] -= w[i];
        const bool isOfAll = info.shape.size() == 3;
        const std::size_t experts = isOfAll ? std::size_t(info.shape.front()) : 1, size = w.size() / experts;
        for (std::size_t e = 0; e < experts; ++e) {
            const SeenInputs* seen = inputs.of(matrix.role, isOfAll ? int(e) : matrix.expert);
            if (!seen && isOfAll) continue; // no token goes through this expert
            if (!seen) return fail("No token of the text goes through this expert.");
            const auto part = [&](const std::vector<float>& values) {
                return std::span(values).subspan(e * size, size);
            };
            if (auto done = addOne(matrix, part(w), part(error), *seen, into); !done) return done;
        }
        return {};
    }

    Result<void> addOne(const LayerMatrix& matrix, std::span<const float> w, std::span<const float> error,
                        const SeenInputs& seen, std::vector<ChunkPower>& into) {
        const TensorShape& shape = matrix.tensor->shape;
        const auto inputs = std::size_t(matrix.inputsFirst ? shape.front() : shape.back());
        const std::vector<float>& x = seen.values;
        const std::size_t outputs = w.size() / inputs, count = x.size() / inputs;
        const std::size_t context = std::min(run_.plan().context, count);
        const auto columnsOf = [&](std::span<const float> values) { // sum over outputs of squares
            std::vector<double> out(inputs);
            for (std::size_t i = 0; i < values.size(); ++i)
                out[matrix.inputsFirst ? i / outputs : i % inputs] += double(values[i]) * double(values[i]);
            return out;
        };
        const std::vector<double> errorColumns = columnsOf(error), columns = columnsOf(w);
        value::PreparedProduct lost(error.data(), context, outputs, inputs, matrix.inputsFirst),
            whole(w.data(), context, outputs, inputs, matrix.inputsFirst);
        const auto chunkOf = [&](std::size_t row) {
            return (seen.tokens.empty() ? row : seen.tokens[row]) / run_.plan().context;
        };
        std::vector<float> rows(context * inputs), y(context * outputs);
        for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
            const std::size_t c = chunkOf(begin); // one product for the rows of each chunk
            while (end < count && end - begin < context && chunkOf(end) == c) ++end;
            std::fill(std::copy(x.begin() + std::ptrdiff_t(begin * inputs), x.begin() + std::ptrdiff_t(end * inputs),
                                rows.begin()),
                      rows.end(), 0.0f);
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

    /// Keeps what is measured or was found in the cache.
    Result<void> finish(std::size_t u, std::size_t s) {
        const Cell& one = cell(u, s);
        if (UnitRun* units = run_.plan().units)
            if (auto kept = units->keep(run_.known().unitKey(keyOf(u, s)), one); !kept) return kept;
        if (one.reason.empty() && !one.isKnown) {
            std::vector<double> numbers;
            for (const ChunkPower& c : one.chunks)
                numbers.insert(numbers.end(), {c.error, c.output, c.weightedError, c.weightedOutput});
            if (auto kept = run_.known().records().add(keyOf(u, s), numbers); !kept) return kept;
        }
        return put(u, s);
    }

    Result<void> put(std::size_t u, std::size_t s) {
        const Cell& one = cell(u, s);
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
