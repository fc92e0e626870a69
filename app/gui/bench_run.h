// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A benchmark while it runs and its rows afterwards, for the backends page. The work is done by workers; here rows are
// collected and handed to the window a few times a second.

#include "app/gui/task.h"
#include "core/bench/backend/capabilities.h"
#include "core/bench/run/benchmark.h"

#include <QObject>

#include <memory>

namespace qs::gui {

class Session;

class BenchRun : public QObject {
    Q_OBJECT
public:
    explicit BenchRun(Session& session, QObject* parent = nullptr);

    void start(const BenchmarkPlan& plan); ///< cancels the one before; its rows go
    void again();                          ///< times what is busy in a complete run again, and puts it in its place
    void cancel();                         ///< what was measured stays
    bool running() const { return task_.running(); }
    const std::vector<BenchmarkRow>& rows() const { return run_.rows; }
    const BenchmarkRun& run() const { return run_; } ///< roofs, passes and provenance once it is complete
    bool complete() const { return complete_; }
    int number() const { return number_; } ///< another one with each start: the rows begin anew
    const BenchmarkPlan& plan() const { return plan_; }
    /// What an opened session held, once; `sources`: the backends that there are. Nothing while one runs.
    void takeRestored(const std::vector<BackendSource>& sources);

    /// Asks every backend what it could run; answers arrive one by one.
    void ask(const BenchmarkPlan& plan);
    const std::vector<Capability>& answers() const { return answers_; }
    bool asking() const { return question_.running(); }
    void stopAsking(); ///< what has been answered stays

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
    void keep(); ///< for session files
    void finish(Done& done);
    Session& session_;
    BenchmarkPlan plan_;
    BenchmarkRun run_;
    Texts texts_;                                 ///< of its rows, as they are kept
    std::shared_ptr<const std::string> restored_; ///< what was taken
    std::vector<Capability> answers_;
    Task task_, question_, restoring_;
    int number_ = 0;
    bool complete_ = false;
};

} // namespace qs::gui
