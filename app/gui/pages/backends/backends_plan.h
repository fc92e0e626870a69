// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the benchmark is to run: backends, specs, shapes of the model, M, operation, activations, cache.

#include "core/bench/backend/capabilities.h"
#include "core/bench/run/benchmark.h"

#include <QWidget>

#include <map>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLayout;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QVBoxLayout;

namespace qs::gui {

class TickList;
class Session;

class BackendsPlan : public QWidget {
    Q_OBJECT
public:
    explicit BackendsPlan(Session& session, QWidget* parent = nullptr);
    /// What the controls say, or the sentence that stands under them.
    Result<BenchmarkPlan> plan() const;
    void setRunning(bool running);
    double secondsNeeded() const { return secondsNeeded_; } ///< by plan() at least, as the note under it says
    /// A backend library, or a PJRT plugin for pjrt to run on; offered again after a restart, until it is removed.
    void addPlugin(const QString& path);
    void removePlugin(const QString& path);
    void assumeCache(std::uint64_t bytes) { cacheBytes_ = bytes; } ///< of the host, for tests: fewer copies to make
    void setAnswers(const std::vector<Capability>& answers);       ///< how many variants there are to time
    const std::vector<BackendSource>& sources() const { return sources_; }

Q_SIGNALS:
    void changed(); ///< anything that plan() gives
    void runAsked();
    void cancelAsked();
    void askAsked(); ///< which of it could run

protected:
    void showEvent(QShowEvent* event) override;

private:
    static QLabel* caption(const QString& text);
    TickList* list(QVBoxLayout* column, const QString& title, const char* name, int height, QWidget* beside = nullptr);
    QLayout* fields();
    void showTopology(); ///< its box, where a PJRT plugin is in the list
    Result<BackendSource> withTopology(BackendSource source) const;
    void listBackends();
    void keepPlugins();
    void listSpecs();
    void listShapes();
    void estimate();
    Session& session_;
    std::vector<BackendSource> sources_;
    QStringList plugins_;
    std::vector<std::pair<std::string, QuantSpec>> specs_;
    std::vector<ModelShape> shapes_;
    struct Ways {
        std::size_t all = 0, timed = 0; ///< variants; of one that only compiles none is timed
    };
    std::map<std::pair<std::string, std::string>, Ways> variants_; ///< by backend and spec
    TickList *backends_ = nullptr, *specList_ = nullptr, *shapeList_ = nullptr;
    QLineEdit *ms_ = nullptr, *addSpec_ = nullptr, *addShape_ = nullptr;
    QComboBox *op_ = nullptr, *act_ = nullptr, *cache_ = nullptr;
    QCheckBox* bias_ = nullptr;
    QDoubleSpinBox* seconds_ = nullptr;
    QSpinBox *threads_ = nullptr, *memory_ = nullptr;
    QLineEdit* topology_ = nullptr;
    QLabel* topologyCaption_ = nullptr;
    QLabel *note_ = nullptr, *complaint_ = nullptr;
    QPushButton *run_ = nullptr, *cancel_ = nullptr;
    std::uint64_t cacheBytes_ = 0;
    double secondsNeeded_ = 0;
    bool running_ = false, stale_ = false; ///< the list of specs
};

} // namespace qs::gui
