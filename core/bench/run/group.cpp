// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/group.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/bench/run/batch.h"
#include "core/bench/run/copies.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

class Group {
public:
    Group(BenchState& state, const BenchOp& op, const BenchAct& act, const BenchShape& shape)
        : state_(state), plan_(state.plan), op_(op), act_(act), shape_(shape) {}

    Result<void> run(const WeightsOf& weights) {
        if (auto done = ask(weights); !done) return done;
        // The baseline is in every batch, so that each round has its own ratios.
        for (auto& c : contenders_)
            if (c.isBaseline) qualifyOne(c);
        std::uint64_t baselines = 0;
        for (const auto& c : contenders_)
            if (c.isBaseline && c.alive) baselines += copies_.memoryOf(c);
        std::vector<Contender*> batch;
        std::uint64_t bytes = baselines;
        for (auto& c : contenders_) {
            if (state_.job.cancelled()) return cancelledError();
            if (c.isBaseline) continue;
            qualifyOne(c);
            if (!c.alive) continue;
            if (const auto more = copies_.memoryOf(c); bytes + more <= state_.memoryBytes || batch.empty()) {
                bytes += more;
            } else {
                if (auto done = time(batch); !done) return done;
                batch.clear();
                bytes = baselines + more;
            }
            batch.push_back(&c);
        }
        if (auto done = time(batch); !done) return done;
        for (auto& c : contenders_) // measured rows come first
            if (c.row.answer.variant.id.empty() && !state_.job.cancelled()) emitStopped(c);
        for (auto& c : contenders_) release(c);
        return {};
    }

private:
    Question question(const std::string& typed, const QuantSpec& spec, const BenchAct& act) const {
        Question q;
        q.plan = &plan_;
        q.request = {&op_, &act, shape_.m, shape_.n, shape_.k, plan_.bias && op_.product, plan_.seed};
        q.specTyped = typed;
        q.spec = spec;
        q.shape = shape_;
        return q;
    }

    void addQuestion(const Question& q, const WeightsOf& weights, bool baselineOnly) {
        auto w = weights(q.spec);
        std::shared_ptr<Checked> checked;
        std::string refused;
        if (w) {
            auto operands = makeOperands(q.request, *w);
            if (operands)
                checked = std::make_shared<Checked>(std::move(*operands), plan_.seed);
            else
                refused = operands.error().sentence();
        } else
            refused = w.error().sentence();
        for (auto& opened : state_.backends) {
            if (baselineOnly && !opened.source.baseline) continue;
            for (std::uint32_t d = 0; d < std::max<std::size_t>(1, opened.devices.size()); ++d) {
                std::vector<Contender> answers;
                if (checked)
                    answers = askDevice(q, opened, d, checked);
                else {
                    answers.emplace_back();
                    answers[0].row = questionRow(q, opened, d);
                    answers[0].row.verdict.status = opened.backend ? RowState::Declined : opened.failure.state;
                    answers[0].row.verdict.reason = opened.backend ? refused : opened.failure.reason;
                    if (!opened.backend) answers[0].row.verdict.hint = opened.failure.hint;
                    answers[0].opened = &opened;
                }
                for (auto& c : answers) {
                    if (baselineOnly && !c.isBaseline && !c.row.answer.variant.id.empty()) continue;
                    contenders_.push_back(std::move(c));
                    questions_.push_back(q);
                    shown_.push_back(!baselineOnly || baselineShown_);
                }
            }
        }
    }

    Result<void> ask(const WeightsOf& weights) {
        const auto f32 =
            std::ranges::find_if(plan_.specs, [](const auto& spec) { return spec.second.format == "f32"; });
        const bool among = f32 != plan_.specs.end() && std::string_view(act_.id) == "f32";
        const bool asked = contains(plan_.acts, "f32");
        if (op_.product && !among) {
            // If f32 activations are a group of their own, that group shows the baseline.
            baselineShown_ = std::string_view(act_.id) == "f32" || (!asked && plan_.acts.front() == act_.id);
            QuantSpec plain;
            plain.format = "f32";
            addQuestion(question("f32", plain, *findBenchAct("f32")), weights, true);
        }
        for (const auto& [typed, spec] : plan_.specs) {
            if (state_.job.cancelled()) return cancelledError();
            addQuestion(question(typed, spec, act_), weights, false);
        }
        return {};
    }

    std::size_t indexOf(const Contender& c) const { return std::size_t(&c - contenders_.data()); }

    void qualifyOne(Contender& c) {
        if (state_.job.cancelled()) return;
        const Question& q = questions_[indexOf(c)];
        const bool asked = c.checked && c.opened->backend && !c.row.answer.variant.id.empty();
        if (asked && plan_.memoryBytes && copyBytes(c) > state_.memoryBytes) {
            c.row.verdict.status = RowState::Declined;
            c.row.verdict.reason =
                fmt::format("one copy of the weights takes {}, more than the memory limit of {} leaves",
                            bytesText(copyBytes(c)), bytesText(plan_.memoryBytes));
        } else if (asked) {
            state_.progress(0, fmt::format("Checking {} on {}, {}", c.row.answer.variant.id, c.row.question.backend,
                                           shapeKey(shape_)));
            qualify(c, q, state_.gate, state_.job);
        } else if (c.checked && !c.row.answer.variant.id.empty()) {
            c.row.verdict.status = c.opened->failure.state;
            c.row.verdict.reason = c.opened->failure.reason;
            c.row.verdict.hint = c.opened->failure.hint;
        }
        const bool warm = contains(plan_.caches, CacheState::Warm);
        if (c.alive) return state_.roofs.measure(*c.opened, c.device, warm || copies_.tooFew(c));
        if (!c.row.answer.variant.id.empty() && !state_.job.cancelled()) emitStopped(c);
    }

    /// The same row for every cache state, because none was reached.
    void emitStopped(const Contender& c) {
        if (!shown_[indexOf(c)]) return;
        for (const auto cache : plan_.caches) {
            BenchmarkRow row = c.row;
            row.question.cache = cache;
            row.verdict.speedupReason = fmt::format("the row is {}", rowStateText(row.verdict.status));
            row.question.command += std::string(" --cache ") + cacheText(cache);
            state_.emit(std::move(row));
        }
    }

    std::string whyNoBaseline() const {
        if (!op_.product) return fmt::format("there is no f32 product to compare {} with", op_.id);
        std::string why = "openblas is not part of this run";
        for (const auto& c : contenders_)
            if (c.opened->source.baseline && !c.isBaseline && c.row.answer.variant.id.empty() &&
                c.row.verdict.status != RowState::Ok)
                why = "openblas f32: " + c.row.verdict.reason;
        return why;
    }

    Result<void> time(const std::vector<Contender*>& batch) {
        std::vector<Contender*> all;
        for (auto& c : contenders_)
            if (c.isBaseline && c.alive) all.push_back(&c);
        const bool alone = batch.empty();
        if (alone && (all.empty() || baselineTimed_)) return {};
        all.insert(all.end(), batch.begin(), batch.end());
        for (const auto cache : plan_.caches) {
            auto rows = timeBatch(state_, op_, shape_, all, cache, whyNoBaseline());
            if (!rows) return tl::unexpected(rows.error());
            for (std::size_t i = 0; i < all.size(); ++i)
                if (shown_[indexOf(*all[i])] && !(all[i]->isBaseline && baselineTimed_))
                    state_.emit(std::move((*rows)[i]));
        }
        baselineTimed_ = true;
        for (auto* c : batch) release(*c);
        return {};
    }

    BenchState& state_;
    const BenchmarkPlan& plan_;
    const BenchOp& op_;
    const BenchAct& act_;
    const BenchShape& shape_;
    const Copies copies_{state_};
    std::vector<Contender> contenders_;
    std::vector<Question> questions_; ///< for each contender
    std::vector<bool> shown_;         ///< whether the rows are part of the result
    bool baselineShown_ = true, baselineTimed_ = false;
};

} // namespace

Result<void> runGroup(BenchState& state, const BenchOp& op, const BenchAct& act, const BenchShape& shape,
                      const WeightsOf& weights) {
    return Group(state, op, act, shape).run(weights);
}

} // namespace qs
