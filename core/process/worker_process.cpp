// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_process.h"

#include "core/base/text.h"
#include "core/process/process_mark.h"
#include "core/process/spawn.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace qs {
namespace {

constexpr std::size_t kLog = 64 * 1024;
constexpr double kUnkillable = 5; ///< seconds to wait for a killed process; one that hangs in a driver may never end

void keepTail(std::string& text, std::size_t most) {
    if (text.size() > 2 * most) text.erase(0, text.size() - most);
}

Ending endingOf(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED) return {fmt::format("exited with code {}", info.si_status), true, info.si_status};
    const char* name = sigabbrev_np(info.si_status);
    return {name ? std::string("SIG") + name : fmt::format("signal {}", info.si_status), false, info.si_status};
}

/// Waits for the end of `pid` but does not reap it. No other process can get its number before it is reaped.
bool awaitEnd(pid_t pid, double seconds, siginfo_t& info) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
        info = {};
        if (waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
        if (info.si_pid == pid) return true;
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace

std::string workerProgram() {
    if (const char* named = std::getenv("QS_WORKER"); named && *named) return named;
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : (self.parent_path() / "quantscope-worker").string();
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(WorkerStart how) {
    const std::string program = workerProgram();
    // Without its folder the name alone would be a file of the current folder, which a stranger may have filled.
    if (program.empty()) return fail("The worker does not start: /proc does not say where this program is.");
    const auto failed = [&](int error) {
        return fail(
            fmt::format("The worker {} does not start: {}.", escapeForPeople(program, 200), std::strerror(error)),
            program);
    };
    int sockets[2], out[2], err[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return failed(errno);
    Descriptor ours(sockets[0]), theirs(sockets[1]);
    if (pipe2(out, O_CLOEXEC) != 0) return failed(errno);
    Descriptor outRead(out[0]), outWrite(out[1]);
    if (pipe2(err, O_CLOEXEC) != 0) return failed(errno);
    Descriptor errRead(err[0]), errWrite(err[1]);
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return failed(errno);
    fcntl(outRead.get(), F_SETFL, O_NONBLOCK);
    fcntl(errRead.get(), F_SETFL, O_NONBLOCK);
    std::vector<int> descriptors{nothing.get(), outWrite.get(), errWrite.get(), theirs.get()};
    descriptors.insert(descriptors.end(), how.descriptors.begin(), how.descriptors.end());
    how.arguments.insert(how.arguments.end(), {"--cfg", "3"});
    const auto mark = how.startsOthers ? newProcessMark() : std::string();
    if (how.startsOthers) how.environment.push_back(std::string(kProcessMark) + '=' + mark);
    const auto pid = spawn(program, how.arguments, descriptors, how.environment);
    if (!pid) return failed(pid.error());
    auto started = std::unique_ptr<WorkerProcess>(
        new WorkerProcess(*pid, std::move(ours), std::move(outRead), std::move(errRead)));
    started->mark_ = mark;
    return started;
}

WorkerProcess::WorkerProcess(pid_t pid, Descriptor control, Descriptor out, Descriptor err)
    : pid_(pid), control_(std::move(control)), pidfd_(int(syscall(SYS_pidfd_open, pid, 0))), out_{std::move(out), {}},
      err_{std::move(err), {}} {}

void WorkerProcess::wait(int milliseconds) {
    pollfd watched[] = {{control_.descriptor(), POLLIN, 0},
                        {out_.pipe.get(), POLLIN, 0}, // -1 after it is closed; poll() ignores that
                        {err_.pipe.get(), POLLIN, 0},
                        {pidfd_.get(), POLLIN, 0}};
    poll(watched, 4, milliseconds);
    drain(out_);
    drain(err_);
}

void WorkerProcess::drain(Stream& stream) {
    char chunk[16 * 1024];
    // At most 64 reads. A process that prints without end must not keep the caller from checking its deadline.
    for (int i = 0; i < 64 && stream.pipe; ++i) {
        const ssize_t got = read(stream.pipe.get(), chunk, sizeof chunk);
        if (got < 0) return;
        if (got == 0) {
            stream.pipe = Descriptor();
            return;
        }
        stream.tail.append(chunk, std::size_t(got));
        log_.append(chunk, std::size_t(got));
        keepTail(stream.tail, 4096);
        keepTail(log_, kLog);
    }
}

bool WorkerProcess::dead() const {
    siginfo_t info{};
    return pid_ < 0 || awaitEnd(pid_, 0, info);
}

double WorkerProcess::cpuSeconds() const {
    clockid_t clock{};
    timespec used{};
    if (pid_ < 0 || clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
    return double(used.tv_sec) + double(used.tv_nsec) * 1e-9;
}

bool WorkerProcess::waitsForDisk() const {
    if (pid_ < 0) return false;
    std::ifstream file(fmt::format("/proc/{}/stat", pid_));
    std::string text;
    std::getline(file, text);
    const auto name = text.rfind(')'); // search from the end, because the process name may contain any character
    return name != std::string::npos && text.compare(name, 3, ") D") == 0;
}

Ending WorkerProcess::end(double grace) {
    if (pid_ < 0) return ending_;
    siginfo_t info{};
    const bool itself = awaitEnd(pid_, grace, info);
    if (itself && info.si_pid == pid_) ending_ = endingOf(info);
    kill(-pid_, SIGKILL);
    if (!mark_.empty()) endMarked(mark_.c_str());
    if (awaitEnd(pid_, kUnkillable, info))
        waitpid(pid_, nullptr, 0);
    else
        std::thread([pid = pid_] { waitpid(pid, nullptr, 0); }).detach();
    pid_ = -1;
    drain(out_);
    drain(err_);
    return ending_;
}

std::string WorkerProcess::lastErrorLine() const {
    std::string_view text = err_.tail;
    while (!text.empty()) {
        const auto start = text.rfind('\n');
        const auto line = start == std::string_view::npos ? text : text.substr(start + 1);
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) return escapeForPeople(line, 160);
        if (start == std::string_view::npos) return {};
        text = text.substr(0, start);
    }
    return {};
}

} // namespace qs
