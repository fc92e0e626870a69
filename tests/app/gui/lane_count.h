// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Counts the jobs that a session shows in the job lane, for tests that expect none.

#include "app/gui/session.h"

namespace qs::test {

class LaneCount : public QObject {
public:
    explicit LaneCount(gui::Session& session) {
        connect(&session, &gui::Session::jobProgress, this, [this] { ++begun_; });
    }
    int begun() const { return begun_; }

private:
    int begun_ = 0;
};

} // namespace qs::test
