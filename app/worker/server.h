// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Answers the program's questions about one backend. The plugin is called from the thread of run() alone; a second
// thread reads, so that a cancel arrives while a step runs and the end of the program is noticed while a plugin hangs.

#include "app/worker/calls.h"

#include <condition_variable>
#include <deque>

namespace qs::worker {

/// Ends this process and all that the plugin has started.
[[noreturn]] void endGroup();

class Server {
public:
    Server(Descriptor control, std::string backend) : control_(std::move(control)), calls_(std::move(backend)) {}
    [[noreturn]] void run();

private:
    [[noreturn]] void read();
    void take(Frame frame);
    Frame next();
    Calls::Answer answer(Frame& frame);

    Channel control_;
    Calls calls_;

    std::mutex mutex_; ///< guards what follows
    std::condition_variable arrived_;
    std::deque<Frame> queue_;
    std::uint64_t running_ = 0; ///< id of the question that is being answered
};

} // namespace qs::worker
