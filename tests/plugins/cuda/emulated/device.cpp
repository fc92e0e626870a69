// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated device: runs the threads of a block as fibers. The CUDA kernels are compiled for the host.
#include "kernels/cuda/instructions.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace qs::cuda {

// Dynamic shared memory: the most that any kernel requests.
constexpr std::size_t kSharedBytes = 96 * 1024;
alignas(16) std::uint32_t shared[kSharedBytes / 4];
alignas(16) unsigned char memory[kSharedBytes];

namespace emulated {

Place thread, block, blockSize, gridSize;

namespace {

constexpr std::size_t kWarp = 32;
/// Where a fiber continues. setjmp is used after the first switch, because contexts are slow: each switch makes a
/// system call for the signal mask. AddressSanitizer must be told about stack switches and dislikes jumps between
/// stacks, so there contexts are used.
struct Point {
    ucontext_t context;
    jmp_buf jump;
    bool begun = false;
};
#if defined(__SANITIZE_ADDRESS__)
void change(Point& from, Point& to) { swapcontext(&from.context, &to.context); }
constexpr std::size_t kStackBytes = 256 * 1024;
void leaveFor(void** kept, const void* stack, std::size_t bytes) { __sanitizer_start_switch_fiber(kept, stack, bytes); }
void arrive(void* kept, const void** stack, std::size_t* bytes) { __sanitizer_finish_switch_fiber(kept, stack, bytes); }
void bound(unsigned char* all, std::size_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(all, kSharedBytes);
    ASAN_POISON_MEMORY_REGION(all + bytes, kSharedBytes - bytes);
}
#else
constexpr std::size_t kStackBytes = 64 * 1024;
void change(Point& from, Point& to) {
    if (_setjmp(from.jump)) return;
    if (to.begun) _longjmp(to.jump, 1);
    to.begun = true;
    setcontext(&to.context);
}
void leaveFor(void**, const void*, std::size_t) {}
void arrive(void*, const void**, std::size_t*) {}
void bound(unsigned char*, std::size_t) {}
#endif

struct Copy {
    void* to;
    const void* from;
};
struct Fiber {
    enum class State { Ready, AtBarrier, InExchange, Done } state = State::Ready;
    Point point;
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
    void* kept = nullptr;                 ///< fake stack, owned by the sanitizer
    unsigned exchanges = 0;               ///< number of exchanges begun
    std::size_t bytes = 0;                ///< of the last exchange
    std::deque<std::vector<Copy>> groups; ///< groups of asynchronous copies; the last one is open
};

std::vector<Fiber> fibers;
/// Values given by the lanes of each warp, in two buffers used in turn. No lane is two exchanges ahead of another.
constexpr std::size_t kMostWarps = 32;
alignas(16) unsigned char given[kMostWarps][2][kWarp * kMostExchanged];
std::size_t running = 0;
Point scheduler;
const void* schedulerStack = nullptr;
std::size_t schedulerBytes = 0;
const std::function<void()>* body = nullptr;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "emulated device, block %u %u: %s\n", block.x, block.y, what);
    std::abort();
}

void pause(Fiber::State state) {
    Fiber& self = fibers[running];
    self.state = state;
    leaveFor(&self.kept, schedulerStack, schedulerBytes);
    change(self.point, scheduler);
    arrive(self.kept, &schedulerStack, &schedulerBytes);
    thread.x = unsigned(running);
}
void start() {
    arrive(nullptr, &schedulerStack, &schedulerBytes);
    (*body)();
    fibers[running].state = Fiber::State::Done;
    leaveFor(nullptr, schedulerStack, schedulerBytes); // the fiber does not continue
    change(fibers[running].point, scheduler);
}
void resume(Fiber& fiber) {
    void* kept = nullptr;
    leaveFor(&kept, fiber.stack.get(), kStackBytes);
    change(scheduler, fiber.point);
    arrive(kept, nullptr, nullptr);
}

bool all(std::size_t first, std::size_t count, Fiber::State state) {
    for (std::size_t i = first; i < first + count; ++i)
        if (fibers[i].state != state) return false;
    return true;
}

/// When all lanes of a warp wait in an exchange, the warp continues.
bool exchanged(std::size_t first) {
    if (!all(first, kWarp, Fiber::State::InExchange)) return false;
    for (std::size_t i = first; i < first + kWarp; ++i) {
        if (fibers[i].bytes != fibers[first].bytes) fail("lanes of a warp exchange different things");
        fibers[i].state = Fiber::State::Ready;
    }
    return true;
}

void runBlock() {
    for (auto& fiber : fibers) {
        fiber.state = Fiber::State::Ready;
        fiber.groups.assign(1, {}), fiber.exchanges = 0;
        ucontext_t& context = fiber.point.context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber.stack.get(), context.uc_stack.ss_size = kStackBytes;
        context.uc_link = nullptr;
        makecontext(&context, start, 0);
        fiber.point.begun = false;
    }
    scheduler.begun = true; // the scheduler already runs
    while (!all(0, fibers.size(), Fiber::State::Done)) {
        bool moved = false;
        for (running = 0; running < fibers.size(); ++running) {
            if (fibers[running].state != Fiber::State::Ready) continue;
            thread.x = unsigned(running), moved = true;
            resume(fibers[running]);
        }
        for (std::size_t first = 0; first < fibers.size(); first += kWarp) moved |= exchanged(first);
        if (moved) continue;
        // The barrier does not wait for threads that have ended.
        for (auto& fiber : fibers) {
            if (fiber.state == Fiber::State::InExchange) fail("lanes of a warp do not meet");
            if (fiber.state == Fiber::State::AtBarrier) fiber.state = Fiber::State::Ready;
        }
    }
}

} // namespace

void launch(dim3 grid, unsigned threads, std::size_t sharedBytes, const std::function<void()>& kernel) {
    if (threads == 0 || threads % kWarp || threads > kMostWarps * kWarp || sharedBytes > kSharedBytes)
        fail("a launch it cannot do");
    if (fibers.size() != threads) fibers = std::vector<Fiber>(threads);
    body = &kernel, blockSize.x = threads, gridSize = {grid.x, grid.y};
    static bool backwards = false; // every second launch runs the blocks in reverse order, because kernels must not
                                   // rely on their order
    backwards = !backwards;
    for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) {
            block = backwards ? Place{grid.x - 1 - x, grid.y - 1 - y} : Place{x, y};
            for (unsigned char* all : {reinterpret_cast<unsigned char*>(shared), memory}) {
                bound(all, sharedBytes);
                std::memset(all, 0xff, sharedBytes); // NaN, so that reads of unwritten memory show
            }
            runBlock();
        }
}

void barrier() { pause(Fiber::State::AtBarrier); }

const void* exchange(const void* own, std::size_t bytes) {
    Fiber& self = fibers[running];
    auto& room = given[running / kWarp][self.exchanges++ % 2];
    std::memcpy(room + running % kWarp * bytes, own, self.bytes = bytes);
    pause(Fiber::State::InExchange);
    return room;
}

void copyLater(void* to, const void* from) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 || reinterpret_cast<std::uintptr_t>(from) % 16)
        fail("a copy that is not aligned");
    std::memset(to, 0xff, 16);
    fibers[running].groups.back().push_back({to, from});
}
void closeGroup() { fibers[running].groups.emplace_back(); }
void waitGroups(int pending) {
    auto& groups = fibers[running].groups;
    for (; groups.size() > std::size_t(pending) + 1; groups.pop_front())
        for (const Copy& copy : groups.front()) std::memcpy(copy.to, copy.from, 16);
}

} // namespace emulated
} // namespace qs::cuda

#include "kernels/cuda/elementwise.cu"
#include "kernels/cuda/product_2.cu"
#include "kernels/cuda/product_2_affine.cu"
#include "kernels/cuda/product_4.cu"
#include "kernels/cuda/product_8.cu"
#include "kernels/cuda/quantize.cu"
