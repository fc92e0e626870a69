// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/sandbox.h"

#include "core/process/descriptor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <seccomp.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace qs::worker {
namespace {

#if defined(__has_feature)
#define QS_CLANG_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define QS_CLANG_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || QS_CLANG_SANITIZER
constexpr bool kSanitized = true; // the shadow memory of a sanitizer takes terabytes of addresses
#else
constexpr bool kSanitized = false;
#endif

constexpr rlim_t kAddresses = rlim_t(3) << 30;       ///< bytes: caches of libhdf5, a chunk, its packed form, the window
constexpr rlim_t kDescriptors = kSanitized ? 16 : 6; ///< the descriptors that are open; also the limit of poll()
constexpr rlim_t kSeconds = 3600;                    ///< CPU time; the deadlines of the program are much shorter

/// Sets a limit to `most`, or leaves a lower one that the user or a batch system has set: no process may raise that.
bool limit(decltype(RLIMIT_CORE) what, rlim_t most) {
    rlimit now{};
    if (getrlimit(what, &now) != 0) return false;
    most = std::min(most, now.rlim_max);
    const rlimit value{std::min(most, now.rlim_cur), most};
    return setrlimit(what, &value) == 0;
}

/// True if the kernel says that a filter of system calls is in force. `status` is /proc/self/status, opened before the
/// filter denied that. This does not ask libseccomp, which may be another library than it should be.
bool isFiltered(const Descriptor& status) {
    std::string text;
    std::array<char, 4096> part;
    for (ssize_t got; (got = read(status.get(), part.data(), part.size())) > 0;)
        text.append(part.data(), std::size_t(got));
    return text.find("\nSeccomp:\t2\n") != std::string::npos;
}

/// System calls on open descriptors, on memory, on the clock, and those that end the process.
constexpr int kAllowed[] = {
    SCMP_SYS(read),        SCMP_SYS(pread64),     SCMP_SYS(write),         SCMP_SYS(recvmsg),
    SCMP_SYS(recvfrom),    SCMP_SYS(sendmsg),     SCMP_SYS(poll),          SCMP_SYS(ppoll),
    SCMP_SYS(brk),         SCMP_SYS(munmap),      SCMP_SYS(mremap),        SCMP_SYS(madvise),
    SCMP_SYS(newfstatat),  SCMP_SYS(fstat),       SCMP_SYS(lseek),         SCMP_SYS(futex),
    SCMP_SYS(getpid),      SCMP_SYS(gettid),      SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
    SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield), SCMP_SYS(rt_sigreturn),  SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(exit),        SCMP_SYS(exit_group),  SCMP_SYS(close),
};

} // namespace

std::string enterSandbox() {
    const Descriptor status(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    if (!status) return std::string("/proc/self/status: ") + std::strerror(errno);
    if (!kSanitized && !limit(RLIMIT_AS, kAddresses)) return "its memory cannot be limited";
    if (!limit(RLIMIT_CPU, kSeconds) || !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_NOFILE, kDescriptors) ||
        !limit(RLIMIT_CORE, 0))
        return "its limits cannot be set";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return std::string("no_new_privs: ") + std::strerror(errno);
    const std::unique_ptr<void, void (*)(void*)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
    if (!filter) return "no filter of system calls can be made";
    int failed = 0;
    for (const int call : kAllowed) failed |= seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    // Only anonymous memory that is not executable can be mapped from now on.
    failed |=
        seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                         SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    // abort() needs tgkill(). It is allowed for this process only.
    failed |= seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                               SCMP_A0(SCMP_CMP_EQ, scmp_datum_t(getpid())));
    // UBSan's check of vptrs uses a pipe to find out whether memory is mapped.
    if (kSanitized)
        for (const int call : {SCMP_SYS(pipe), SCMP_SYS(pipe2)})
            failed |= seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    if (failed) return "a rule of the filter is refused";
    if (const int error = seccomp_load(filter.get()))
        return std::string("the kernel takes no filter: ") + std::strerror(-error);
    if (!isFiltered(status)) return "its filter is not in force";
    return {};
}

std::vector<std::pair<std::string, int>> tryForbidden() {
    std::vector<std::pair<std::string, int>> tried;
    const auto tell = [&](const char* what, long result) { tried.emplace_back(what, result >= 0 ? 0 : errno); };
    tell("open", open("/etc/passwd", O_RDONLY));
    tell("create", open("/tmp/quantscope-probe", O_WRONLY | O_CREAT, 0600));
    tell("socket", socket(AF_INET, SOCK_STREAM, 0));
    tell("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
    char program[] = "/bin/true";
    char* const arguments[] = {program, nullptr};
    tell("exec", execve(program, arguments, arguments + 1));
    const long child = syscall(SYS_fork);
    if (child == 0) _exit(0);
    tell("fork", child);
    tell("kill", kill(getppid(), 0));
    tell("ptrace", syscall(SYS_ptrace, 16, getppid(), 0, 0));
    void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tell("executable memory", code == MAP_FAILED ? -1 : 0);
    tell("memfd", syscall(SYS_memfd_create, "x", 0));
    tell("unlink", unlink("/tmp/quantscope-probe"));
    return tried;
}

} // namespace qs::worker
