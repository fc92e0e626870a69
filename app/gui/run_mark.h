// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A small file while the window runs. One that is left by a process that is gone says that it ended unexpectedly.

#include <QString>

namespace qs::gui {

class RunMark {
public:
    explicit RunMark(const QString& folder); ///< looks at what others left, takes it away, and leaves its own
    ~RunMark();
    RunMark(const RunMark&) = delete;
    RunMark& operator=(const RunMark&) = delete;
    bool anotherDied() const { return died_; }

private:
    QString path_;
    bool died_ = false;
};

} // namespace qs::gui
