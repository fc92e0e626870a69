// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The controls of a benchmark: backends, specs, shapes of the model, M, operation, activations, cache.

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
    /// The plan of the controls, or the sentence that the note shows.
    Result<BenchmarkPlan> plan() const;
    void setRunning(bool running);
    double secondsNeeded() const { return secondsNeeded_; } ///< the least time that plan() needs, as in the note
    /// Adds a backend library, or a PJRT plugin for the backend pjrt. It is listed again after a restart, until
    /// removed.
    void addPlugin(const QString& path);
    void removePlugin(const QString& path);
    /// size of the host's cache; smaller in tests, which then need fewer copies
    void assumeCache(std::uint64_t bytes) { cacheBytes_ = bytes; }
    void setAnswers(const std::vector<Capability>& answers); ///< gives the number of variants to time
    const std::vector<BackendSource>& sources() const { return sources_; }

Q_SIGNALS:
    void changed(); ///< anything in plan() has changed
    void runAsked();
    void cancelAsked();
    void askAsked(); ///< the user wants to know what can run

protected:
    void showEvent(QShowEvent* event) override;

private:
    static QLabel* caption(const QString& text);
    TickList* list(QVBoxLayout* column, const QString& title, const char* name, int height, QWidget* beside = nullptr);
    QLayout* fields();
    void showTopology(); ///< shows the field of the topology if the list has a PJRT plugin
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
        std::size_t all = 0, timed = 0; ///< number of variants; a variant that is only compiled is not timed
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
    bool running_ = false, stale_ = false; ///< stale_: the list of specs is out of date
};

} // namespace qs::gui
