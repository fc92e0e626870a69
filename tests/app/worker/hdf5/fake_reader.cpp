// SPDX-License-Identifier: GPL-3.0-or-later
// A faulty HDF5 reader process. The word after the magic number of its input file selects the fault.
#include "core/model/hdf5/window.h"
#include "core/process/frame.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using nlohmann::json;

namespace {

std::string mode;

json rowsFor(const std::string& how) {
    if (how == "flood") { // 15 GB of paths, if the host accepted all
        json rows = json::array();
        for (int i = 0; i < 150; ++i) rows.push_back({{"path", std::string(15'000, 'x')}, {"reason", "is long"}});
        return rows;
    }
    json row = {{"path", "/layer/kernel"}, {"type", "F32"}, {"shape", {16, 16}}, {"stored", 100}, {"note", "gzip"}};
    if (how == "offset") row["offset"] = 1u << 20;
    if (how == "overflow") row["shape"] = {std::uint64_t(1) << 62, 16};
    if (how == "type") row["type"] = "F4";
    if (how == "shape") row["shape"] = {-1};
    return json::array({row});
}

/// Returns false if no answer is to be sent.
bool answer(const std::string& call, json& message, qs::Channel& control) {
    if (call == "open") {
        if (mode == "crash") {
            signal(SIGSEGV, SIG_DFL); // the sanitizer must not handle it
            raise(SIGSEGV);
        }
        if (mode == "hang" || mode == "sleep") return false;
        // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork): it is what is wanted
        if (mode == "disk" && vfork() == 0) { // until the child ends, the kernel counts this process among waiting ones
            usleep(1'000'000);
            _exit(0);
        }
        // NOLINTEND(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
        for (volatile bool spins = mode == "spin"; spins;) {
        }
        if (mode == "exit") _exit(7);
        if (mode == "limited") {
            std::fputs("quantscope-worker: the sandbox cannot be entered: its limits cannot be set\n", stderr);
            _exit(qs::kHdf5NoSandbox);
        }
        if (mode == "garbage") {
            (void)!write(control.descriptor(), "this is no frame at all", 23);
            return false;
        }
        if (mode == "stranger") message["id"] = 4711;
        message["answer"] = {{"rows", mode == "many"    ? 4'000'000'000u
                                      : mode == "flood" ? 1'000'000u
                                                        : 1u},
                             {"metadata", json::object()}};
    } else if (call == "rows") {
        message["answer"] = {{"rows", mode == "none" ? json::array() : rowsFor(mode)}};
    } else {
        if (mode == "late crash") raise(SIGKILL);
        if (mode == "late hang") return false;
        message["answer"] = {{"bytes", mode == "short" ? 3 : 16 * 16 * 4}};
    }
    return true;
}

} // namespace

int main() {
    char head[64] = {};
    (void)!pread(4, head, sizeof head - 1, 0);
    mode = head + 8;
    auto* window = static_cast<char*>(mmap(nullptr, qs::kHdf5PathBytes, PROT_READ | PROT_WRITE, MAP_SHARED, 5, 0));
    std::strcpy(window, "/layer/\x1bkernel");
    qs::Channel control{qs::Descriptor(3)};
    for (;;) {
        const auto frame = control.receive();
        if (!frame) return 0;
        if (!*frame) {
            pollfd ready{3, POLLIN, 0};
            poll(&ready, 1, -1);
            continue;
        }
        json message = {{"id", (*frame)->body["id"]}};
        if (answer((*frame)->body["call"].get<std::string>(), message, control)) (void)control.send(message);
    }
}
