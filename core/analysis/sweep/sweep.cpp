// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/sweep/sweep.h"

#include "core/analysis/analyse_tensor.h"
#include "core/analysis/analysis_unit.h"
#include "core/analysis/proxy_trust.h"
#include "core/base/cell.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/layouts/taken_tensors.h"
#include "core/quant/encode/pass.h"
#include "core/records/unit_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <numeric>

namespace qs {
namespace {

constexpr std::size_t kMostClasses = 24; ///< further roles are put together in the last class
constexpr const char* kAll = "all tensors";
constexpr const char* kOthers = "other roles";

/// For each tensor, the index of its class in `names`. A class is a role; if there are too many, the largest keep their
/// own class.
std::vector<std::size_t> classesOf(const SweepPlan& plan, std::vector<std::string>& names) {
    std::vector<std::string> roles;
    std::map<std::string, std::size_t> indexOf;
    std::vector<std::uint64_t> elements;
    std::vector<std::size_t> roleOf;
    for (const auto* tensor : plan.tensors) {
        const auto [at, fresh] = indexOf.emplace(placeOf(tensor->name).role, roles.size());
        if (fresh) roles.push_back(at->first), elements.push_back(0);
        elements[at->second] += tensor->elements;
        roleOf.push_back(at->second);
    }
    std::vector<std::size_t> order(roles.size()), classOf(roles.size());
    std::iota(order.begin(), order.end(), 0);
    const bool tooMany = roles.size() > kMostClasses;
    if (tooMany)
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return elements[a] > elements[b]; });
    if (roles.size() > 1) names.push_back(kAll);
    const std::size_t own = tooMany ? kMostClasses - 1 : roles.size();
    std::sort(order.begin(), order.begin() + std::ptrdiff_t(own)); // back to the order of the model
    const std::size_t first = names.size();
    for (std::size_t i = 0; i < roles.size(); ++i) {
        classOf[order[i]] = first + std::min(i, own);
        if (i < own) names.push_back(roles[order[i]].empty() ? "tensors" : roles[order[i]]);
    }
    if (tooMany) names.push_back(kOthers);
    for (auto& role : roleOf) role = classOf[role];
    return roleOf;
}

void addEffect(EffectSum& into, const TensorAnalysis& row, const Metric& metric) {
    const auto value = metric.value(row);
    if (!value) return;
    into.sum += *value, into.error += metric.error(row).value_or(0), ++into.tensors;
}

void addRow(SweepPoint& point, const TensorAnalysis& row) {
    if (row.status != Status::Ok) {
        if (row.status == Status::Kept)
            --point.tensors, ++point.kept, point.keptBytes += row.bytesBefore;
        else
            ++point.refused;
        if (point.reason.empty()) point.reason = escapeForPeople(row.tensor) + ": " + row.reason;
        return;
    }
    ++point.measured;
    point.elements += row.elements;
    point.bytes += row.bytesAfter;
    point.errorPower += row.sums.se2;
    point.power += row.sums.sw2;
    const double nmse = row.sums.sw2 > 0 ? row.sums.se2 / row.sums.sw2 : 0;
    if (nmse > point.worstNmse) point.worstNmse = nmse, point.worstTensor = row.tensor;
    if (!row.onOutput) return;
    addEffect(point.alone, row, klAloneMetric());
    addEffect(point.predicted, row, klPredictedMetric());
}

} // namespace

std::optional<double> SweepPoint::bpw() const {
    if (!complete() || elements == 0) return std::nullopt;
    return 8.0 * double(bytes) / double(elements);
}
std::optional<double> SweepPoint::nmse() const {
    if (!complete() || !(power > 0)) return std::nullopt;
    return errorPower / power;
}
std::optional<double> SweepPoint::sqnrDb() const { return qs::sqnrDb(nmse()); }

std::optional<OutputFigure> SweepPoint::whole(const EffectSum& effect) const {
    if (!complete() || effect.tensors != tensors) return std::nullopt;
    return OutputFigure{effect.sum, effect.error};
}

std::string sweepRemark(const SweepResult& result) {
    std::string text = "Weight-space error: a screening proxy, not accuracy.";
    const auto measuredOf = [](const SweepPoint& point, bool isModel) {
        return isModel ? point.modelKl : point.whole(point.alone);
    };
    for (const bool isModel : {true, false}) {
        std::vector<double> guesses, truth;
        for (std::size_t s = 0; s < result.specs; ++s) {
            const SweepPoint& point = result.points[s];
            const auto measured = measuredOf(point, isModel);
            guesses.push_back(point.nmse().value_or(std::nan("")));
            truth.push_back(measured ? measured->mean : std::nan(""));
        }
        if (const auto a = rankAgreement(guesses, truth))
            return text + fmt::format(" NMSE ranks {} specs as {} does with Kendall's tau {:.2f} [{:.2f}, {:.2f}].",
                                      a->items, isModel ? "the mean KL of the model" : "the sum of KL alone", a->tau,
                                      a->low, a->high);
    }
    return text + " How far it ranks as the model's output does is not measured.";
}

void markFrontier(SweepResult& result) {
    for (std::size_t c = 0; c < result.classes.size(); ++c) {
        std::vector<SweepPoint*> points;
        for (std::size_t s = 0; s < result.specs; ++s) {
            auto& point = result.points[c * result.specs + s];
            point.frontier = false;
            if (point.bpw() && point.nmse()) points.push_back(&point);
        }
        std::ranges::stable_sort(points, [](const SweepPoint* a, const SweepPoint* b) {
            return std::pair(*a->bpw(), *a->nmse()) < std::pair(*b->bpw(), *b->nmse());
        });
        std::map<std::uint64_t, double> least; // by the number of tensors: layouts of some specs keep some
        for (auto* point : points)
            if (auto& best = least.try_emplace(point->tensors, INFINITY).first->second; *point->nmse() < best)
                best = *point->nmse(), point->frontier = true;
    }
}

Result<SweepResult> runSweep(const SweepPlan& plan, const Job& job,
                             const std::function<void(const SweepResult&)>& onTensor) {
    const auto started = std::chrono::steady_clock::now();
    SweepResult result;
    result.specs = plan.specs.size();
    const auto classOf = classesOf(plan, result.classes);
    const bool hasAll = result.classes.size() > 1;
    for (const auto& name : result.classes) {
        for (std::size_t s = 0; s < plan.specs.size(); ++s) {
            auto& point = result.points.emplace_back();
            point.className = name, point.spec = s;
            point.line = plan.specs[s].line, point.block = plan.specs[s].block;
            point.specText = specText(plan.specs[s].spec), point.specFull = canonicalText(plan.specs[s].spec);
            if (plan.effects && result.points.size() <= plan.specs.size()) // the first class is all tensors
                point.modelKl = plan.effects->ofModel(plan.specs[s].spec);
        }
    }
    Progress progress;
    progress.itemsTotal = plan.tensors.size();
    for (const auto* tensor : plan.tensors) progress.total += double(tensor->bytes) * double(plan.specs.size());
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        for (std::size_t s = 0; s < plan.specs.size(); ++s) {
            if (hasAll) ++result.points[s].tensors;
            ++result.points[classOf[t] * result.specs + s].tensors;
        }
    }
    std::vector<StoredIn> layouts;
    for (const SweepSpec& one : plan.specs)
        layouts.push_back(storedIn(*plan.model, plan.tensors, one.spec, plan.named));
    if (plan.units) plan.units->begin(progress.total);
    AnalysisOptions options;
    options.statistics = false;
    options.decodedAs = plan.decodedAs, options.effects = plan.effects;
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const TensorInfo& tensor = *plan.tensors[t];
        progress.what = "Sweeping " + escapeForPeople(tensor.name);
        const double elementBytes = tensor.elements ? double(tensor.bytes) / double(tensor.elements) : 0;
        for (std::size_t s = 0; s < plan.specs.size(); ++s) {
            if (job.cancelled()) return cancelledError();
            job.progress(progress);
            ScanProgress scan{job, progress, elementBytes};
            const QuantSpec& spec = plan.specs[s].spec;
            Result<std::optional<TensorAnalysis>> row =
                keptRow(layouts[s].layout, *plan.model, tensor, spec, plan.named);
            if (!*row)
                row = unitOfAnalysis(plan.units, *plan.model, tensor, spec, options.effects.get(), job, [&] {
                    return analyseTensor(*plan.model, tensor, spec, options, job, std::ref(scan));
                });
            if (!row) return tl::unexpected(row.error());
            if (*row) {
                if (auto stored = storeIn(layouts[s], *plan.model, tensor, **row, job); !stored)
                    return tl::unexpected(stored.error());
                addRow(result.points[classOf[t] * result.specs + s], **row);
                if (hasAll) addRow(result.points[s], **row);
            }
            result.sourceBytes += scan.bytes();
            progress.done += double(tensor.bytes);
        }
        ++progress.items;
        releasePages(*plan.model, tensor);
        if (onTensor) onTensor(result);
    }
    job.progress(progress);
    markFrontier(result);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
}

const Columns<SweepPoint>& sweepColumns() {
    using R = SweepPoint;
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
    const auto mean = [](const std::optional<OutputFigure>& figure) {
        return figure ? finiteCellOf(figure->mean) : Value();
    };
    const auto error = [](const std::optional<OutputFigure>& figure) {
        return figure && figure->error ? finiteCellOf(*figure->error) : Value();
    };
    static const Columns<R> columns = {
        columnOf<R>({"class", "Class", "", Show::Text, 0, none, "tensors of one role"}, &R::className),
        columnOf<R>({"spec", "Spec", "", Show::Text, 0, none, ""}, &R::specText),
        columnOf<R>({"bpw", "bpw", "", Show::Fixed, 4, lower, "true stored bits per weight"}, &R::bpw),
        columnOf<R>({"sqnr_db", "SQNR", "dB", Show::Fixed, 2, Direction::HigherIsBetter,
                     "-10 log10 of the NMSE of the class's tensors taken together"},
                    [](const R& r) { return sqnrCell(r.nmse()); }),
        columnOf<R>({"nmse", "NMSE", "", Show::Scientific, 4, lower, "sum E^2 / sum W^2"}, &R::nmse),
        columnOf<R>({"kl_model", "KL of the model", "nats", Show::Significant, 4, lower,
                     "mean KL with all layers under the spec, as it was measured on a text"},
                    [mean](const R& r) { return mean(r.modelKl); }),
        columnOf<R>({"kl_model_se", "±", "nats", Show::Significant, 2, none,
                     "standard error when chunks of the text are independent"},
                    [error](const R& r) { return error(r.modelKl); }),
        columnOf<R>({"kl_alone", "Sum of KL alone", "nats", Show::Significant, 4, lower,
                     "sum over the class's tensors of the KL with one of them quantized"},
                    [mean](const R& r) { return mean(r.whole(r.alone)); }),
        columnOf<R>({"kl_alone_se", "± at most", "nats", Show::Significant, 2, none, "sum of their standard errors"},
                    [error](const R& r) { return error(r.whole(r.alone)); }),
        columnOf<R>({"kl_predicted", "Sum of KL predicted", "nats", Show::Significant, 4, lower,
                     "sum over the class's tensors of slope x NMSE"},
                    [mean](const R& r) { return mean(r.whole(r.predicted)); }),
        columnOf<R>(
            {"kl_predicted_se", "± at most", "nats", Show::Significant, 2, none, "sum of their standard errors"},
            [error](const R& r) { return error(r.whole(r.predicted)); }),
        columnOf<R>({"frontier", "Frontier", "", Show::Text, 0, none,
                     "no other spec of the sweep for the same tensors has fewer bits and no more error"},
                    &R::frontier),
        columnOf<R>({"line", "Line", "", Show::Text, 0, none, "specs that differ in the block size alone"}, &R::line),
        columnOf<R>({"block", "Block", "", Show::Integer, 0, none, "elements per scale"},
                    [](const R& r) { return r.block ? cellOf(r.block) : Value(); }),
        columnOf<R>({"matrices", "Tensors", "", Show::Integer, 0, none, "of the class that the spec is for"},
                    &R::tensors),
        columnOf<R>({"refused", "Refused", "", Show::Integer, 0, none, "tensors that the spec cannot take"},
                    &R::refused),
        columnOf<R>({"kept", "Kept", "", Show::Integer, 0, none,
                     "tensors of the class that the layout of the spec keeps as they are"},
                    &R::kept),
        columnOf<R>({"bytes", "Bytes", "", Show::Bytes, 0, lower, "codes, scales and padding"},
                    [](const R& r) { return r.complete() ? cellOf(r.bytes) : Value(); }),
        columnOf<R>({"bytes_all", "Bytes of all", "", Show::Bytes, 0, lower,
                     "stored bytes of the class, with the tensors that the layout of the spec keeps as they are"},
                    [](const R& r) { return r.complete() ? cellOf(r.bytes + r.keptBytes) : Value(); }),
        columnOf<R>({"worst_tensor", "Worst tensor", "", Show::Name, 0, none, "the one with the least SQNR"},
                    [](const R& r) { return r.worstTensor.empty() ? Value() : Value(r.worstTensor); }),
        columnOf<R>({"spec_full", "Spec in full", "", Show::Text, 0, none, ""}, &R::specFull),
        columnOf<R>({"reason", "Reason", "", Show::Text, 0, none, "why it was not measured"},
                    [](const R& r) {
                        return r.reason.empty() && r.complete() && !(r.errorPower > 0) ? "nothing differs" : r.reason;
                    }),
    };
    return columns;
}

} // namespace qs
