// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The C interface of a PJRT plugin as it lies in memory, version 0.58 and later: the table of functions and the
// arguments of the calls that are used here. The offsets are equal in all known versions, so no header of PJRT is
// needed. All is 64-bit little-endian.
//
// A plugin refuses a struct that is smaller than its own, and accepts a larger one. Structs grow in later versions. So
// every struct is sent with zeros behind it (Padded): inputs that we do not know are 0, and outputs have room.

#include <cstddef>
#include <cstdint>

namespace qs::pjrt {

/// Index of a function in the table; the function lies at 40 + 8 * index.
enum class Slot : std::uint32_t {
    ErrorDestroy = 0,
    ErrorMessage = 1,
    ErrorGetCode = 2,
    PluginInitialize = 3,
    PluginAttributes = 4,
    EventDestroy = 5,
    EventAwait = 8,
    ClientCreate = 10,
    ClientDestroy = 11,
    ClientPlatformName = 12,
    ClientPlatformVersion = 14,
    ClientAddressableDevices = 16,
    ClientCompile = 20,
    BufferFromHostBuffer = 22,
    DescriptionKind = 26,
    DescriptionToString = 28,
    DeviceGetDescription = 29,
    DeviceMemoryStats = 34,
    ExecutableDestroy = 40,
    ExecutableNumOutputs = 44,
    ExecutableCodeSize = 45,
    ExecutableCostAnalysis = 46,
    ExecutableOptimizedProgram = 48,
    LoadedDestroy = 50,
    LoadedGetExecutable = 51,
    LoadedExecute = 55,
    BufferDestroy = 58,
    BufferToHostBuffer = 70,
    TopologyCreate = 82,
    TopologyDestroy = 83,
    TopologyPlatformName = 84,
    TopologyPlatformVersion = 85,
    TopologyDevices = 86,
    Compile = 89,
    ExecutableOutputTypes = 90,
    ExecutableOutputDimensions = 91,
    ExecutableMemoryStats = 96,
};
const char* slotName(Slot slot); ///< "PJRT_Client_Create"

inline constexpr int kMajor = 0, kLeastMinor = 58; ///< after 0.57 no slot has moved

struct Table {
    std::size_t structSize;
    void* extensions;
    std::size_t versionStructSize;
    void* versionExtensions;
    std::int32_t major, minor;
    void* slots[1]; ///< there are (structSize - 40) / 8 of them
};
static_assert(offsetof(Table, major) == 32 && offsetof(Table, minor) == 36 && offsetof(Table, slots) == 40);

/// Element types of buffers. XLA's FFI uses other numbers.
enum class ElementType : std::int32_t {
    Invalid = 0,
    S8 = 2,
    S32 = 4,
    U8 = 6,
    F16 = 10,
    F32 = 11,
    BF16 = 13,
    F8E5M2 = 16,
    F8E4M3FN = 17
};

struct NamedValue { ///< never changes, because the interface passes arrays of it
    std::size_t structSize;
    void* extensions;
    const char* name;
    std::size_t nameSize;
    std::int32_t type; ///< Kind
    std::int32_t pad;
    union {
        const char* text;
        std::int64_t integer;
        const std::int64_t* integers;
        float real;
        bool truth;
    };
    std::size_t count; ///< number of characters or elements; 1 for a single number
    enum Kind { String = 0, Integer = 1, Integers = 2, Float = 3, Bool = 4 };
};
static_assert(sizeof(NamedValue) == 56 && offsetof(NamedValue, name) == 16 && offsetof(NamedValue, type) == 32 &&
              offsetof(NamedValue, text) == 40 && offsetof(NamedValue, count) == 48);

/// The beginning of every argument struct.
struct Head {
    std::size_t structSize;
    void* extensions;
};
/// What is passed to a plugin: the head, the fields of the call, and zeros behind them.
template<class Fields> struct Padded {
    Head head{sizeof(Padded), nullptr};
    Fields f{};
    std::byte tail[256]{};
};

struct NoFields {
    std::uint64_t none;
};
struct HandleArgs { ///< for all Destroy functions
    void* handle;
};
struct TextArgs { ///< for Error_Message, names and kinds; the text is not NUL-terminated
    void* handle;
    const char* text;
    std::size_t size;
};
struct CodeArgs { ///< Error_GetCode
    void* error;
    std::int32_t code;
};
struct ValuesOut { ///< Plugin_Attributes
    const NamedValue* values;
    std::size_t count;
};
struct CostAnalysisArgs { ///< here the count comes before the pointer
    void* executable;
    std::size_t count;
    const NamedValue* values;
};
struct HandleOutArgs { ///< GetExecutable, GetDescription, NumOutputs, CodeSize
    void* handle;
    union {
        void* out;
        std::int64_t number;
    };
};
struct ListOutArgs { ///< AddressableDevices, OutputElementTypes, GetDeviceDescriptions
    void* handle;
    const void* list;
    std::size_t count;
};
struct DimensionsArgs {
    void* executable;
    std::size_t count;
    const std::int64_t* dims; ///< dims of the first output, then of the second, and so on
    const std::size_t* ranks;
};
struct ClientCreateArgs {
    const NamedValue* options;
    std::size_t optionCount;
    void* callbacks[4]; ///< functions of a key-value store, which are not used
    void* client;       ///< out
};
struct ProgramText {
    char* code;
    std::size_t codeSize;
    const char* format;
    std::size_t formatSize;
};
struct ClientCompileArgs {
    void* client;
    const Padded<ProgramText>* program;
    const char* options;
    std::size_t optionsSize;
    void* loaded; ///< out
};
struct CompileArgs {
    void* topology;
    const Padded<ProgramText>* program;
    const char* options;
    std::size_t optionsSize;
    void* client;     ///< NULL if the program is only compiled
    void* executable; ///< out
};
struct TopologyCreateArgs {
    const char* name;
    std::size_t nameSize;
    const NamedValue* options;
    std::size_t optionCount;
    void* topology; ///< out
};
struct FromHostArgs {
    void* client;
    const void* data;
    std::int32_t type;
    std::int32_t pad0;
    const std::int64_t* dims;
    std::size_t rank;
    const std::int64_t* strides; ///< NULL if the data is dense
    std::size_t strideCount;
    std::int32_t semantics; ///< 0: the plugin copies the data during the call
    std::int32_t pad1;
    void* device;
    void* memory;
    void* layout;
    void* done;   ///< out: an event
    void* buffer; ///< out
};
struct ExecuteOptions {
    std::byte zero[96];
};
struct ExecuteArgs {
    void* loaded;
    const Padded<ExecuteOptions>* options;
    void* const* const* arguments; ///< [device][argument]
    std::size_t deviceCount;
    std::size_t argumentCount;
    void** const* outputs; ///< [device][output]; the caller's array, filled in
    void** done;           ///< [device]; the caller's array, filled with events
    void* device;
};
struct TiledLayout {
    std::size_t structSize;
    void* extensions;
    const std::int64_t* minorToMajor;
    std::size_t rank;
    const std::int64_t* tileDims;
    const std::size_t* tileDimSizes;
    std::size_t tileCount;
};
struct MemoryLayout {
    TiledLayout tiled;
    std::int32_t type; ///< 0: tiled
};
struct ToHostArgs {
    void* buffer;
    const Padded<MemoryLayout>* layout; ///< NULL: the layout on the device, which may be transposed
    void* out;                          ///< NULL: the call only returns the size
    std::size_t size;
    void* done; ///< out: event
};
struct OptimizedProgramArgs {
    void* executable;
    Padded<ProgramText>* program; ///< if its code is NULL, the call only returns the size
};
struct MemoryStatsArgs {
    void* executable;
    std::int64_t code, arguments, outputs, alias, temp; ///< out: bytes on the device
    std::int64_t host[5];
    std::int64_t peak; ///< out; 0 if the plugin does not know it
};
struct DeviceMemoryArgs {
    void* device;
    std::int64_t inUse, peak;
    std::int64_t others[5]; ///< other counts with their flags, which are not used
    std::int64_t limit;
    bool limitIsSet;
};

template<class Fields> inline constexpr std::size_t kFieldsAt = offsetof(Padded<Fields>, f);
static_assert(sizeof(Head) == 16 && kFieldsAt<TextArgs> == 16);
#define QS_AT(fields, member, offset) static_assert(16 + offsetof(fields, member) == (offset))
QS_AT(TextArgs, text, 24);
QS_AT(TextArgs, size, 32);
QS_AT(CodeArgs, code, 24);
QS_AT(ValuesOut, count, 24);
QS_AT(CostAnalysisArgs, count, 24);
QS_AT(CostAnalysisArgs, values, 32);
QS_AT(HandleOutArgs, out, 24);
QS_AT(ListOutArgs, list, 24);
QS_AT(ListOutArgs, count, 32);
QS_AT(DimensionsArgs, dims, 32);
QS_AT(DimensionsArgs, ranks, 40);
QS_AT(ClientCreateArgs, client, 64);
QS_AT(ProgramText, codeSize, 24);
QS_AT(ProgramText, format, 32);
QS_AT(ClientCompileArgs, program, 24);
QS_AT(ClientCompileArgs, loaded, 48);
QS_AT(CompileArgs, client, 48);
QS_AT(CompileArgs, executable, 56);
QS_AT(TopologyCreateArgs, topology, 48);
QS_AT(FromHostArgs, type, 32);
QS_AT(FromHostArgs, dims, 40);
QS_AT(FromHostArgs, rank, 48);
QS_AT(FromHostArgs, semantics, 72);
QS_AT(FromHostArgs, device, 80);
QS_AT(FromHostArgs, layout, 96);
QS_AT(FromHostArgs, done, 104);
QS_AT(FromHostArgs, buffer, 112);
QS_AT(ExecuteArgs, options, 24);
QS_AT(ExecuteArgs, arguments, 32);
QS_AT(ExecuteArgs, deviceCount, 40);
QS_AT(ExecuteArgs, argumentCount, 48);
QS_AT(ExecuteArgs, outputs, 56);
QS_AT(ExecuteArgs, done, 64);
QS_AT(ExecuteArgs, device, 72);
QS_AT(MemoryLayout, type, 72);
static_assert(sizeof(TiledLayout) == 56 && offsetof(TiledLayout, minorToMajor) == 16);
QS_AT(ToHostArgs, layout, 24);
QS_AT(ToHostArgs, out, 32);
QS_AT(ToHostArgs, size, 40);
QS_AT(ToHostArgs, done, 48);
QS_AT(OptimizedProgramArgs, program, 24);
QS_AT(MemoryStatsArgs, code, 24);
QS_AT(MemoryStatsArgs, arguments, 32);
QS_AT(MemoryStatsArgs, temp, 56);
QS_AT(MemoryStatsArgs, peak, 104);
QS_AT(DeviceMemoryArgs, limit, 80);
QS_AT(DeviceMemoryArgs, limitIsSet, 88);
#undef QS_AT

} // namespace qs::pjrt
