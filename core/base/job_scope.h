// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The job that a thread works for, for steps that nobody hands a Job: reading a tensor, opening a file. parallelFor's
// threads work for the job of their caller.

#include "core/base/job.h"

namespace qs {

class JobScope {
public:
    explicit JobScope(const Job* job) : before_(current_) { current_ = job; }
    ~JobScope() { current_ = before_; }
    JobScope(const JobScope&) = delete;
    JobScope& operator=(const JobScope&) = delete;

    static const Job* current() { return current_; } ///< null: none
    static bool cancelled() { return current_ && current_->cancelled(); }

private:
    const Job* before_;
    static inline thread_local const Job* current_ = nullptr;
};

} // namespace qs
