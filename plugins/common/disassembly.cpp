// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/disassembly.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

// _Unwind_Find_FDE() belongs to the unwinder, which every C++ program has. It returns the frame description of a code
// address: where the function begins and how long it is. This also works in a stripped file.
struct dwarf_eh_bases {
    void *tbase, *dbase, *func;
};
extern "C" const void* _Unwind_Find_FDE(void* pc, struct dwarf_eh_bases* bases);

namespace qs::plugin {
namespace {

constexpr std::size_t kMostCode = std::size_t(1) << 20, kMostText = std::size_t(256) << 10;
constexpr std::size_t kMostFunctions = 8;

struct Extent {
    std::uintptr_t begin = 0, size = 0;
};
Extent extentOf(const void* function) {
    dwarf_eh_bases bases{};
    auto* inside = const_cast<char*>(static_cast<const char*>(function)) + 1;
    const auto* fde = static_cast<const char*>(_Unwind_Find_FDE(inside, &bases));
    if (!fde || bases.func != function) return {};
    // A frame description begins with length, CIE, begin and size. Each has 32 bits if the code is below 2 GiB.
    std::uint32_t size = 0;
    std::memcpy(&size, fde + 12, sizeof size);
    if (size == 0 || size > kMostCode) return {};
    return {reinterpret_cast<std::uintptr_t>(function), size};
}

struct Place {
    std::uintptr_t code = 0; ///< input: the address to look for
    std::string file;        ///< output: the file that holds it
    std::uintptr_t bias = 0; ///< output: address in memory minus address in the file
};
int findFile(dl_phdr_info* info, std::size_t, void* data) {
    auto& place = *static_cast<Place*>(data);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || place.code < begin || place.code >= begin + segment.p_memsz) continue;
        place.bias = info->dlpi_addr;
        place.file = info->dlpi_name ? info->dlpi_name : "";
        return 1;
    }
    return 0;
}
std::string ownFile() {
    std::array<char, 4096> path{};
    const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    return n > 0 ? std::string(path.data(), std::size_t(n)) : std::string();
}

/// Runs a program and appends its standard output to `out`. Returns false if it cannot be started or fails.
bool outputOf(const std::vector<std::string>& words, std::string& out) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3); // it must not inherit the socket of the worker
#endif
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::array<char, 16384> part;
    for (ssize_t n = 0; !failed && (n = ::read(ends[0], part.data(), part.size())) > 0;)
        if (out.size() < kMostText) out.append(part.data(), std::size_t(n));
    ::close(ends[0]);
    int status = 1;
    if (!failed)
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    return !failed && status == 0;
}

std::string hex(std::uintptr_t value) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
    return text.data();
}

/// Removes the lines about the file and its sections, which objdump prints first.
std::string instructionsOf(const std::string& printed) {
    const auto first = printed.find("\n0");
    return first == std::string::npos ? std::string() : printed.substr(first + 1);
}

/// Targets of jumps that leave [begin, begin + size). A function that only chooses another function ends with such a
/// jump.
std::vector<std::uintptr_t> leaving(const std::string& text, std::uintptr_t begin, std::uintptr_t size) {
    std::vector<std::uintptr_t> out;
    for (auto at = text.find("\tj"); at != std::string::npos; at = text.find("\tj", at + 1)) {
        const auto operand = text.find_first_not_of(' ', text.find(' ', at));
        if (operand == std::string::npos) break;
        const std::uintptr_t target = std::strtoull(text.c_str() + operand, nullptr, 16);
        if (target >= begin && target < begin + size) continue;
        if (target && std::find(out.begin(), out.end(), target) == out.end()) out.push_back(target);
    }
    return out;
}

Disassembly one(const void* function, std::vector<const void*>& next) {
    const Extent extent = extentOf(function);
    if (!extent.size) return {{}, "the length of the function is not known"};
    Place place{extent.begin, {}, 0};
    if (!::dl_iterate_phdr(findFile, &place)) return {{}, "the file of the function is not known"};
    if (place.file.empty()) place.file = ownFile();
    const std::uintptr_t begin = extent.begin - place.bias;
    std::vector<std::string> words = {"objdump", "--disassemble", "--demangle", "--no-show-raw-insn"};
#if defined(__x86_64__)
    words.emplace_back("--disassembler-options=intel");
#endif
    words.insert(words.end(),
                 {"--start-address=" + hex(begin), "--stop-address=" + hex(begin + extent.size), place.file});
    std::string printed;
    if (!outputOf(words, printed)) return {{}, "objdump (Debian, Ubuntu: binutils) is not installed or failed"};
    std::string text = instructionsOf(printed);
    if (text.empty()) return {{}, "objdump printed no instructions"};
    for (const auto target : leaving(text, begin, extent.size))
        next.push_back(reinterpret_cast<const void*>(target + place.bias));
    return {std::move(text), {}};
}

} // namespace

Disassembly disassemble(const void* function) {
    std::vector<const void*> functions = {function};
    Disassembly all;
    for (std::size_t i = 0; i < functions.size() && i < kMostFunctions; ++i) {
        std::vector<const void*> next;
        const Disassembly part = one(functions[i], next);
        if (i == 0 && part.text.empty()) return part;
        all.text += (i && !part.text.empty() ? "\n" : "") + part.text;
        for (const void* target : next)
            if (std::find(functions.begin(), functions.end(), target) == functions.end()) functions.push_back(target);
    }
    if (all.text.size() > kMostText) all.text = all.text.substr(0, all.text.rfind('\n', kMostText) + 1) + "...\n";
    return all;
}

} // namespace qs::plugin
