// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A small file that exists while the window runs. A file whose process is gone means that the program ended
// unexpectedly.

#include <QString>

namespace qs::gui {

class RunMark {
public:
    /// reads and removes the files of ended processes, and creates its own
    explicit RunMark(const QString& folder);
    ~RunMark();
    RunMark(const RunMark&) = delete;
    RunMark& operator=(const RunMark&) = delete;
    bool anotherDied() const { return died_; }

private:
    QString path_;
    bool died_ = false;
};

} // namespace qs::gui
