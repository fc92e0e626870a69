// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/spawn.h"

#include "core/process/descriptor.h"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <spawn.h>
#include <thread>
#include <unistd.h>

namespace qs {
namespace {

/// The thread that starts all workers.
class Starter {
public:
    static Starter& instance() {
        static auto* const starter = new Starter; // never destroyed, because its thread never ends
        return *starter;
    }
    tl::expected<pid_t, int> run(std::packaged_task<tl::expected<pid_t, int>()> task) {
        auto result = task.get_future();
        {
            const std::lock_guard lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        wake_.notify_one();
        return result.get();
    }

private:
    Starter() {
        std::thread([this] { work(); }).detach();
    }
    [[noreturn]] void work() {
        for (;;) {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return !tasks_.empty(); });
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
        }
    }
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::packaged_task<tl::expected<pid_t, int>()>> tasks_;
};

tl::expected<pid_t, int> spawnHere(const std::string& program, const std::vector<std::string>& arguments,
                                   const std::vector<int>& descriptors, const std::vector<std::string>& environment) {
    // Copies each descriptor to a number above all that are given. Otherwise dup2() to 0, 1, 2, ... could overwrite one of
    // them. No higher than that, because the user may have a low limit.
    std::vector<Descriptor> high;
    for (const int descriptor : descriptors) {
        high.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC, int(descriptors.size())));
        if (!high.back()) return tl::unexpected(errno);
    }
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> variables;
    for (const auto& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
    variables.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (std::size_t i = 0; i < high.size(); ++i) posix_spawn_file_actions_adddup2(&actions, high[i].get(), int(i));
    posix_spawn_file_actions_addclosefrom_np(&actions, int(high.size()));
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error) return tl::unexpected(error);
    return pid;
}

} // namespace

tl::expected<pid_t, int> spawn(const std::string& program, const std::vector<std::string>& arguments,
                               const std::vector<int>& descriptors, const std::vector<std::string>& environment) {
    return Starter::instance().run(std::packaged_task<tl::expected<pid_t, int>()>(
        [&] { return spawnHere(program, arguments, descriptors, environment); }));
}

} // namespace qs
