// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/api.h"
#include "plugins/abi/quantscope_backend.h"
#include "plugins/pjrt/vendor_libraries.h"

#include <algorithm>
#include <cstdio>
#include <dlfcn.h>

namespace qs::pjrt {
namespace {

constexpr std::size_t kLongestMessage = 900; ///< bytes; leaves room for a few more words in qs_error::msg

std::string firstLine(const char* text, std::size_t size) {
    if (text == nullptr || size == 0) return "no message";
    std::string line(text, std::min(size, kLongestMessage));
    // In vendor messages the first line is followed by stack traces and tables.
    if (const auto end = line.find('\n'); end != std::string::npos) line.resize(end);
    return line.empty() ? "no message" : line;
}

} // namespace

const char* slotName(Slot slot) {
    switch (slot) {
    case Slot::ErrorDestroy: return "PJRT_Error_Destroy";
    case Slot::ErrorMessage: return "PJRT_Error_Message";
    case Slot::ErrorGetCode: return "PJRT_Error_GetCode";
    case Slot::PluginInitialize: return "PJRT_Plugin_Initialize";
    case Slot::PluginAttributes: return "PJRT_Plugin_Attributes";
    case Slot::EventDestroy: return "PJRT_Event_Destroy";
    case Slot::EventAwait: return "PJRT_Event_Await";
    case Slot::ClientCreate: return "PJRT_Client_Create";
    case Slot::ClientDestroy: return "PJRT_Client_Destroy";
    case Slot::ClientPlatformName: return "PJRT_Client_PlatformName";
    case Slot::ClientPlatformVersion: return "PJRT_Client_PlatformVersion";
    case Slot::ClientAddressableDevices: return "PJRT_Client_AddressableDevices";
    case Slot::ClientCompile: return "PJRT_Client_Compile";
    case Slot::BufferFromHostBuffer: return "PJRT_Client_BufferFromHostBuffer";
    case Slot::DescriptionKind: return "PJRT_DeviceDescription_Kind";
    case Slot::DescriptionToString: return "PJRT_DeviceDescription_ToString";
    case Slot::DeviceGetDescription: return "PJRT_Device_GetDescription";
    case Slot::DeviceMemoryStats: return "PJRT_Device_MemoryStats";
    case Slot::ExecutableDestroy: return "PJRT_Executable_Destroy";
    case Slot::ExecutableNumOutputs: return "PJRT_Executable_NumOutputs";
    case Slot::ExecutableCodeSize: return "PJRT_Executable_SizeOfGeneratedCodeInBytes";
    case Slot::ExecutableCostAnalysis: return "PJRT_Executable_GetCostAnalysis";
    case Slot::ExecutableOptimizedProgram: return "PJRT_Executable_OptimizedProgram";
    case Slot::LoadedDestroy: return "PJRT_LoadedExecutable_Destroy";
    case Slot::LoadedGetExecutable: return "PJRT_LoadedExecutable_GetExecutable";
    case Slot::LoadedExecute: return "PJRT_LoadedExecutable_Execute";
    case Slot::BufferDestroy: return "PJRT_Buffer_Destroy";
    case Slot::BufferToHostBuffer: return "PJRT_Buffer_ToHostBuffer";
    case Slot::TopologyCreate: return "PJRT_TopologyDescription_Create";
    case Slot::TopologyDestroy: return "PJRT_TopologyDescription_Destroy";
    case Slot::TopologyPlatformName: return "PJRT_TopologyDescription_PlatformName";
    case Slot::TopologyPlatformVersion: return "PJRT_TopologyDescription_PlatformVersion";
    case Slot::TopologyDevices: return "PJRT_TopologyDescription_GetDeviceDescriptions";
    case Slot::Compile: return "PJRT_Compile";
    case Slot::ExecutableOutputTypes: return "PJRT_Executable_OutputElementTypes";
    case Slot::ExecutableOutputDimensions: return "PJRT_Executable_OutputDimensions";
    case Slot::ExecutableMemoryStats: return "PJRT_Executable_GetCompiledMemoryStats";
    }
    return "a PJRT call";
}

Api Api::load(const std::string& path, const Log& log) {
    const auto missing = preloadVendorLibraries(path, log);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = dlerror();
        std::string text = "the PJRT plugin does not load: " + std::string(why ? why : "no reason given");
        if (!missing.empty()) text += " (not found beside it: " + missing + ")";
        throw Fault{QS_UNAVAILABLE, text};
    }
    const auto get = reinterpret_cast<const void* (*)()>(dlsym(library, "GetPjrtApi"));
    if (get == nullptr) throw Fault{QS_UNAVAILABLE, path + " exports no GetPjrtApi: it is no PJRT plugin"};
    return Api(get());
}

Api::Api(const void* table) : table_(static_cast<const Table*>(table)) {
    if (table_ == nullptr) throw Fault{QS_UNAVAILABLE, "GetPjrtApi returned no table"};
    if (table_->structSize < offsetof(Table, slots))
        throw Fault{QS_UNAVAILABLE, "the PJRT table is too short to hold its version (" +
                                        std::to_string(table_->structSize) + " bytes)"};
    if (major() != kMajor || minor() < kLeastMinor)
        throw Fault{QS_UNAVAILABLE, "the plugin speaks PJRT " + std::to_string(major()) + "." +
                                        std::to_string(minor()) + "; 0.58 or a later 0.x is needed"};
}

bool Api::has(Slot slot) const {
    const auto index = std::size_t(slot);
    return 40 + 8 * index + 8 <= table_->structSize && table_->slots[index] != nullptr;
}

void* Api::invoke(Slot slot, void* args) const {
    if (!has(slot))
        throw Fault{QS_UNIMPLEMENTED, std::string("the PJRT plugin has no ") + slotName(slot) + " (PJRT " +
                                          std::to_string(major()) + "." + std::to_string(minor()) + ")"};
    return reinterpret_cast<void* (*)(void*)>(table_->slots[std::size_t(slot)])(args);
}

void Api::check(Slot slot, void* error) const {
    if (error == nullptr) return;
    Fault fault{QS_INTERNAL, {}};
    Padded<TextArgs> message;
    message.f.handle = error;
    if (has(Slot::ErrorMessage)) // this function returns no error, so invoke() cannot call it
        reinterpret_cast<void (*)(void*)>(table_->slots[std::size_t(Slot::ErrorMessage)])(&message);
    fault.sentence = std::string(slotName(slot)) + ": " + firstLine(message.f.text, message.f.size);
    Padded<CodeArgs> code;
    code.f.error = error;
    if (has(Slot::ErrorGetCode)) {
        if (void* second = invoke(Slot::ErrorGetCode, &code))
            destroy(Slot::ErrorDestroy, second);
        else if (code.f.code > 0 && code.f.code <= 16)
            fault.code = code.f.code;
    }
    destroy(Slot::ErrorDestroy, error);
    throw fault;
}

void Api::destroy(Slot slot, void* handle) const noexcept {
    if (handle == nullptr || !has(slot)) return;
    Padded<HandleArgs> args;
    args.f.handle = handle;
    if (slot == Slot::ErrorDestroy) {
        reinterpret_cast<void (*)(void*)>(table_->slots[0])(&args); // this function returns no error
        return;
    }
    void* error = reinterpret_cast<void* (*)(void*)>(table_->slots[std::size_t(slot)])(&args);
    if (error != nullptr) destroy(Slot::ErrorDestroy, error);
}

void Api::await(void* event, const char* what) const {
    if (event == nullptr) return;
    Padded<HandleArgs> args;
    args.f.handle = event;
    try {
        call(Slot::EventAwait, args);
    } catch (Fault& fault) {
        destroy(Slot::EventDestroy, event);
        throw Fault{fault.code, std::string(what) + " failed: " + fault.sentence};
    }
    destroy(Slot::EventDestroy, event);
}

std::string Api::text(Slot slot, void* handle) const {
    Padded<TextArgs> args;
    args.f.handle = handle;
    call(slot, args);
    return args.f.text == nullptr ? std::string() : std::string(args.f.text, std::min(args.f.size, kLongestMessage));
}

std::int64_t Api::number(Slot slot, void* handle) const {
    Padded<HandleOutArgs> args;
    args.f.handle = handle;
    call(slot, args);
    return args.f.number;
}

} // namespace qs::pjrt
