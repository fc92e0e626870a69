// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Spreads the work after a signal over turns of the event loop. Each turn runs one stage and paints before the next, so
// that no turn blocks the window. A stage that is requested again while it waits runs once. Nothing runs while
// inactive.

#include <QObject>
#include <QTimer>

#include <functional>
#include <vector>

namespace qs::gui {

class StagedRefresh : public QObject {
    Q_OBJECT
public:
    explicit StagedRefresh(QObject* parent = nullptr);
    int add(std::function<void()> stage); ///< returns the number of the stage
    void ask(int stage);
    void askAll();
    void setActive(bool active); ///< a hidden page keeps its requests and serves them when it is shown
    bool pending() const;

Q_SIGNALS:
    void settled(); ///< the last waiting stage has run

private:
    void run();
    std::vector<std::function<void()>> stages_;
    std::vector<bool> asked_;
    std::size_t next_ = 0; ///< round robin: a frequently requested early stage must not block a later one
    bool active_ = false;
    QTimer timer_;
};

} // namespace qs::gui
