// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/bench_run.h"

#include "app/gui/session.h"
#include "core/bench/run/busy_rows.h"
#include "core/plan/latency.h"
#include "core/session/kept_results.h"

namespace qs::gui {
namespace {
constexpr const char* kBenchKept = "bench"; // name of the rows in session files
}

void takeKeptTimes(Session& session, Task& task) {
    const auto text = session.restored(QLatin1String(kBenchKept));
    if (!text || session.decision().benchRows() || task.running()) return;
    const auto work = [text, model = session.model()](const Job&) -> Result<Decision::BenchRows> {
        auto kept = benchKept(*text, model);
        if (!kept) return tl::unexpected(kept.error());
        return std::make_shared<const std::vector<BenchmarkRow>>(plan::timesOf(kept->run.rows));
    };
    task.run({}, work, [&session](Decision::BenchRows rows) {
        if (!session.decision().benchRows()) session.decision().setBenchRows(std::move(rows));
    });
}

BenchRun::BenchRun(Session& session, QObject* parent) : QObject(parent), session_(session), task_(&session.tasks()) {
    for (Task* task : {&task_, &question_}) task->setInterval(100);
    task_.setKept([this] { return run_.rows.empty() ? QString() : tr("%1 rows are kept").arg(run_.rows.size()); });
    for (const Task* task : {&task_, &question_, &restoring_}) connect(task, &Task::failed, this, &BenchRun::failed);
    for (auto news : {&BenchRun::rowsChanged, &BenchRun::finished}) connect(&task_, &Task::over, this, news);
    connect(&question_, &Task::over, this, &BenchRun::answersChanged);
    connect(this, &BenchRun::finished, this, [this] {
        session_.decision().setBenchRows(
            run_.rows.empty() ? nullptr : std::make_shared<const std::vector<BenchmarkRow>>(plan::timesOf(run_.rows)));
    });
    connect(&session, &Session::jobCancelled, this, &BenchRun::stopAsking);
    connect(&session, &Session::modelChanged, this, [this] {
        if (plan_.model && plan_.model != session_.model()) return forget();
        // rows at shapes that were typed are of no model: they stay
        if (!texts_.empty() && session_.model() && !session_.restored(QLatin1String(kBenchKept))) keep();
    });
}

void BenchRun::forget() {
    for (Task* task : {&task_, &question_, &restoring_}) task->drop();
    plan_ = {}, run_ = {};
    texts_.clear(), answers_.clear();
    restored_.reset();
    complete_ = false;
    ++number_;
    Q_EMIT rowsChanged();
    Q_EMIT answersChanged();
    Q_EMIT finished();
}

/// Called on the thread that measured, because converting many rows takes time.
std::shared_ptr<BenchRun::Done> BenchRun::doneOf(BenchmarkRun run) {
    auto done = std::make_shared<Done>();
    for (const auto& row : run.rows) done->texts.push_back(std::make_shared<const std::string>(keptBenchRow(row)));
    done->run = std::move(run);
    return done;
}

void BenchRun::keep() {
    KeptBench kept;
    kept.plan = plan_;
    kept.plan.model.reset();
    for (const auto& source : plan_.backends) kept.backends.push_back(source.id);
    kept.run.roofs = run_.roofs, kept.run.passes = run_.passes, kept.run.provenance = run_.provenance;
    kept.run.seconds = run_.seconds;
    kept.complete = complete_;
    session_.keep(QLatin1String(kBenchKept),
                  [kept = std::move(kept), texts = texts_] { return keptBench(kept, texts); });
}

void BenchRun::takeRestored(const std::vector<BackendSource>& sources) {
    const auto text = session_.restored(QLatin1String(kBenchKept));
    if (!text || text == restored_ || running()) return;
    restored_ = text;
    const auto work = [text, model = session_.model()](const Job&) -> Result<std::shared_ptr<KeptBench>> {
        auto kept = benchKept(*text, model);
        if (!kept) return tl::unexpected(kept.error());
        return std::make_shared<KeptBench>(std::move(*kept));
    };
    restoring_.run({}, work, [this, sources](const std::shared_ptr<KeptBench>& kept) {
        if (running()) return;
        plan_ = std::move(kept->plan);
        for (const auto& id : kept->backends)
            for (const auto& source : sources)
                if (source.id == id) plan_.backends.push_back(source);
        run_ = std::move(kept->run);
        texts_.clear(); // the session has all of them as one text
        complete_ = kept->complete;
        ++number_;
        Q_EMIT rowsChanged();
        Q_EMIT finished();
    });
}

void BenchRun::start(const BenchmarkPlan& plan) {
    restoring_.drop();
    plan_ = plan;
    run_ = {};
    texts_.clear();
    complete_ = false;
    ++number_;
    struct Mail {
        std::vector<BenchmarkRow> rows;
        Texts texts;
    };
    const auto work = [plan](const Job& job, Inbox<Mail>& inbox) -> Result<std::shared_ptr<Done>> {
        auto run = runBenchmark(plan, job, [&](const BenchmarkRow& row) {
            auto text = std::make_shared<const std::string>(keptBenchRow(row));
            inbox.write([&](Mail& mail) {
                mail.rows.push_back(row);
                mail.texts.push_back(std::move(text));
            });
        });
        if (!run) return tl::unexpected(run.error());
        return doneOf(std::move(*run));
    };
    const auto arrived = [this](Mail mail) {
        run_.rows.insert(run_.rows.end(), std::make_move_iterator(mail.rows.begin()),
                         std::make_move_iterator(mail.rows.end()));
        texts_.insert(texts_.end(), mail.texts.begin(), mail.texts.end());
        keep();
        Q_EMIT rowsChanged();
    };
    task_.run<Mail>("Benchmark", work, arrived, [this](const std::shared_ptr<Done>& done) { finish(*done); });
    Q_EMIT rowsChanged();
}

void BenchRun::again() {
    const auto part = busyPart(plan_, run_.rows);
    if (running() || !complete_ || !part) return;
    const auto work = [part = *part, whole = run_](const Job& job) mutable -> Result<std::shared_ptr<Done>> {
        const auto fresh = runBenchmark(part, job);
        if (!fresh) return tl::unexpected(fresh.error());
        replaceBusy(whole, *fresh, part.model ? modelShapes(*part.model) : std::vector<ModelShape>());
        return doneOf(std::move(whole));
    };
    task_.run("Benchmark", work, [this](const std::shared_ptr<Done>& done) {
        ++number_; // other rows now have the same indices
        finish(*done);
    });
    Q_EMIT rowsChanged();
}

void BenchRun::finish(Done& done) {
    run_ = std::move(done.run);
    texts_ = std::move(done.texts);
    complete_ = true;
    keep();
}

void BenchRun::cancel() {
    stopAsking();
    task_.cancel();
}

void BenchRun::stopAsking() { question_.cancel(); }

void BenchRun::ask(const BenchmarkPlan& plan) {
    answers_.clear();
    using Answers = std::vector<Capability>;
    const auto work = [plan](const Job& job, Inbox<Answers>& inbox) -> Result<std::size_t> {
        auto all = capabilities(
            plan, job, [&](const Capability& row) { inbox.write([&](Answers& answers) { answers.push_back(row); }); });
        if (!all) return tl::unexpected(all.error());
        return all->size();
    };
    const auto arrived = [this](Answers answers) {
        answers_.insert(answers_.end(), std::make_move_iterator(answers.begin()),
                        std::make_move_iterator(answers.end()));
        Q_EMIT answersChanged();
    };
    question_.run<Answers>({}, work, arrived, [](std::size_t) {});
    Q_EMIT answersChanged();
}

} // namespace qs::gui
