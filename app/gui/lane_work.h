// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Long work of a page that is shown in the job lane while this lives, and cancelled with everything else. The page
// drops it when the work is done, and when Session::jobCancelled() says that it will not be.

#include "core/base/job.h"

#include <QPointer>

#include <memory>
#include <string>

namespace qs::gui {

class Session;

class LaneWork {
public:
    LaneWork(Session& session, const std::string& what); ///< "Composing the report"
    ~LaneWork();
    LaneWork(const LaneWork&) = delete;
    LaneWork& operator=(const LaneWork&) = delete;

    const Job& job() const { return job_; }

    void sayAgain() const; ///< the last progress: other work that the lane showed is over

private:
    struct Said;
    QPointer<Session> session_;
    std::shared_ptr<Said> said_; ///< progress on its way to the lane looks whether this is still there
    Job job_;
};

} // namespace qs::gui
