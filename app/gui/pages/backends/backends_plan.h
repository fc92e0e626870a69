// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The controls of a benchmark: backends, specs, shapes of the model, M, operation, activations, cache.

#include "core/bench/backend/capabilities.h"
#include "core/bench/run/benchmark.h"

#include <QWidget>

#include <map>

class QLabel;
class QLayout;
class QPushButton;

namespace qs::gui {

class PlanFields;
class PlanShapes;
class PlanSources;
class PlanSpecs;
class Session;

class BackendsPlan : public QWidget {
    Q_OBJECT
public:
    explicit BackendsPlan(Session& session, QWidget* parent = nullptr);
    /// The plan of the controls, or the sentence that the note shows.
    Result<BenchmarkPlan> plan() const;
    void setRunning(bool running);
    double secondsNeeded() const { return secondsNeeded_; } ///< the least time that plan() needs, as in the note
    void addPlugin(const QString& path);                    ///< see PlanSources
    void removePlugin(const QString& path);
    /// size of the host's cache; smaller in tests, which then need fewer copies
    void assumeCache(std::uint64_t bytes) { cacheBytes_ = bytes; }
    void setAnswers(const std::vector<Capability>& answers); ///< gives the number of variants to time
    const std::vector<BackendSource>& sources() const;

Q_SIGNALS:
    void changed(); ///< anything in plan() has changed
    void runAsked();
    void cancelAsked();
    void askAsked(); ///< the user wants to know what can run

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Ways {
        std::size_t all = 0, timed = 0; ///< number of variants; a variant that is only compiled is not timed
    };
    QLayout* buttons();
    void estimate();
    void complain(const QString& sentence); ///< "": there is nothing to complain about
    void showRows(const BenchmarkPlan& plan);
    Session& session_;
    PlanSources* sources_ = nullptr;
    PlanSpecs* specs_ = nullptr;
    PlanShapes* shapes_ = nullptr;
    PlanFields* fields_ = nullptr;
    std::map<std::pair<std::string, std::string>, Ways> variants_; ///< by backend and spec
    QLabel *note_ = nullptr, *complaint_ = nullptr;
    QPushButton *run_ = nullptr, *cancel_ = nullptr;
    std::uint64_t cacheBytes_ = 0;
    double secondsNeeded_ = 0;
    bool running_ = false;
};

} // namespace qs::gui
