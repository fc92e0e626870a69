// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Answers the program's requests to one backend. Only the thread of run() calls the plugin. A second thread reads the
// requests, so a cancel arrives while a request runs. It also notices the end of the program while a plugin hangs.

#include "app/worker/calls.h"

#include <condition_variable>
#include <deque>

namespace qs::worker {

/// Ends this process and all processes that the plugin has started.
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

    std::mutex mutex_; ///< guards the members below
    std::condition_variable arrived_;
    std::deque<Frame> queue_;
    std::uint64_t running_ = 0;   ///< id of the request that runs now; 0 if none
    std::uint64_t cancelled_ = 0; ///< id of a request that was cancelled before it ran; 0 if none
};

} // namespace qs::worker
