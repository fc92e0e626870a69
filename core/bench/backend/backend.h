// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend as a C++ class: plugins/abi/quantscope_backend.h in terms of values. LocalBackend calls a table in this
// process (in the worker, and in tests). RemoteBackend talks to a quantscope-worker and turns a crash, a hang or
// garbage into a Failure. Use a Backend from one thread; only cancel() may be called from another.

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/process/shared_buffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace qs {

/// The states of a row of `backends` or `bench`. rowStateText() gives the text, lower case as in JSON.
enum class RowState {
    Ok,
    Available,
    NeedsConfig,
    CompileOnly,
    Unavailable,
    NotBuilt, ///< the last five: only of `backends`
    Declined,
    Wrong,
    Invalid,
    Crashed,
    Hung,
    Failed,
    Cancelled
};
const char* rowStateText(RowState state);

/// Why a step failed. After Crashed and Hung the plugin is quarantined.
struct Failure {
    RowState state = RowState::Failed;
    std::string reason; ///< one sentence with step and signal: "crashed in prepare (SIGSEGV): <last stderr line>"
    std::string hint{}; ///< what the user can do, or empty
};
template<class T> using Outcome = tl::expected<T, Failure>;

using Options = std::vector<std::pair<std::string, std::string>>;

/// Where a backend comes from.
struct BackendSource {
    /// "cpu"; "openblas:coretype=default" with its own options; for a plugin given by path: its file name until it has
    /// answered
    std::string id;
    std::string base;                  ///< the id without options: what a shipped one calls itself
    std::string path;                  ///< empty: linked into the worker (cpu)
    Options options;                   ///< "path", "threads", "topology", ...
    std::vector<std::string> idKeys;   ///< the options that the id names
    std::vector<std::string> askedFor; ///< keys that a command line names where they are set: see askedAs()
    bool takesPlugin = false;          ///< its option "path" is a vendor's library, which --plugin names too
    bool shipped = true;
    bool built = true;     ///< false: this build does not contain the module
    bool named = false;    ///< the user gave its path, so that it must run
    bool baseline = false; ///< speed-ups are ratios to its f32 product
    bool isNamedById(std::string_view key) const;
    const std::string* option(std::string_view key) const; ///< null: not given
};

struct ProbeResult {
    RowState state = RowState::Unavailable; ///< Available, NeedsConfig, CompileOnly, Unavailable
    int score = 0;
    std::string id, name, version, license, reason, hint;
    int isolation = 1;
};

struct DeviceInfo {
    std::string id, name, arch;
    int kind = 0; ///< QS_DEVICE_*
    std::uint64_t memory = 0;
    bool hostRoofs = false; ///< its roofs are those of the host
};

/// The values of a qs_format. Ids and packings as in the ABI header.
struct OperandFormat {
    std::string format = "f32", packing = "none", scaleDtype = "none", zeroDtype = "none";
    std::uint32_t bits = 32;
    int packAxis = -1, blockAxis = -1, channelAxis = -1, codeBias = 0;
    std::uint64_t block = 0, rowMultiple = 0;
    std::vector<float> codebook;
    bool operator==(const OperandFormat&) const = default;
};

/// The values of a qs_problem.
struct Problem {
    std::string op = "matmul"; ///< one of the ABI's operations
    std::int64_t m = 1, n = 0, k = 0;
    bool wIsKn = false, bias = false, dynamicAct = false;
    std::optional<OperandFormat> weight, act;
    std::string compute, accum; ///< empty: the variant decides
    std::string out = "f32";
    bool operator==(const Problem&) const = default;
};

/// A qs_tensor in shared memory; row-major, 64-byte aligned.
struct HostTensor {
    std::string role, dtype;
    std::vector<std::int64_t> dims;
    std::shared_ptr<SharedBuffer> buffer;
    std::uint64_t offset = 0, bytes = 0;
    std::byte* data() const { return buffer->data() + offset; }
};

struct Variant {
    std::string id, title, note;
    std::string compute{}; ///< type of its products: "f32" "bf16" "i8" "fp8_e4m3"; empty: not known
    bool approx = false, experimental = false, baseline = false, repacks = false;
    double nmseLimit = 0;
    /// of an approximate variant: the value that it decodes each code to; empty: not known
    std::vector<float> levels{};
};

struct Support {
    int level = 0; ///< QS_SUPPORT_*
    std::string reason;
    std::vector<Variant> variants;
};

/// The values of a qs_kernel_info; nullopt: not known.
struct KernelInfo {
    int fusion = 0;
    std::optional<double> repackMs, uploadMs, compileMs, flops, bytesAccessed;
    std::optional<std::int64_t> argBytes, outBytes, tempBytes, peakBytes, codeBytes, weightBytes, copyBytes;
    std::optional<double> prepareNs; ///< wall time of the whole call, measured by the host
};
struct PreparedKernel {
    std::uint64_t handle = 0;
    KernelInfo info;
};

struct RunOptions {
    std::uint32_t warmup = 1, iterations = 10, chain = 1, bufferSets = 1;
    bool cold = false;
    double maxSeconds = 2;
    std::uint64_t memoryBytes = 0; ///< for a roof: upper limit of the memory that it reads; 0: the backend decides
};
struct RunSamples {
    std::vector<std::uint64_t> ns; ///< nanoseconds, one entry per run
    int clock = 0;                 ///< QS_CLOCK_*
    bool timingValid = false;
};
struct RoofSamples : RunSamples {
    double work = 0; ///< bytes or operations per run
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual Outcome<std::string> describe() = 0; ///< JSON
    virtual Outcome<std::vector<DeviceInfo>> devices() = 0;
    virtual Outcome<RoofSamples> roof(std::uint32_t device, const std::string& kind, const RunOptions& options) = 0;
    /// Level 0 with a reason is an answer, not a Failure.
    virtual Outcome<Support> query(std::uint32_t device, const Problem& problem) = 0;
    /// Several kernels may exist at once; destroy() each of them.
    virtual Outcome<PreparedKernel> prepare(std::uint32_t device, const Problem& problem, const std::string& variant,
                                            std::span<const HostTensor> inputs) = 0;
    virtual Outcome<void> execute(std::uint64_t kernel, std::span<const HostTensor> act,
                                  std::span<const HostTensor> outs) = 0;
    /// `lastOut` (optional) receives the result of the last timed run.
    virtual Outcome<RunSamples> bench(std::uint64_t kernel, std::span<const HostTensor> act, const RunOptions& options,
                                      const HostTensor* lastOut) = 0;
    /// nullopt: there is no such artifact.
    virtual Outcome<std::optional<std::string>> artifact(std::uint64_t kernel, const std::string& what) = 0;
    virtual void destroy(std::uint64_t kernel) = 0;
    virtual void cancel() = 0;
    /// The output that the backend has printed, at most its last 64 KiB; empty for a LocalBackend.
    virtual std::string log() const { return {}; }
};

/// Seconds that a step may take before its worker is killed (probe 3, open 60, prepare 300, run: budget + 30). A plugin
/// may ask for more than `open`, up to `longestOpen`.
struct Deadlines {
    double probe = 3, open = 60, prepare = 300, query = 10, runSlack = 30, longestOpen = 600;
};

/// The four shipped backends (cpu openblas cuda pjrt), also those that are not `built`, with options from the
/// environment (QUANTSCOPE_PJRT_PLUGIN, TPU_LIBRARY_PATH), and one source per path of `plugins`. If a path is a PJRT
/// plugin, the shipped pjrt runs on it, in preference to the environment; a second PJRT plugin adds a source.
std::vector<BackendSource> backendSources(std::span<const std::string> plugins, const Options& options = {});
/// How a command line asks for a source, whatever the environment says: --backend ID, and --plugin PATH unless "".
struct AskedBackend {
    std::string id, plugin;
};
AskedBackend askedAs(const BackendSource& source);
/// True for the ids of the shipped backends, also of those that this build lacks.
bool isShippedId(std::string_view id);
/// One of `sources` with own options: "openblas:coretype=default", "pjrt:topology=v6e:1x1,chips_per_host_bounds=1,1,1".
/// nullopt: there is no source with that id, or the options are invalid.
std::optional<BackendSource> sourceWithOptions(std::string_view text, std::span<const BackendSource> sources);
/// True if the file is a PJRT plugin: it exports GetPjrtApi and is no backend of this interface. Loads nothing.
bool isPjrtPlugin(const std::string& path);
/// Runs in its own worker. For a quarantined source it fails at once with the reason of the quarantine.
Outcome<ProbeResult> probeBackend(const BackendSource& source, const Deadlines& deadlines, const Job& job);
/// Opens the backend in its own worker, which ends with the Backend. `job` cancels the running step.
Outcome<std::unique_ptr<Backend>> openBackend(const BackendSource& source, const Deadlines& deadlines, const Job& job);

/// Quarantined are plugins that crashed or hung, by path, size and mtime, until this process ends or they are released.
void releaseQuarantine(const BackendSource& source);
std::optional<std::string> quarantineReason(const BackendSource& source);

} // namespace qs
