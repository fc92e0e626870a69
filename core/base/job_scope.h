// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The job of the current thread, for steps that get no Job argument, such as reading a tensor or opening a file. The
// threads of parallelFor use the job of its caller.

#include "core/base/job.h"

namespace qs {

/// Sets the job of this thread; the destructor restores the previous one.
class JobScope {
public:
    explicit JobScope(const Job* job) : before_(current_) { current_ = job; }
    ~JobScope() { current_ = before_; }
    JobScope(const JobScope&) = delete;
    JobScope& operator=(const JobScope&) = delete;

    static const Job* current() { return current_; } ///< null if there is none
    static bool cancelled() { return current_ && current_->cancelled(); }

private:
    const Job* before_;
    static inline thread_local const Job* current_ = nullptr;
};

} // namespace qs
