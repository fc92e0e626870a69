// SPDX-License-Identifier: GPL-3.0-or-later
// The two threads of a worker: one reads frames, one answers them.
#include "app/worker/server.h"

#include "core/bench/backend/wire_values.h"
#include "core/process/process_mark.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace qs::worker {
namespace {

constexpr std::size_t kMostWaiting = 8;

[[noreturn]] void refuse(const std::string& what) {
    std::fprintf(stderr, "quantscope-worker: the program sent a wrong request: %s\n", what.c_str());
    endGroup();
}

} // namespace

void endGroup() {
    endMarked(std::getenv(kProcessMark));
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    _exit(1);
}

void Server::run() {
    std::thread([this] { read(); }).detach();
    for (;;) {
        Frame frame = next();
        Calls::Answer answered = answer(frame);
        nlohmann::json reply = {{"id", running_}};
        if (answered)
            reply["answer"] = std::move(*answered);
        else
            reply["failure"] = wireOf(answered.error());
        {
            const std::lock_guard lock(mutex_);
            running_ = 0;
        }
        const bool sent = bool(control_.send(reply));
        if (calls_.isClosed()) _exit(0); // skips the destructors of vendor libraries, which could crash
        if (!sent) endGroup();
    }
}

void Server::read() {
    for (;;) {
        auto frame = control_.receive();
        if (!frame && frame.error().closed) endGroup(); // the program has ended
        if (!frame) refuse(frame.error().what);
        if (*frame) {
            take(std::move(**frame));
            continue;
        }
        pollfd ready{control_.descriptor(), POLLIN, 0};
        poll(&ready, 1, -1);
    }
}

void Server::take(Frame frame) {
    Fields fields(frame.body);
    const bool cancel = fields.text("call", 32) == "cancel";
    const auto id = fields.count("id", UINT64_MAX);
    if (fields.problem()) refuse(*fields.problem());
    const std::lock_guard lock(mutex_);
    if (!cancel) {
        if (queue_.size() >= kMostWaiting) refuse("too many requests are waiting");
        queue_.push_back(std::move(frame));
        arrived_.notify_one();
    } else if (id == running_) {
        calls_.cancel();
    } else {
        cancelled_ = id;
    }
}

Frame Server::next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !queue_.empty(); });
    Frame frame = std::move(queue_.front());
    queue_.pop_front();
    running_ = frame.body["id"].get<std::uint64_t>();
    calls_.begin();
    if (running_ == cancelled_) calls_.cancel();
    return frame;
}

Calls::Answer Server::answer(Frame& frame) {
    Fields fields(frame.body);
    const std::string name = fields.text("call", 32);
    auto answered = calls_.answer(name, fields, frame);
    if (!answered) refuse("there is no call '" + name + "'");
    if (fields.problem()) refuse(*fields.problem());
    return std::move(*answered);
}

} // namespace qs::worker
