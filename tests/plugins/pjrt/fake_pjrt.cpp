// SPDX-License-Identifier: GPL-3.0-or-later
// A fake PJRT plugin. It computes nothing and produces the faults that are requested. Environment, read at every call:
//   PJRT_FAKE_VERSION=1.81        PJRT_FAKE_TABLE=200 (bytes)     PJRT_FAKE_NULL=20 (slot that is missing)
//   PJRT_FAKE_FAIL=20 (slot that returns an error)                PJRT_FAKE_CODE=12
//   PJRT_FAKE_EMPTY=20 (slot that succeeds without setting its outputs)
//   PJRT_FAKE_STATS=fused|materialised|peak|folded|unfilled            PJRT_FAKE_OUTPUT=short|type|count|nan
//   PJRT_FAKE_AWAIT=1 (the event of a run carries an error) PJRT_FAKE_DIE=init-abort|init-hang|run-hang|
//     compile-abort|compile-hang|await-hang|noise (prints while it compiles, as if it answered)
//   PJRT_FAKE_GROWN=1 (requires the struct sizes of a later version)
// A real plugin checks struct sizes. This one checks them with the documented sizes, not with sizeof.
#include "plugins/pjrt/pjrt_abi.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

using namespace qs::pjrt;

namespace {

std::atomic<int> g_live{0};
struct Counted {
    Counted() { ++g_live; }
    Counted(const Counted& other) = delete;
    virtual ~Counted() { --g_live; }
};
struct Error : Counted {
    std::vector<char> text; ///< without a NUL at the end, so that a sanitizer finds a read beyond it
    int code = 13;
};
struct Event : Counted {
    bool bad = false, ofARun = false;
};
struct Array {
    std::int32_t type = 0;
    std::vector<std::int64_t> dims;
    std::uint64_t bytes() const {
        std::uint64_t size = type == 11 || type == 4 ? 4 : type == 13 || type == 10 ? 2 : 1;
        for (const auto dim : dims) size *= std::uint64_t(dim);
        return size;
    }
};
struct Buffer : Counted {
    Array array;
    std::vector<std::byte> data;
};
struct Executable : Counted {
    std::vector<Array> arguments, results;
    std::vector<std::int32_t> types;
    std::vector<std::int64_t> dims;
    std::vector<std::size_t> ranks;
};
struct Plain : Counted {}; // client, topology

std::string setting(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}
bool chosen(const char* name, Slot slot) { return setting(name) == std::to_string(int(slot)); }
bool grown() { return !setting("PJRT_FAKE_GROWN").empty(); }
void dieIf(const char* how, bool hang) {
    if (setting("PJRT_FAKE_DIE") != how) return;
    if (!hang) std::abort();
    for (;;) pause();
}

void* errorOf(const std::string& text, int code) {
    auto* error = new Error;
    error->text.assign(text.begin(), text.end());
    error->code = code;
    return error;
}

/// Used by every function: checks the struct size as a real plugin does, then produces the requested fault, then runs
/// `work`.
template<class Fields, class Work> void* entry(Slot slot, void* raw, std::size_t least, const Work& work) {
    auto& args = *static_cast<Padded<Fields>*>(raw);
    if (args.head.structSize < least)
        return errorOf("Unexpected size of " + std::string(slotName(slot)) + "_Args: expected " +
                           std::to_string(least) + ", got " + std::to_string(args.head.structSize),
                       3);
    if (args.head.extensions != nullptr) return errorOf("an extension that nobody knows", 3);
    if (chosen("PJRT_FAKE_FAIL", slot)) {
        const auto code = setting("PJRT_FAKE_CODE");
        return errorOf("broken on purpose", code.empty() ? 13 : std::atoi(code.c_str()));
    }
    if (!chosen("PJRT_FAKE_EMPTY", slot)) work(args.f);
    return nullptr;
}
template<class T> void* destroy(Slot slot, void* raw) {
    return entry<HandleArgs>(slot, raw, 24, [](HandleArgs& f) { delete static_cast<T*>(f.handle); });
}
void* say(Slot slot, void* raw, const char* text) {
    return entry<TextArgs>(slot, raw, 40, [&](TextArgs& f) {
        f.text = text;
        f.size = std::strlen(text);
    });
}

/// Parses the types of arguments or results, such as "tensor<4x8xf32>", from the line that declares @main.
std::vector<Array> arrays(const std::string& text) {
    std::vector<Array> list;
    for (auto at = text.find("tensor<"); at != std::string::npos; at = text.find("tensor<", at + 1)) {
        Array array;
        auto i = at + 7;
        while (text[i] >= '0' && text[i] <= '9') {
            array.dims.push_back(std::strtoll(text.c_str() + i, nullptr, 10));
            i = text.find('x', i) + 1;
        }
        const auto element = text.substr(i, text.find('>', i) - i);
        for (int type = 1; type < 20; ++type)
            if (element == (type == 2    ? "i8"
                            : type == 4  ? "i32"
                            : type == 6  ? "ui8"
                            : type == 10 ? "f16"
                            : type == 11 ? "f32"
                            : type == 13 ? "bf16"
                                         : "?"))
                array.type = type;
        list.push_back(array);
    }
    return list;
}

Executable* compiled(const Padded<ProgramText>* program) {
    dieIf("compile-abort", false);
    dieIf("compile-hang", true);
    if (setting("PJRT_FAKE_DIE") == "noise")
        for (int i = 0; i < 2000; ++i) std::printf("{\"id\":%d,\"answer\":{}}\n", i);
    const std::string text(program->f.code, program->f.codeSize);
    const auto begin = text.find("@main("), arrow = text.find(") -> ", begin), end = text.find(" {", arrow);
    auto* executable = new Executable;
    executable->arguments = arrays(text.substr(begin, arrow - begin));
    executable->results = arrays(text.substr(arrow, end - arrow));
    const auto fault = setting("PJRT_FAKE_OUTPUT");
    for (const auto& result : executable->results) {
        executable->types.push_back(fault == "type" ? 4 : result.type);
        executable->ranks.push_back(result.dims.size());
        executable->dims.insert(executable->dims.end(), result.dims.begin(), result.dims.end());
    }
    return executable;
}

void* g_slots[138];
struct {
    Table head;
    void* rest[137];
} g_table;

void* initialize(void* raw) {
    dieIf("init-abort", false);
    dieIf("init-hang", true);
    return entry<NoFields>(Slot::PluginInitialize, raw, 16, [](NoFields&) {});
}
void* pluginAttributes(void* raw) {
    static const std::int64_t version[] = {1, 9, 5};
    static NamedValue values[2];
    values[0] = {56, nullptr, "stablehlo_current_version", 25, NamedValue::Integers, 0, {}, 3};
    values[0].integers = version;
    values[1] = {56, nullptr, "xla_version", 11, NamedValue::String, 0, {}, 6};
    values[1].text = "a\"b\n\xff c"; // characters that JSON must escape
    return entry<ValuesOut>(Slot::PluginAttributes, raw, 32, [](ValuesOut& f) {
        f.values = values;
        f.count = 2;
    });
}
void* createClient(void* raw) {
    return entry<ClientCreateArgs>(Slot::ClientCreate, raw, 88, [](ClientCreateArgs& f) { f.client = new Plain; });
}
void* createTopology(void* raw) {
    return entry<TopologyCreateArgs>(Slot::TopologyCreate, raw, 56, [](TopologyCreateArgs& f) {
        f.topology = new Plain;
        if (f.optionCount == 1 &&
            (f.options->count != 3 || std::string(f.options->name, f.options->nameSize) != "chips_per_host_bounds"))
            std::abort();
    });
}
void* devices(Slot slot, void* raw) {
    static int device;
    static void* list[] = {&device};
    return entry<ListOutArgs>(slot, raw, 40, [](ListOutArgs& f) {
        f.list = list;
        f.count = 1;
    });
}
void* deviceMemory(void* raw) {
    return entry<DeviceMemoryArgs>(Slot::DeviceMemoryStats, raw, grown() ? 201 : 185, [](DeviceMemoryArgs& f) {
        f.limit = 1 << 30;
        f.limitIsSet = true;
    });
}
void* clientCompile(void* raw) {
    return entry<ClientCompileArgs>(Slot::ClientCompile, raw, 56, [](ClientCompileArgs& f) {
        if (f.optionsSize == 0 || f.program->head.structSize < 48) std::abort(); // XLA aborts too
        f.loaded = compiled(f.program);
    });
}
void* topologyCompile(void* raw) {
    return entry<CompileArgs>(Slot::Compile, raw, 64, [](CompileArgs& f) {
        if (f.optionsSize == 0 || f.client != nullptr) std::abort();
        f.executable = compiled(f.program);
    });
}
void* getExecutable(void* raw) {
    return entry<HandleOutArgs>(Slot::LoadedGetExecutable, raw, 32, [](HandleOutArgs& f) {
        const auto& loaded = *static_cast<Executable*>(f.handle);
        auto* copy = new Executable;
        copy->arguments = loaded.arguments;
        copy->results = loaded.results;
        copy->types = loaded.types;
        copy->dims = loaded.dims;
        copy->ranks = loaded.ranks;
        f.out = copy;
    });
}
void* outputTypes(void* raw) {
    return entry<ListOutArgs>(Slot::ExecutableOutputTypes, raw, 40, [](ListOutArgs& f) {
        const auto& types = static_cast<Executable*>(f.handle)->types;
        f.list = types.data();
        f.count = setting("PJRT_FAKE_OUTPUT") == "count" ? 1u << 20 : types.size();
    });
}
void* outputDimensions(void* raw) {
    return entry<DimensionsArgs>(Slot::ExecutableOutputDimensions, raw, 48, [](DimensionsArgs& f) {
        const auto& executable = *static_cast<Executable*>(f.executable);
        f.count = executable.ranks.size();
        f.dims = executable.dims.data();
        f.ranks = executable.ranks.data();
    });
}
void* memoryStats(void* raw) {
    return entry<MemoryStatsArgs>(Slot::ExecutableMemoryStats, raw, grown() ? 144 : 112, [](MemoryStatsArgs& f) {
        const auto verdict = setting("PJRT_FAKE_STATS");
        if (verdict == "unfilled") return;
        for (const auto& argument : static_cast<Executable*>(f.executable)->arguments)
            f.arguments += std::int64_t(argument.bytes());
        f.outputs = 4;
        f.temp = verdict == "materialised" ? 1 << 30 : 0;
        if (verdict == "folded") f.arguments = 16;
        f.peak = f.arguments + (verdict == "peak" ? 1 << 30 : f.temp);
        f.code = 1234;
    });
}
void* optimizedProgram(void* raw) {
    return entry<OptimizedProgramArgs>(Slot::ExecutableOptimizedProgram, raw, 32, [](OptimizedProgramArgs& f) {
        f.program->f.codeSize = 5;
        if (f.program->f.code != nullptr) std::memcpy(f.program->f.code, "\0pro\xff", 5);
    });
}
void* fromHost(void* raw) {
    return entry<FromHostArgs>(Slot::BufferFromHostBuffer, raw, 120, [](FromHostArgs& f) {
        if (f.type == 0) std::abort();
        auto* buffer = new Buffer;
        buffer->array.type = f.type;
        buffer->array.dims.assign(f.dims, f.dims + f.rank);
        const auto* data = static_cast<const std::byte*>(f.data);
        buffer->data.assign(data, data + buffer->array.bytes());
        f.buffer = buffer;
        f.done = new Event;
    });
}
void* execute(void* raw) {
    dieIf("run-hang", true);
    return entry<ExecuteArgs>(Slot::LoadedExecute, raw, 80, [](ExecuteArgs& f) {
        if (f.options->head.structSize < (grown() ? 160 : 112)) std::abort();
        const auto& executable = *static_cast<Executable*>(f.loaded);
        if (f.argumentCount != executable.arguments.size()) std::abort();
        for (std::size_t i = 0; i < f.argumentCount; ++i) {
            const auto& given = static_cast<Buffer*>(f.arguments[0][i])->array;
            if (given.dims != executable.arguments[i].dims || given.type != executable.arguments[i].type) std::abort();
        }
        for (std::size_t i = 0; i < executable.results.size(); ++i) {
            auto* buffer = new Buffer;
            buffer->array = executable.results[i];
            buffer->data.resize(buffer->array.bytes());
            if (setting("PJRT_FAKE_OUTPUT") == "nan") std::memset(buffer->data.data(), 0xff, buffer->data.size());
            f.outputs[0][i] = buffer;
        }
        auto* done = new Event;
        done->ofARun = true;
        done->bad = !setting("PJRT_FAKE_AWAIT").empty();
        f.done[0] = done;
    });
}
void* toHost(void* raw) {
    return entry<ToHostArgs>(Slot::BufferToHostBuffer, raw, 56, [](ToHostArgs& f) {
        const auto& buffer = *static_cast<Buffer*>(f.buffer);
        const auto size = buffer.data.size() + (setting("PJRT_FAKE_OUTPUT") == "short" ? 8 : 0);
        if (f.layout == nullptr || f.layout->f.type != 0 || f.layout->f.tiled.rank != buffer.array.dims.size())
            std::abort();
        for (std::size_t i = 0; i < f.layout->f.tiled.rank; ++i) // only row-major layouts
            if (f.layout->f.tiled.minorToMajor[i] != std::int64_t(f.layout->f.tiled.rank - 1 - i)) std::abort();
        if (f.out == nullptr) {
            f.size = size;
            return;
        }
        if (f.size < buffer.data.size()) std::abort();
        std::memcpy(f.out, buffer.data.data(), buffer.data.size());
        f.done = new Event;
    });
}
void* await(void* raw) {
    auto* event = static_cast<Event*>(static_cast<Padded<HandleArgs>*>(raw)->f.handle);
    if (event->ofARun) dieIf("await-hang", true);
    if (event != nullptr && event->bad) return errorOf("the device fell over", 14);
    return entry<HandleArgs>(Slot::EventAwait, raw, 24, [](HandleArgs&) {});
}
void errorMessage(void* raw) {
    auto& f = static_cast<Padded<TextArgs>*>(raw)->f;
    const auto& text = static_cast<Error*>(f.handle)->text;
    f.text = text.data();
    f.size = text.size();
}
void errorDestroy(void* raw) { delete static_cast<Error*>(static_cast<Padded<HandleArgs>*>(raw)->f.handle); }
void* errorCode(void* raw) {
    return entry<CodeArgs>(Slot::ErrorGetCode, raw, 28,
                           [](CodeArgs& f) { f.code = static_cast<Error*>(f.error)->code; });
}

void put(Slot slot, void* (*function)(void*)) { g_slots[int(slot)] = reinterpret_cast<void*>(function); }

void fillSlots() {
    g_slots[int(Slot::ErrorMessage)] = reinterpret_cast<void*>(errorMessage);
    g_slots[int(Slot::ErrorDestroy)] = reinterpret_cast<void*>(errorDestroy);
    put(Slot::ErrorGetCode, errorCode);
    put(Slot::PluginInitialize, initialize);
    put(Slot::PluginAttributes, pluginAttributes);
    put(Slot::ClientCreate, createClient);
    put(Slot::ClientDestroy, [](void* raw) { return destroy<Plain>(Slot::ClientDestroy, raw); });
    put(Slot::ClientPlatformName, [](void* raw) { return say(Slot::ClientPlatformName, raw, "fake"); });
    put(Slot::ClientPlatformVersion, [](void* raw) { return say(Slot::ClientPlatformVersion, raw, "fake 1"); });
    put(Slot::ClientAddressableDevices, [](void* raw) { return devices(Slot::ClientAddressableDevices, raw); });
    put(Slot::ClientCompile, clientCompile);
    put(Slot::BufferFromHostBuffer, fromHost);
    put(Slot::DescriptionKind, [](void* raw) { return say(Slot::DescriptionKind, raw, "Fake One"); });
    put(Slot::DeviceGetDescription, [](void* raw) {
        return entry<HandleOutArgs>(Slot::DeviceGetDescription, raw, 32, [](HandleOutArgs& f) { f.out = f.handle; });
    });
    put(Slot::DeviceMemoryStats, deviceMemory);
    put(Slot::ExecutableDestroy, [](void* raw) { return destroy<Executable>(Slot::ExecutableDestroy, raw); });
    put(Slot::LoadedDestroy, [](void* raw) { return destroy<Executable>(Slot::LoadedDestroy, raw); });
    put(Slot::ExecutableCodeSize, [](void* raw) {
        return entry<HandleOutArgs>(Slot::ExecutableCodeSize, raw, 32, [](HandleOutArgs& f) { f.number = 4321; });
    });
    put(Slot::ExecutableCostAnalysis, [](void* raw) {
        static NamedValue flops = {56, nullptr, "flops", 5, NamedValue::Float, 0, {}, 1};
        flops.real = 2048;
        return entry<CostAnalysisArgs>(Slot::ExecutableCostAnalysis, raw, 40, [](CostAnalysisArgs& f) {
            f.values = &flops;
            f.count = 1;
        });
    });
    put(Slot::ExecutableOptimizedProgram, optimizedProgram);
    put(Slot::LoadedGetExecutable, getExecutable);
    put(Slot::LoadedExecute, execute);
    put(Slot::BufferDestroy, [](void* raw) { return destroy<Buffer>(Slot::BufferDestroy, raw); });
    put(Slot::BufferToHostBuffer, toHost);
    put(Slot::EventDestroy, [](void* raw) { return destroy<Event>(Slot::EventDestroy, raw); });
    put(Slot::EventAwait, await);
    put(Slot::TopologyCreate, createTopology);
    put(Slot::TopologyDestroy, [](void* raw) { return destroy<Plain>(Slot::TopologyDestroy, raw); });
    put(Slot::TopologyPlatformName, [](void* raw) { return say(Slot::TopologyPlatformName, raw, "tpu"); });
    put(Slot::TopologyPlatformVersion, [](void* raw) { return say(Slot::TopologyPlatformVersion, raw, "fake 1"); });
    put(Slot::TopologyDevices, [](void* raw) { return devices(Slot::TopologyDevices, raw); });
    put(Slot::Compile, topologyCompile);
    put(Slot::ExecutableOutputTypes, outputTypes);
    put(Slot::ExecutableOutputDimensions, outputDimensions);
    put(Slot::ExecutableMemoryStats, memoryStats);
}

} // namespace

namespace qs::pjrt {
const char* slotName(Slot) { return "PJRT_Fake"; }
} // namespace qs::pjrt

extern "C" __attribute__((visibility("default"))) int fake_pjrt_live() { return g_live; }

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() {
    if (setting("PJRT_FAKE_TABLE") == "null") return nullptr;
    fillSlots();
    const auto version = setting("PJRT_FAKE_VERSION"), bytes = setting("PJRT_FAKE_TABLE"),
               missing = setting("PJRT_FAKE_NULL");
    g_table.head.structSize = bytes.empty() ? 40 + sizeof g_slots : std::strtoull(bytes.c_str(), nullptr, 10);
    g_table.head.major = version.empty() ? 0 : std::atoi(version.c_str());
    g_table.head.minor = version.empty() ? 81 : std::atoi(version.c_str() + version.find('.') + 1);
    if (!missing.empty()) g_slots[std::atoi(missing.c_str())] = nullptr;
    std::memcpy(g_table.head.slots, g_slots, 8);
    std::memcpy(g_table.rest, g_slots + 1, sizeof g_table.rest);
    return &g_table;
}
