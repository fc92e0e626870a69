// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/bench_run.h"

#include "app/gui/lane_work.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "core/base/text.h"
#include "core/bench/busy_rows.h"

#include <mutex>

namespace qs::gui {

// Where the work leaves what the window has not seen yet.
struct BenchRun::Inbox {
    std::mutex mutex;
    std::vector<BenchmarkRow> rows;
    std::vector<Capability> answers;
};

BenchRun::BenchRun(Session& session, QObject* parent)
    : QObject(parent), session_(session), inbox_(std::make_shared<Inbox>()), question_(std::make_shared<Inbox>()) {
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &BenchRun::poll);
    connect(&session, &Session::jobCancelled, this, &BenchRun::cancel);
}

BenchRun::~BenchRun() { asks_.cancel(); }

void BenchRun::start(const BenchmarkPlan& plan) {
    lane_.reset();
    plan_ = plan;
    run_ = {};
    complete_ = false;
    ++number_;
    running_ = true;
    inbox_ = std::make_shared<Inbox>();
    lane_ = std::make_unique<LaneWork>(session_, "Benchmark");
    const auto work = [plan, inbox = inbox_](const Job& job) -> Result<std::shared_ptr<BenchmarkRun>> {
        auto run = runBenchmark(plan, job, [&](const BenchmarkRow& row) {
            const std::lock_guard lock(inbox->mutex);
            inbox->rows.push_back(row);
        });
        if (!run) return tl::unexpected(run.error());
        return std::make_shared<BenchmarkRun>(std::move(*run));
    };
    runJob<std::shared_ptr<BenchmarkRun>>(
        this, lane_->job(), work, [this](Result<std::shared_ptr<BenchmarkRun>> run) { finish(std::move(run)); });
    poll_.start();
    Q_EMIT rowsChanged();
}

void BenchRun::again() {
    const auto part = busyPart(plan_, run_.rows);
    if (running_ || !complete_ || !part) return;
    running_ = true;
    lane_ = std::make_unique<LaneWork>(session_, "Benchmark");
    const auto work = [part = *part, whole = run_](const Job& job) -> Result<std::shared_ptr<BenchmarkRun>> {
        const auto fresh = runBenchmark(part, job);
        if (!fresh) return tl::unexpected(fresh.error());
        auto merged = std::make_shared<BenchmarkRun>(whole);
        replaceBusy(*merged, *fresh, part.model ? modelShapes(*part.model) : std::vector<ModelShape>());
        return merged;
    };
    runJob<std::shared_ptr<BenchmarkRun>>(this, lane_->job(), work, [this](Result<std::shared_ptr<BenchmarkRun>> run) {
        if (run) ++number_; // other rows in the same places
        finish(std::move(run));
    });
    Q_EMIT rowsChanged();
}

void BenchRun::finish(Result<std::shared_ptr<BenchmarkRun>> run) {
    poll();
    running_ = false;
    lane_.reset();
    if (!asking_) poll_.stop();
    if (run) {
        run_ = std::move(**run);
        complete_ = true;
    } else {
        const auto sentence = QString::fromStdString(oneSentence(run.error().message));
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
    std::vector<Capability> answers;
    {
        const std::lock_guard lock(inbox_->mutex);
        rows.swap(inbox_->rows);
    }
    {
        const std::lock_guard lock(question_->mutex);
        answers.swap(question_->answers);
    }
    if (!rows.empty()) {
        run_.rows.insert(run_.rows.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
        Q_EMIT rowsChanged();
    }
    if (!answers.empty()) {
        answers_.insert(answers_.end(), std::make_move_iterator(answers.begin()),
                        std::make_move_iterator(answers.end()));
        Q_EMIT answersChanged();
    }
}

} // namespace qs::gui
