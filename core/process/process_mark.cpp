// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/process_mark.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace qs {
namespace {

/// A directory entry as the system call getdents64 returns it (linux_dirent64).
struct FolderEntry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
};

int processNumber(const char* text) {
    int number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
    return *text ? -1 : number;
}

/// Appends `more` to `text`, which must have room for it.
void appendText(char* text, const char* more) { std::memcpy(text + std::strlen(text), more, std::strlen(more) + 1); }

/// True if the environment of the process holds `line`, which is NAME=mark.
bool isMarked(const char* process, const char* line) {
    char path[64] = "/proc/";
    if (std::strlen(process) > 20) return false;
    appendText(path, process);
    appendText(path, "/environ");
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char bytes[4096];
    const std::size_t wanted = std::strlen(line) + 1; // includes the NUL byte at its end
    std::size_t matched = 0;
    bool atStart = true, found = false;
    for (ssize_t got; !found && (got = ::read(file, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < got && !found; ++i) {
            if (atStart || matched > 0) matched = bytes[i] == line[matched] ? matched + 1 : 0;
            found = matched == wanted;
            atStart = bytes[i] == 0;
            if (atStart && !found) matched = 0;
        }
    ::close(file);
    return found;
}

/// Kills the marked processes that run now. Returns true if there were any.
bool killMarked(int folder, const char* line) {
    bool any = false;
    alignas(FolderEntry) char entries[4096];
    ::lseek(folder, 0, SEEK_SET);
    for (long got; (got = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
        for (long at = 0; at < got;) {
            const auto* entry = reinterpret_cast<const FolderEntry*>(entries + at);
            at += entry->length;
            const char* name = reinterpret_cast<const char*>(entry) + offsetof(FolderEntry, name);
            const int process = processNumber(name);
            if (process <= 1 || process == ::getpid() || !isMarked(name, line)) continue;
            any |= ::kill(process, SIGKILL) == 0;
        }
    return any;
}

} // namespace

std::string newProcessMark() {
    static std::atomic<unsigned> last{0};
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return fmt::format("{}-{}-{}", ::getpid(), ++last, now);
}

void endMarked(const char* mark) {
    char line[128] = "";
    if (!mark || !*mark || std::strlen(mark) > 80) return;
    appendText(line, kProcessMark);
    appendText(line, "=");
    appendText(line, mark);
    const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    for (int pass = 0; pass < 8 && killMarked(folder, line); ++pass) {
    } // several passes, because a marked process may start another one meanwhile
    ::close(folder);
}

} // namespace qs
