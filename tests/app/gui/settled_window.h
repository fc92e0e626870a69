// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Waits until the page in front has shown all that it computes by itself.

#include "app/gui/main_window.h"
#include "app/gui/widgets/staged_refresh.h"
#include "opened_session.h"

#include <algorithm>

inline bool isSettled(const qs::gui::Session& session, const qs::gui::MainWindow& window) {
    if (session.busy()) return false;
    const auto stages = window.currentPage()->findChildren<qs::gui::StagedRefresh*>();
    return std::none_of(stages.begin(), stages.end(), [](const auto* one) { return one->pending(); });
}

/// False: it never settles. Some pages start work after they have been idle for a while.
inline bool settles(const qs::gui::Session& session, const qs::gui::MainWindow& window) {
    for (const int after : {80, 40}) {
        if (!QTest::qWaitFor([&] { return isSettled(session, window); }, 240'000)) return false;
        QTest::qWait(after);
    }
    return true;
}
