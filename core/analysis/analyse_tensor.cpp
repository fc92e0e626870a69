// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analyse_tensor.h"

#include "core/analysis/analysis_worker.h"
#include "core/analysis/input_errors.h"
#include "core/analysis/lloyd_gap.h"
#include "core/analysis/picture.h"
#include "core/analysis/statistics.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/layouts/larger.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/select.h"
#include "core/layouts/taken_tensors.h"
#include "core/model/derived_tensor.h"
#include "core/quant/encode/pass.h"
#include "core/quant/encode/solved.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

class TensorMeasurement {
public:
    TensorMeasurement(const TensorView& view, const SharedPlan& plan, const AnalysisOptions& options,
                      const ScaleGrid& grid, const TensorPass& pass, const ElementsDone& onElements)
        : view_(view), plan_(plan), spec_(plan->spec()), grid_(grid), levels_(pass.levels()), scales_(pass.scales()),
          onElements_(onElements), picture_(grid, options, pass.unitElements()),
          wantsDistribution_(options.detail != Detail::Sums),
          features_(std::size_t(std::max<std::int64_t>(1, grid.features))), pieces_(kMaxPieces),
          workers_(workerCount()) {
        if (options.statistics)
            statistics_.emplace(pass.view());
        else if (picture_.wantsBlocks())
            maxima_.emplace(view.info->elements, view.info->lastAxis());
        if (options.decodedAs == DecodedAs::Source && view.info->dtype != DType::F64) rounded_ = view.info->dtype;
    }

    void add(const PassRange& range) {
        auto& slot = workers_[range.worker];
        if (!slot) slot = std::make_unique<AnalysisWorker>(plan_, view_.info->dtype, scales_, levels_.size());
        AnalysisWorker& worker = *slot;
        if (worker.binned + range.n > 0x7fffffff) worker.flush();
        worker.binned += range.n;
        RunOut out = worker.outputs(pieces_[range.piece]);
        if (decided_)
            addDecided(worker, range);
        else if (rounded_ != DType::F32)
            addRounded(worker, range);
        else if (!picture_.wantsBlocks())
            worker.encoder(range.run, out);
        else if (grid_.kind == ScaleKind::Block)
            addBlocks(worker, range, out);
        else
            addRows(worker, range, out);
        if (statistics_) statistics_->add(range);
        if (maxima_) maxima_->add(range, std::isfinite(bestKernels().absMax(range.x, range.n, false)));
        if (onElements_) onElements_(range.n);
    }

    /// Errors are those of these codes from now on, not of rounding the values that pass.
    void decide(const QuantizedTensor& tensor, std::span<const float> columnScales) {
        decided_ = &tensor;
        values_ = materialize(tensor);
        applyColumnScales(columnScales, 0, values_.data(), values_.size());
        roundTo(rounded_, values_.data(), values_.size());
    }
    const std::vector<float>& decidedValues() const { return values_; }

    void finish(TensorAnalysis& row) {
        picture_.finish();
        for (const ErrorSums& piece : pieces_) row.sums.merge(piece);
        row.codeCounts.assign(levels_.size(), 0);
        row.levels.assign(levels_.begin(), levels_.end());
        for (const auto& worker : workers_) {
            if (!worker) continue;
            for (std::size_t code = 0; code < row.codeCounts.size(); ++code)
                row.codeCounts[code] += worker->codeCounts[code];
            row.sums.clipped += worker->rounded.clipped;
        }
        if (decided_)
            for (const std::uint8_t code : decided_->codes)
                if (code < row.codeCounts.size()) ++row.codeCounts[code];
        if (wantsDistribution_)
            setDistribution(row);
        else
            row.p50 = row.p95 = row.p99 = std::numeric_limits<double>::quiet_NaN(); // not measured
        if (statistics_) row.statistics = statistics_->finish();
        row.decodedAs = rounded_;
        if (picture_.wantsBlocks())
            row.inspection = std::make_shared<const Inspection>(Inspection{
                picture_.map(), picture_.channels(), (statistics_ ? statistics_->maxima() : *maxima_).columnProfile()});
    }

private:
    void setDistribution(TensorAnalysis& row) {
        std::shared_ptr<Distribution> all;
        for (const auto& worker : workers_) {
            if (!worker) continue;
            worker->flush();
            if (all)
                all->merge(*worker->flushed);
            else
                all = std::move(worker->flushed);
        }
        if (!all) all = std::make_shared<Distribution>();
        row.p50 = all->error.absPercentile(50), row.p95 = all->error.absPercentile(95);
        row.p99 = all->error.absPercentile(99);
        row.distribution = std::move(all);
    }

    void setBlockOutputs(AnalysisWorker& worker, RunOut& out, std::size_t blocks) {
        worker.roomForBlocks(blocks);
        out.groupSse = worker.sse.data(), out.groupSsw = worker.ssw.data(), out.groupAbsMax = worker.absMax.data();
    }

    void addBlocks(AnalysisWorker& worker, const PassRange& range, RunOut& out) {
        const std::size_t group = range.run.group;
        setBlockOutputs(worker, out, (range.n + group - 1) / group);
        worker.encoder(range.run, out);
        picture_.addBlocks(range.begin / features_, range.begin % features_, range.n, out.groupSse, out.groupSsw,
                           out.groupAbsMax);
    }

    /// Sums, the error's histogram and the picture from the decided values; the values' histogram from the range
    /// itself.
    void addDecided(AnalysisWorker& worker, const PassRange& range) {
        RunOut unused = worker.roundedOutputs();
        worker.encoder(range.run, unused);
        addErrors(worker, range, values_.data() + range.begin);
    }

    /// The same from the values that codes decode to, as the source's type holds them.
    void addRounded(AnalysisWorker& worker, const PassRange& range) {
        RunOut out = worker.roundedOutputs();
        out.codeCounts = worker.codeCounts.empty() ? nullptr : worker.codeCounts.data();
        if (worker.decoded.size() < range.n) worker.decoded.resize(range.n);
        out.decoded = worker.decoded.data();
        worker.encoder(range.run, out);
        roundTo(rounded_, worker.decoded.data(), range.n);
        addErrors(worker, range, worker.decoded.data());
    }

    /// `values`: what the elements of the range decode to.
    void addErrors(AnalysisWorker& worker, const PassRange& range, const float* values) {
        ErrorSums& sums = pieces_[range.piece];
        const auto piece = std::size_t(std::max<std::int64_t>(1, picture_.blockElements()));
        for (std::size_t done = 0; done < range.n;) {
            const std::size_t at = std::size_t(range.begin) + done, column = at % features_;
            const std::size_t n = std::min(range.n - done, features_ - column);
            worker.roomForBlocks((n + piece - 1) / piece);
            for (std::size_t begin = 0, into = 0; begin < n; begin += piece, ++into) {
                double sse = 0, ssw = 0;
                float absMax = 0;
                for (std::size_t i = begin; i < std::min(begin + piece, n); ++i) {
                    const float w = range.x[done + i], v = values[done + i], e = v - w;
                    if (!std::isfinite(w)) continue;
                    addError(sums, w, v, e);
                    ++worker.errorBins[std::bit_cast<std::uint32_t>(e) >> 18];
                    sse += double(e) * double(e), ssw += double(w) * double(w);
                    absMax = std::max(absMax, std::fabs(w));
                }
                worker.sse[into] = float(sse), worker.ssw[into] = float(ssw), worker.absMax[into] = absMax;
            }
            if (picture_.wantsBlocks())
                picture_.addBlocks(at / features_, column, n, worker.sse.data(), worker.ssw.data(),
                                   worker.absMax.data());
            done += n;
        }
    }

    static void addError(ErrorSums& sums, float w, float v, float e) {
        const double dw = double(w), dv = double(v), de = double(e);
        sums.n += 1, sums.se += de, sums.se2 += de * de, sums.sae += std::fabs(de);
        sums.sw2 += dw * dw, sums.swv += dw * dv, sums.sv2 += dv * dv;
        sums.maxAbs = std::max(sums.maxAbs, std::fabs(e));
        sums.zeros += v == 0, sums.signFlips += dw * dv < 0;
    }

    // Scales per row, tensor or column: rows are cut into the picture's pieces, with the scales given.
    void addRows(AnalysisWorker& worker, const PassRange& range, RunOut& out) {
        const auto piece = std::size_t(picture_.blockElements());
        for (std::size_t done = 0; done < range.n;) {
            const std::size_t at = std::size_t(range.begin) + done, column = at % features_;
            const std::size_t n = std::min(range.n - done, features_ - column);
            Run run = range.run;
            run.x = range.x + done, run.n = n, run.index = at;
            if (!run.given)
                giveParams(worker, run, range, done);
            else if (run.givenStride)
                run.given += done;
            if (run.givenStride == 0) {
                run.group = piece;
                setBlockOutputs(worker, out, (n + piece - 1) / piece);
                worker.encoder(run, out);
            } else {
                run.group = 1;
                setBlockOutputs(worker, out, n);
                worker.encoder(run, out);
                foldIntoPieces(worker, n, piece);
            }
            picture_.addBlocks(at / features_, column, n, out.groupSse, out.groupSsw, out.groupAbsMax);
            done += n;
        }
    }

    /// The scale of a row, of the several rows that share one, or of each element by itself.
    void giveParams(AnalysisWorker& worker, Run& run, const PassRange& range, std::size_t done) {
        const std::size_t group = range.run.group;
        const auto measure = [&](const float* x, std::size_t n) { return worker.encoder.params(range.run, x, n); };
        if (group >= run.n) {
            if (done % group == 0) worker.params.assign(1, measure(run.x, std::min(group, range.n - done)));
            run.givenStride = 0;
        } else {
            worker.params.clear();
            for (std::size_t i = 0; i < run.n; ++i) worker.params.push_back(measure(run.x + i, 1));
            run.givenStride = 1;
        }
        run.given = worker.params.data();
    }

    static void foldIntoPieces(AnalysisWorker& worker, std::size_t n, std::size_t piece) {
        for (std::size_t begin = 0, into = 0; begin < n; begin += piece, ++into) {
            double sse = 0, ssw = 0;
            float absMax = 0;
            for (std::size_t i = begin; i < std::min(begin + piece, n); ++i) {
                sse += double(worker.sse[i]), ssw += double(worker.ssw[i]);
                absMax = std::max(absMax, worker.absMax[i]);
            }
            worker.sse[into] = float(sse), worker.ssw[into] = float(ssw), worker.absMax[into] = absMax;
        }
    }

    const TensorView& view_;
    const SharedPlan& plan_;
    const QuantSpec& spec_;
    const ScaleGrid& grid_;
    std::span<const float> levels_;
    std::shared_ptr<const TensorScales> scales_;
    const ElementsDone& onElements_;
    Picture picture_;
    bool wantsDistribution_;
    std::size_t features_;
    std::optional<StatisticsGatherer> statistics_;
    std::optional<AxisMaxima> maxima_; ///< where no statistics are gathered
    DType rounded_ = DType::F32;       ///< that decoded values are rounded to
    std::vector<ErrorSums> pieces_;
    std::vector<std::unique_ptr<AnalysisWorker>> workers_;
    const QuantizedTensor* decided_ = nullptr;
    std::vector<float> values_; ///< that those codes decode to
};

/// W / scale of every value, ascending; empty: of many values, or of codes that are not chosen by it.
Result<std::vector<float>> fewValuesOf(const TensorPass& pass, const TensorInfo& tensor, const FloatHistogram& values,
                                       const Job& job) {
    std::vector<float> few;
    if (tensor.elements > kFewValues) return few;
    few.resize(tensor.elements);
    auto encoders = pass.encoders(tensor.dtype);
    const auto done = pass.run(0, pass.units(), job, [&](const PassRange& range) {
        const std::size_t group = std::max<std::size_t>(1, range.run.group);
        std::vector<GroupParams> measured((range.n + group - 1) / group);
        if (!range.run.given) encoders[range.worker].params(range.run, measured.data());
        for (std::size_t i = 0; i < range.n; ++i) {
            const GroupParams& params =
                range.run.given ? range.run.given[i / group * range.run.givenStride] : measured[i / group];
            few[range.begin + i] = placeOf(range.run.encoder, params, range.x[i]);
        }
    });
    if (!done) return tl::unexpected(done.error());
    std::erase_if(few, [](float value) { return !std::isfinite(value); });
    std::ranges::sort(few);
    // What the encoder itself counted: it may measure scales, or values, otherwise.
    std::vector<std::uint64_t> bins(kFloatBins);
    for (const float value : few) ++bins[std::bit_cast<std::uint32_t>(value) >> kFloatBinShift];
    if (bins != values.counts()) few.clear();
    return few;
}

TensorAnalysis startRow(const TensorInfo& tensor, const QuantSpec& spec) {
    TensorAnalysis row;
    row.tensor = tensor.name, row.dtype = tensor.dtype, row.shape = tensor.shape, row.elements = tensor.elements;
    row.spec = spec, row.specAsTyped = specText(spec);
    row.bytesBefore = storedBytes(tensor);
    return row;
}

TensorAnalysis refused(TensorAnalysis row, std::string reason) {
    row.status = Status::Refused;
    row.reason = std::move(reason);
    return row;
}

/// Why the figures are none although nothing was refused: comparisons with NaN are false, so that a largest error of 0
/// may stand where nothing was compared.
std::string whyUnusable(const TensorAnalysis& row, std::uint64_t elements) {
    if (elements > 0 && row.sums.n == 0) return fmt::format("none of its {} values is finite", elements);
    const ErrorSums& sums = row.sums;
    if (!std::isnan(sums.se2) && !std::isnan(sums.sv2) && std::isfinite(sums.maxAbs)) return {};
    return "no largest error: what the codes decode to, or its difference from a weight, is NaN or beyond f32";
}

} // namespace

std::optional<TensorAnalysis> keptRow(const Layout* layout, const Model& model, const TensorInfo& tensor,
                                      const QuantSpec& spec, bool named) {
    std::string why = whyKept(layout, model, tensor, named);
    if (why.empty()) return {};
    TensorAnalysis row = startRow(tensor, spec);
    row.status = Status::Kept, row.reason = std::move(why), row.bytesAfter = row.bytesBefore;
    return row;
}

StoredIn storedIn(const Model& model, const std::vector<const TensorInfo*>& tensors, const QuantSpec& spec,
                  bool named) {
    const Layout* layout = followedLayout(model, spec);
    if (!layout) return {};
    std::vector<TakenTensor> taken;
    for (const TensorInfo* tensor : tensors)
        if (leftAlone(&model, {tensor, nullptr, named}, *layout)) addTaken(taken, *tensor, spec, *layout);
    const RefusedRequest refused = refusalOf(model, std::move(taken), *layout);
    return {layout, refused.any() ? refusedBy(*layout, *refused.any()) : std::string()};
}

Result<void> storeIn(const StoredIn& stored, const Model& model, const TensorInfo& tensor, TensorAnalysis& row,
                     const Job& job) {
    if (!stored.layout || row.status != Status::Ok || row.elements == 0 || row.solved) return {};
    if (!stored.refusal.empty()) {
        row.warnings.push_back(stored.refusal);
        return {};
    }
    const auto bytes = bytesInLayout(model, tensor, row.spec, *stored.layout, job);
    if (!bytes && bytes.error().cancelled) return tl::unexpected(bytes.error());
    if (bytes)
        row.bytesAfter = *bytes, row.bpw = 8.0 * double(*bytes) / double(row.elements);
    else
        row.warnings.push_back(refusedBy(*stored.layout, bytes.error()));
    return {};
}

Result<TensorAnalysis> analyseTensor(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                     const AnalysisOptions& options, const Job& job) {
    const auto done = std::make_shared<std::atomic<std::uint64_t>>(0);
    const double bytes = tensor.elements ? double(tensor.bytes) / double(tensor.elements) : 0;
    return analyseTensor(model, tensor, spec, options, job, [&, done](std::uint64_t elements) {
        const std::uint64_t now = done->fetch_add(elements, std::memory_order_relaxed) + elements;
        if (now / kProgressElements == (now - elements) / kProgressElements) return;
        job.progress({double(now) * bytes, double(tensor.bytes), "Analysing " + escapeForPeople(tensor.name), 0, 1});
    });
}

Result<TensorAnalysis> analyseTensor(const Model& model, const TensorInfo& tensor, const QuantSpec& asked,
                                     const AnalysisOptions& options, const Job& job, const ElementsDone& onElements) {
    const auto started = std::chrono::steady_clock::now();
    TensorAnalysis row = startRow(tensor, asked);
    if (auto ok = checkQuantizable(tensor); !ok) return refused(std::move(row), ok.error().sentence());
    const SharedPlan plan = composedPlan(forTensor(asked, tensor));
    const QuantSpec& spec = plan->spec();
    const auto grid = scaleGrid(spec, tensor.shape);
    if (!grid) return refused(std::move(row), grid.error().sentence());
    const auto size = storedSize(spec, tensor.shape, tensor.dtype);
    row.bytesAfter = size->total();
    row.bpw = bitsPerWeight(*size, tensor.elements);

    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    std::shared_ptr<const Solved> solved;
    if (options.solve) {
        auto decision = options.solve(*view, spec);
        if (!decision && decision.error().cancelled) return tl::unexpected(decision.error());
        if (!decision) return refused(std::move(row), decision.error().sentence());
        solved = std::move(*decision);
        row.solved = true;
        if (!solved->columnScales.empty()) {
            row.bytesAfter += 4 * solved->columnScales.size();
            row.bpw = 8.0 * double(row.bytesAfter) / double(tensor.elements);
        }
    }
    const auto pass =
        TensorPass::prepare(*view, plan, *grid, job, solved && solved->levels ? solved->levels : options.levels);
    if (!pass) return tl::unexpected(pass.error());
    TensorMeasurement measurement(*view, plan, options, *grid, *pass, onElements);
    std::optional<QuantizedTensor> decided;
    static const Solved none;
    if (solved || trainedSource(*view, spec)) {
        auto codes = quantizeSolved(*view, plan, solved ? *solved : none, job);
        if (!codes) return tl::unexpected(codes.error());
        decided = std::move(*codes);
        measurement.decide(*decided, solved ? std::span<const float>(solved->columnScales) : std::span<const float>());
    }
    const auto done = pass->run(0, pass->units(), job, [&](const PassRange& range) { measurement.add(range); });
    if (!done) return tl::unexpected(done.error());
    measurement.finish(row);
    row.warnings = passWarnings(*plan, pass->shared(), tensor.elements);
    if (const std::string added = addedText(tensor); !added.empty()) row.warnings.push_back(added);
    row.larger = largerText(asked, tensor, row.bpw);
    NotTaken notTaken;
    if (std::uint64_t(row.sums.n) != tensor.elements || std::isnan(row.sums.se2)) {
        const auto found = countNotTaken(*view, spec, job);
        if (!found) return tl::unexpected(found.error());
        notTaken = *found;
        row.nan = found->nan, row.inf = found->inf;
    }
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (notTaken.any() && spec.effectiveNan() == NanPolicy::Refuse) {
        std::string reason = notTakenError(tensor, spec, notTaken).sentence();
        return refused(std::move(row), std::move(reason));
    }
    if (std::string what = whyUnusable(row, tensor.elements); !what.empty()) {
        row.status = Status::Failed;
        row.reason = std::move(what);
        return row;
    }
    if (options.inputs && tensor.elements > 0) {
        auto inputs = options.inputs(tensor);
        if (!inputs) return tl::unexpected(inputs.error());
        if (*inputs) {
            auto errors = errorsOnInputs(*view, plan, measurement.decidedValues(), **inputs, options, job);
            if (!errors) return tl::unexpected(errors.error());
            row.onInputs = *errors;
        }
    }
    if (options.effects && !row.solved) row.onOutput = options.effects->of(tensor.name, asked);
    if (row.solved || options.detail == Detail::Sums) return row;
    const bool hasGap = row.levels.size() >= 2 && !codecOf(spec) && row.distribution;
    auto few = hasGap ? fewValuesOf(*pass, tensor, row.values(), job) : std::vector<float>();
    if (!few) return tl::unexpected(few.error());
    if (!few->empty()) {
        auto distribution = std::make_shared<Distribution>(*row.distribution);
        distribution->few = std::move(*few);
        row.distribution = std::move(distribution);
    }
    if (const auto gap = lloydGap(row, scaledDensity(row))) row.lloydGapDb = gap->gapDb();
    return row;
}

} // namespace qs
