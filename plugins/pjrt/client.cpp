// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/client.h"
#include "plugins/abi/quantscope_backend.h"

#include <chrono>

namespace qs::pjrt {
namespace {

constexpr std::size_t kMostDevices = 65536, kMostKept = 64;

NamedValue named(const char* name, NamedValue::Kind kind) {
    NamedValue value{};
    value.structSize = sizeof value;
    value.name = name;
    value.nameSize = std::char_traits<char>::length(name);
    value.type = kind;
    value.count = 1;
    return value;
}

void demand(const void* handle, Slot slot, const char* what) {
    if (handle == nullptr) throw Fault{QS_INTERNAL, std::string(slotName(slot)) + " returned no " + what};
}

} // namespace

std::uint64_t nowNs() {
    return std::uint64_t(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}
double millisecondsSince(std::uint64_t ns) { return double(nowNs() - ns) * 1e-6; }

std::string compileOptions() {
    // Field numbers in brackets: executable_build_options (3) { num_replicas (4): 1, num_partitions (5): 1 }
    return std::string("\x1a\x04\x20\x01\x28\x01", 6);
}

Client::Client(Api api, const ClientRequest& request, const Log& log) : api_(api) {
    Padded<NoFields> initialize;
    api_.call(Slot::PluginInitialize, initialize);
    Padded<ValuesOut> values;
    try {
        api_.call(Slot::PluginAttributes, values);
        attributes_ = attributes(values.f.values, values.f.count);
    } catch (const Fault& fault) {
        if (log) log(2, "no versions of the PJRT plugin: " + fault.sentence);
    }
    if (request.topology.empty())
        openClient(request);
    else
        openTopology(request);
}

void Client::openClient(const ClientRequest& request) {
    Padded<ClientCreateArgs> create;
    const auto preallocate = named("preallocate", NamedValue::Bool); // its value is false
    if (request.gpu) {
        create.f.options = &preallocate;
        create.f.optionCount = 1;
    }
    api_.call(Slot::ClientCreate, create);
    demand(create.f.client, Slot::ClientCreate, "client");
    client_ = Owned(&api_, Slot::ClientDestroy, create.f.client);
    platform_ = api_.text(Slot::ClientPlatformName, client_.get());
    platformVersion_ = api_.text(Slot::ClientPlatformVersion, client_.get());
    devices_ = list(Slot::ClientAddressableDevices, client_.get());
    if (devices_.empty()) throw Fault{QS_UNAVAILABLE, "the PJRT plugin has no device (platform " + platform_ + ")"};
    demand(devices_.front(), Slot::ClientAddressableDevices, "device");
}

void Client::openTopology(const ClientRequest& request) {
    Padded<TopologyCreateArgs> create;
    auto bounds = named("chips_per_host_bounds", NamedValue::Integers);
    bounds.integers = request.chipsPerHostBounds.data();
    bounds.count = request.chipsPerHostBounds.size();
    create.f.name = request.topology.c_str();
    create.f.nameSize = request.topology.size();
    create.f.options = &bounds;
    create.f.optionCount = request.chipsPerHostBounds.empty() ? 0 : 1;
    api_.call(Slot::TopologyCreate, create);
    demand(create.f.topology, Slot::TopologyCreate, "topology");
    topology_ = Owned(&api_, Slot::TopologyDestroy, create.f.topology);
    platform_ = api_.text(Slot::TopologyPlatformName, topology_.get());
    platformVersion_ = api_.text(Slot::TopologyPlatformVersion, topology_.get());
    devices_ = list(Slot::TopologyDevices, topology_.get());
}

std::vector<void*> Client::list(Slot slot, void* handle) const {
    Padded<ListOutArgs> args;
    args.f.handle = handle;
    api_.call(slot, args);
    if (args.f.count > kMostDevices)
        throw Fault{QS_INTERNAL,
                    std::string(slotName(slot)) + " speaks of " + std::to_string(args.f.count) + " devices"};
    if (args.f.list == nullptr) return {};
    const auto* first = static_cast<void* const*>(args.f.list);
    return {first, first + args.f.count};
}

std::string Client::deviceKind() const {
    if (devices_.empty()) return platform_;
    void* description = devices_.front();
    if (!compileOnly()) {
        Padded<HandleOutArgs> args;
        args.f.handle = description;
        api_.call(Slot::DeviceGetDescription, args);
        demand(args.f.out, Slot::DeviceGetDescription, "description");
        description = args.f.out;
    }
    return api_.text(Slot::DescriptionKind, description);
}

std::optional<std::int64_t> Client::deviceMemory() const {
    if (compileOnly()) return std::nullopt;
    try {
        Padded<DeviceMemoryArgs> args;
        args.f.device = firstDevice();
        api_.call(Slot::DeviceMemoryStats, args);
        if (args.f.limitIsSet && args.f.limit > 0) return args.f.limit;
    } catch (const Fault&) { // the CPU plugin does not report its memory
    }
    return std::nullopt;
}

std::shared_ptr<const Compiled> Client::compile(const std::string& stablehlo) {
    for (const auto& [text, compiled] : compiled_)
        if (text == stablehlo) return compiled;
    const auto start = nowNs();
    auto executable = compileNow(stablehlo);
    auto compiled = std::make_shared<const Compiled>(Compiled{std::move(executable), millisecondsSince(start)});
    if (compiled_.size() == kMostKept) compiled_.pop_front();
    compiled_.emplace_back(stablehlo, compiled);
    return compiled;
}

Executable Client::compileNow(const std::string& stablehlo) const {
    const auto options = compileOptions();
    Padded<ProgramText> program;
    std::string code = stablehlo;
    program.f.code = code.data();
    program.f.codeSize = code.size();
    program.f.format = "mlir";
    program.f.formatSize = 4;
    if (compileOnly()) {
        Padded<CompileArgs> args;
        args.f.topology = topology_.get();
        args.f.program = &program;
        args.f.options = options.data();
        args.f.optionsSize = options.size();
        api_.call(Slot::Compile, args);
        demand(args.f.executable, Slot::Compile, "executable");
        return {&api_, {}, Owned(&api_, Slot::ExecutableDestroy, args.f.executable)};
    }
    Padded<ClientCompileArgs> args;
    args.f.client = client_.get();
    args.f.program = &program;
    args.f.options = options.data();
    args.f.optionsSize = options.size();
    api_.call(Slot::ClientCompile, args);
    demand(args.f.loaded, Slot::ClientCompile, "executable");
    Owned loaded(&api_, Slot::LoadedDestroy, args.f.loaded);
    Padded<HandleOutArgs> inner;
    inner.f.handle = loaded.get();
    api_.call(Slot::LoadedGetExecutable, inner);
    demand(inner.f.out, Slot::LoadedGetExecutable, "executable");
    return {&api_, std::move(loaded), Owned(&api_, Slot::ExecutableDestroy, inner.f.out)};
}

Owned Client::upload(const ArraySpec& spec, const void* data) const {
    Padded<FromHostArgs> args;
    args.f.client = client_.get();
    args.f.data = data;
    args.f.type = std::int32_t(spec.type);
    args.f.dims = spec.dims.data();
    args.f.rank = spec.dims.size();
    args.f.semantics = 0; // the plugin copies the data during the call
    args.f.device = firstDevice();
    api_.call(Slot::BufferFromHostBuffer, args);
    Owned buffer(&api_, Slot::BufferDestroy, args.f.buffer);
    api_.await(args.f.done, "the copy to the device");
    demand(args.f.buffer, Slot::BufferFromHostBuffer, "buffer");
    return buffer;
}

void* Client::execute(const Executable& executable, std::span<void* const> arguments, std::vector<Owned>& outputs,
                      std::size_t outputCount) const {
    Padded<ExecuteOptions> options;
    Padded<ExecuteArgs> args;
    std::vector<void*> out(outputCount, nullptr);
    void* const* argumentList = arguments.data();
    void** outputList = out.data();
    void* done = nullptr;
    args.f.loaded = executable.loaded();
    args.f.options = &options;
    args.f.arguments = &argumentList;
    args.f.deviceCount = 1;
    args.f.argumentCount = arguments.size();
    args.f.outputs = &outputList;
    args.f.done = &done;
    api_.call(Slot::LoadedExecute, args);
    outputs.clear();
    for (void* handle : out) outputs.emplace_back(&api_, Slot::BufferDestroy, handle);
    for (void* handle : out)
        if (handle == nullptr) {
            api_.await(done, "the run");
            demand(handle, Slot::LoadedExecute, "output buffer");
        }
    return done;
}

void Client::download(const Owned& buffer, const ArraySpec& spec, void* out) const {
    std::vector<std::int64_t> order; // axes from minor to major; row-major begins with the last axis
    for (auto axis = std::int64_t(spec.dims.size()); axis-- > 0;) order.push_back(axis);
    Padded<MemoryLayout> layout;
    layout.f.tiled.structSize = sizeof(TiledLayout);
    layout.f.tiled.minorToMajor = order.data();
    layout.f.tiled.rank = order.size();
    Padded<ToHostArgs> args;
    args.f.buffer = buffer.get();
    args.f.layout = &layout;
    api_.call(Slot::BufferToHostBuffer, args); // without memory it only returns the size
    api_.await(args.f.done, "reading the size of a result");
    if (args.f.size != spec.bytes())
        throw Fault{QS_INTERNAL, "the PJRT plugin gives a result of " + std::to_string(args.f.size) + " bytes where " +
                                     std::to_string(spec.bytes()) + " were expected"};
    args.f.out = out;
    args.f.done = nullptr;
    api_.call(Slot::BufferToHostBuffer, args);
    api_.await(args.f.done, "the copy of a result");
}

} // namespace qs::pjrt
