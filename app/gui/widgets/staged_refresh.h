// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Work that one signal causes, spread over turns of the event loop: one stage a turn, each painted before the next, so
// that no turn blocks the window. A stage asked for again while it waits is done once. Nothing runs while inactive.

#include <QObject>
#include <QTimer>

#include <functional>
#include <vector>

namespace qs::gui {

class StagedRefresh : public QObject {
    Q_OBJECT
public:
    explicit StagedRefresh(QObject* parent = nullptr);
    int add(std::function<void()> stage); ///< its number
    void ask(int stage);
    void askAll();
    void setActive(bool active); ///< a hidden page keeps its questions and answers them when it is shown
    bool pending() const;

Q_SIGNALS:
    void settled(); ///< the last waiting stage is done

private:
    void run();
    std::vector<std::function<void()>> stages_;
    std::vector<bool> asked_;
    std::size_t next_ = 0; ///< round robin: a busy early stage must not starve a late one
    bool active_ = false;
    QTimer timer_;
};

} // namespace qs::gui
