// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/bench_run.h"

#include "app/gui/lane_work.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "core/base/text.h"
#include "core/bench/run/busy_rows.h"
#include "core/session/kept_results.h"

#include <mutex>

namespace qs::gui {
namespace {
constexpr const char* kBenchKept = "bench"; // in session files
}

// Where the work leaves what the window has not seen yet.
struct BenchRun::Inbox {
    std::mutex mutex;
    std::vector<BenchmarkRow> rows;
    std::vector<std::shared_ptr<const std::string>> texts; // of the rows
    std::vector<Capability> answers;
};

BenchRun::BenchRun(Session& session, QObject* parent)
    : QObject(parent), session_(session), inbox_(std::make_shared<Inbox>()), question_(std::make_shared<Inbox>()) {
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &BenchRun::poll);
    connect(&session, &Session::jobCancelled, this, &BenchRun::cancel);
    connect(&session, &Session::modelChanged, this, [this] {
        if (!texts_.empty() && session_.model() && !session_.restored(QLatin1String(kBenchKept))) keep(); // rows stay
    });
}

BenchRun::~BenchRun() {
    asks_.cancel();
    restoring_.cancel();
}

/// On the thread that has measured: rows are long.
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
    if (!text || text == restored_ || running_) return;
    restored_ = text;
    restoring_.cancel();
    restoring_ = Job();
    const auto work = [text, model = session_.model()](const Job&) -> Result<std::shared_ptr<KeptBench>> {
        auto kept = benchKept(*text, model);
        if (!kept) return tl::unexpected(kept.error());
        return std::make_shared<KeptBench>(std::move(*kept));
    };
    runJob<std::shared_ptr<KeptBench>>(
        this, restoring_, work, [this, sources](Result<std::shared_ptr<KeptBench>> kept) {
            if (running_) return;
            if (!kept) return Q_EMIT failed(QString::fromStdString(oneSentence(kept.error().message)));
            plan_ = std::move((*kept)->plan);
            for (const auto& id : (*kept)->backends)
                for (const auto& source : sources)
                    if (source.id == id) plan_.backends.push_back(source);
            run_ = std::move((*kept)->run);
            texts_.clear(); // the session has them as one text
            complete_ = (*kept)->complete;
            ++number_;
            Q_EMIT rowsChanged();
            Q_EMIT finished();
        });
}

void BenchRun::start(const BenchmarkPlan& plan) {
    lane_.reset();
    restoring_.cancel();
    plan_ = plan;
    run_ = {};
    texts_.clear();
    complete_ = false;
    ++number_;
    running_ = true;
    inbox_ = std::make_shared<Inbox>();
    lane_ = std::make_unique<LaneWork>(session_, "Benchmark");
    const auto work = [plan, inbox = inbox_](const Job& job) -> Result<std::shared_ptr<Done>> {
        auto run = runBenchmark(plan, job, [&](const BenchmarkRow& row) {
            auto text = std::make_shared<const std::string>(keptBenchRow(row));
            const std::lock_guard lock(inbox->mutex);
            inbox->rows.push_back(row);
            inbox->texts.push_back(std::move(text));
        });
        if (!run) return tl::unexpected(run.error());
        return doneOf(std::move(*run));
    };
    runJob<std::shared_ptr<Done>>(this, lane_->job(), work,
                                  [this](Result<std::shared_ptr<Done>> done) { finish(std::move(done)); });
    poll_.start();
    Q_EMIT rowsChanged();
}

void BenchRun::again() {
    const auto part = busyPart(plan_, run_.rows);
    if (running_ || !complete_ || !part) return;
    running_ = true;
    lane_ = std::make_unique<LaneWork>(session_, "Benchmark");
    const auto work = [part = *part, whole = run_](const Job& job) mutable -> Result<std::shared_ptr<Done>> {
        const auto fresh = runBenchmark(part, job);
        if (!fresh) return tl::unexpected(fresh.error());
        replaceBusy(whole, *fresh, part.model ? modelShapes(*part.model) : std::vector<ModelShape>());
        return doneOf(std::move(whole));
    };
    runJob<std::shared_ptr<Done>>(this, lane_->job(), work, [this](Result<std::shared_ptr<Done>> done) {
        if (done) ++number_; // other rows in the same places
        finish(std::move(done));
    });
    Q_EMIT rowsChanged();
}

void BenchRun::finish(Result<std::shared_ptr<Done>> done) {
    poll();
    running_ = false;
    lane_.reset();
    if (!asking_) poll_.stop();
    if (done) {
        run_ = std::move((*done)->run);
        texts_ = std::move((*done)->texts);
        complete_ = true;
        keep();
    } else {
        const auto sentence = QString::fromStdString(oneSentence(done.error().message));
        Q_EMIT failed(sentence);
    }
    Q_EMIT rowsChanged();
    Q_EMIT finished();
}

void BenchRun::cancel() {
    stopAsking();
    if (!running_) return;
    poll();
    running_ = false;
    lane_.reset(); // cancels its job
    poll_.stop();
    Q_EMIT rowsChanged();
    Q_EMIT finished();
}

void BenchRun::stopAsking() {
    if (!asking_) return;
    asks_.cancel();
    poll();
    question_ = std::make_shared<Inbox>();
    asking_ = false;
    Q_EMIT answersChanged();
}

void BenchRun::ask(const BenchmarkPlan& plan) {
    asks_.cancel();
    asks_ = Job();
    question_ = std::make_shared<Inbox>();
    answers_.clear();
    asking_ = true;
    const auto work = [plan, inbox = question_](const Job& job) -> Result<std::size_t> {
        auto all = capabilities(plan, job, [&](const Capability& row) {
            const std::lock_guard lock(inbox->mutex);
            inbox->answers.push_back(row);
        });
        if (!all) return tl::unexpected(all.error());
        return all->size();
    };
    runJob<std::size_t>(this, asks_, work, [this, mine = question_](Result<std::size_t> all) {
        if (mine != question_) return; // another question has taken its place
        asking_ = false;
        poll();
        if (!running_) poll_.stop();
        if (!all) Q_EMIT failed(QString::fromStdString(oneSentence(all.error().message)));
        Q_EMIT answersChanged();
    });
    poll_.start();
    Q_EMIT answersChanged();
}

void BenchRun::poll() {
    std::vector<BenchmarkRow> rows;
    Texts texts;
    std::vector<Capability> answers;
    {
        const std::lock_guard lock(inbox_->mutex);
        rows.swap(inbox_->rows);
        texts.swap(inbox_->texts);
    }
    {
        const std::lock_guard lock(question_->mutex);
        answers.swap(question_->answers);
    }
    if (!rows.empty()) {
        run_.rows.insert(run_.rows.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
        texts_.insert(texts_.end(), texts.begin(), texts.end());
        keep();
        Q_EMIT rowsChanged();
    }
    if (!answers.empty()) {
        answers_.insert(answers_.end(), std::make_move_iterator(answers.begin()),
                        std::make_move_iterator(answers.end()));
        Q_EMIT answersChanged();
    }
}

} // namespace qs::gui
