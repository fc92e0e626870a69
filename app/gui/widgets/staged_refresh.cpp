// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/staged_refresh.h"

#include "core/base/lists.h"

namespace qs::gui {

StagedRefresh::StagedRefresh(QObject* parent) : QObject(parent) {
    timer_.setSingleShot(true);
    timer_.setInterval(0);
    connect(&timer_, &QTimer::timeout, this, &StagedRefresh::run);
}

int StagedRefresh::add(std::function<void()> stage) {
    stages_.push_back(std::move(stage));
    asked_.push_back(false);
    return int(stages_.size()) - 1;
}

void StagedRefresh::ask(int stage) {
    asked_[std::size_t(stage)] = true;
    if (active_ && !timer_.isActive()) timer_.start();
}

void StagedRefresh::askAll() {
    for (int stage = 0; stage < int(stages_.size()); ++stage) ask(stage);
}

bool StagedRefresh::pending() const { return contains(asked_, true); }

void StagedRefresh::setActive(bool active) {
    active_ = active;
    if (active && pending()) timer_.start();
    if (!active) timer_.stop();
}

void StagedRefresh::run() {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        const std::size_t stage = (next_ + i) % stages_.size();
        if (!asked_[stage]) continue;
        asked_[stage] = false;
        next_ = stage + 1;
        stages_[stage]();
        break;
    }
    if (pending()) {
        timer_.start();
    } else {
        next_ = 0;
        Q_EMIT settled();
    }
}

} // namespace qs::gui
