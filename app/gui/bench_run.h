// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Runs a benchmark for the backends page and keeps its rows. Worker processes measure; this class collects their rows
// and passes them to the window a few times a second.

#include "app/gui/task.h"
#include "core/bench/backend/capabilities.h"
#include "core/bench/run/benchmark.h"

#include <QObject>

#include <memory>

namespace qs::gui {

class Session;

/// Gives the session the rows of an opened session file, where no page has taken them yet. They come a moment later.
void takeKeptTimes(Session& session, Task& task);

class BenchRun : public QObject {
    Q_OBJECT
public:
    explicit BenchRun(Session& session, QObject* parent = nullptr);

    void start(const BenchmarkPlan& plan); ///< cancels a running benchmark and deletes its rows
    /// measures rows again that were disturbed by other load, and replaces them; needs a complete run
    void again();
    void cancel(); ///< keeps the rows measured so far
    bool running() const { return task_.running(); }
    const std::vector<BenchmarkRow>& rows() const { return run_.rows; }
    /// roofs, passes and provenance are filled once the run is complete
    const BenchmarkRun& run() const { return run_; }
    bool complete() const { return complete_; }
    int number() const { return number_; } ///< changes with each start: the rows then begin at 0 again
    const BenchmarkPlan& plan() const { return plan_; }
    /// Takes over the rows of an opened session file, once. `sources`: the backends of this machine. Does nothing
    /// during a run.
    void takeRestored(const std::vector<BackendSource>& sources);

    /// Asks every backend which rows of the plan it can run. The answers arrive one by one.
    void ask(const BenchmarkPlan& plan);
    const std::vector<Capability>& answers() const { return answers_; }
    bool asking() const { return question_.running(); }
    void stopAsking(); ///< keeps the answers that have arrived

Q_SIGNALS:
    void rowsChanged();
    void answersChanged();
    void finished();
    void failed(const QString& sentence);

private:
    using Texts = std::vector<std::shared_ptr<const std::string>>;
    struct Done {
        BenchmarkRun run;
        Texts texts;
    };
    static std::shared_ptr<Done> doneOf(BenchmarkRun run);
    void forget(); ///< rows at the shapes of another model, and what runs for it
    void keep();   ///< hands the rows to the session, for session files
    void finish(Done& done);
    Session& session_;
    BenchmarkPlan plan_;
    BenchmarkRun run_;
    Texts texts_;                                 ///< the rows as text, for session files
    std::shared_ptr<const std::string> restored_; ///< the text that was read from a session file
    std::vector<Capability> answers_;
    Task task_, question_, restoring_;
    int number_ = 0;
    bool complete_ = false;
};

} // namespace qs::gui
