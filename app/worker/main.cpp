// SPDX-License-Identifier: GPL-3.0-or-later
// The program quantscope-worker. It has two modes. With --backend it hosts one backend: if a plugin crashes, only this
// process ends, and the program shows the crash as a row. With --hdf5 it reads one HDF5 file in a sandbox. The program
// starts it and sends all requests through the socket whose number stands after --cfg.
#include "app/worker/hdf5/reader.h"
#include "app/worker/server.h"
#include "core/base/machine_memory.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

int usage() {
    std::fputs(
        "quantscope-worker: usage: quantscope-worker --backend ID|PATH.so|--hdf5 --cfg DESCRIPTOR; the program starts "
        "it.\n",
        stderr);
    return 2;
}

void onProgramGone(int) { qs::worker::endGroup(); }

#if defined(__has_feature)
#define QS_CLANG_SHADOW (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define QS_CLANG_SHADOW 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || QS_CLANG_SHADOW
constexpr bool kHasShadow = true; // a sanitizer reserves terabytes of memory for itself
#else
constexpr bool kHasShadow = false;
#endif

/// Limits the memory of this process to three quarters of the machine's memory, so that a plugin cannot starve other
/// programs. RLIMIT_DATA counts only private writable memory. Addresses that CUDA and XLA reserve do not count, nor do
/// operands in shared memory. QUANTSCOPE_WORKER_MEMORY replaces the limit, in MiB.
void limitMemory() {
    std::uint64_t most = qs::totalMemory() / 4 * 3;
    if (const char* asked = std::getenv("QUANTSCOPE_WORKER_MEMORY")) most = std::strtoull(asked, nullptr, 10) << 20;
    if (kHasShadow || most == 0) return;
    const rlimit limit{most, most};
    setrlimit(RLIMIT_DATA, &limit);
}

/// Called before a plugin is loaded. From then on this process ends when the program ends, has its own process group,
/// and writes no core file.
void shelter() {
    setpgid(0, 0);
    struct sigaction action {};
    action.sa_handler = onProgramGone;
    sigaction(SIGTERM, &action, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // if the program has ended before this line, the reader sees a closed socket
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    setvbuf(stderr, nullptr, _IOLBF, 0);
}

} // namespace

int main(int argc, char** argv) {
    std::string backend;
    int descriptor = -1;
    const bool reads = argc == 4 && std::string_view(argv[1]) == "--hdf5";
    for (int i = reads ? 2 : 1; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i], value = argv[i + 1];
        if (option == "--backend") backend = value;
        if (option == "--cfg") std::from_chars(value.data(), value.data() + value.size(), descriptor);
    }
    int type = 0;
    socklen_t size = sizeof type;
    if (!(reads || (argc == 5 && !backend.empty())) || getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
        return usage();
    fcntl(descriptor, F_SETFD, FD_CLOEXEC); // child processes of a plugin must not keep the socket open
    shelter();
    if (reads) qs::worker::readHdf5(qs::Descriptor(descriptor), descriptor + 1, descriptor + 2);
    limitMemory();
    qs::worker::Server(qs::Descriptor(descriptor), backend).run();
}
