// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend with C++ manners: what plugins/abi/quantscope_backend.h says, as values. Two implementations: LocalBackend
// calls a table in this process (the worker's side, and tests), RemoteBackend speaks to a quantscope-worker and turns a
// crash, a hang or garbage into a Failure. One thread per Backend; only cancel() may come from another.

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

/// What a row of `backends` or `bench` can be; text in rowStateText(), lower case, as in JSON.
enum class RowState {
    Ok,
    Available,
    NeedsConfig,
    CompileOnly,
    Unavailable,
    NotBuilt, ///< the last five: of `backends`
    Declined,
    Wrong,
    Invalid,
    Crashed,
    Hung,
    Failed,
    Cancelled
};
const char* rowStateText(RowState state);

/// Why a step did not happen. Crashed and Hung: the plugin is quarantined.
struct Failure {
    RowState state = RowState::Failed;
    std::string reason; ///< one sentence with step and signal: "crashed in prepare (SIGSEGV): <last stderr line>"
    std::string hint{}; ///< what the user can do about it, or empty
};
template<class T> using Outcome = tl::expected<T, Failure>;

using Options = std::vector<std::pair<std::string, std::string>>;

/// Where a backend comes from.
struct BackendSource {
    /// "cpu"; "openblas:coretype=default" with options of its own; of a plugin that was named by path: its file name
    /// until it has answered
    std::string id;
    std::string path; ///< empty: linked into the worker (cpu)
    Options options;  ///< "path", "threads", "topology", ...
    bool shipped = true;
    bool built = true;     ///< false: this build has no such module
    bool named = false;    ///< by a path that the user gave: meant to run
    bool baseline = false; ///< speed-ups are ratios to its f32 product
    std::string baseId() const { return id.substr(0, id.find(':')); }
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

/// qs_format, owned. Ids and packings as in the ABI header.
struct OperandFormat {
    std::string format = "f32", packing = "none", scaleDtype = "none", zeroDtype = "none";
    std::uint32_t bits = 32;
    int packAxis = -1, blockAxis = -1, channelAxis = -1, codeBias = 0;
    std::uint64_t block = 0, rowMultiple = 0;
    std::vector<float> codebook;
    bool operator==(const OperandFormat&) const = default;
};

/// qs_problem, owned.
struct Problem {
    std::string op = "matmul"; ///< the ABI's ops
    std::int64_t m = 1, n = 0, k = 0;
    bool wIsKn = false, bias = false, dynamicAct = false;
    std::optional<OperandFormat> weight, act;
    std::string compute, accum; ///< empty: the variant's choice
    std::string out = "f32";
    bool operator==(const Problem&) const = default;
};

/// qs_tensor over shared memory; row-major, 64-byte aligned.
struct HostTensor {
    std::string role, dtype;
    std::vector<std::int64_t> dims;
    std::shared_ptr<SharedBuffer> buffer;
    std::uint64_t offset = 0, bytes = 0;
    std::byte* data() const { return buffer->data() + offset; }
};

struct Variant {
    std::string id, title, note;
    std::string compute{}; ///< type of its products: "f32" "bf16" "i8" "fp8_e4m3"; empty: not said
    bool approx = false, experimental = false, baseline = false, repacks = false;
    double nmseLimit = 0;
    std::vector<float> levels{}; ///< of an approximate one: what it decodes each code to; empty: not said
};

struct Support {
    int level = 0; ///< QS_SUPPORT_*
    std::string reason;
    std::vector<Variant> variants;
};

/// qs_kernel_info; nullopt = unknown.
struct KernelInfo {
    int fusion = 0;
    std::optional<double> repackMs, uploadMs, compileMs, flops, bytesAccessed;
    std::optional<std::int64_t> argBytes, outBytes, tempBytes, peakBytes, codeBytes, weightBytes, copyBytes;
    std::optional<double> prepareNs; ///< wall time of the whole call, measured beside it
};
struct PreparedKernel {
    std::uint64_t handle = 0;
    KernelInfo info;
};

struct RunOptions {
    std::uint32_t warmup = 1, iterations = 10, chain = 1, bufferSets = 1;
    bool cold = false;
    double maxSeconds = 2;
    std::uint64_t memoryBytes = 0; ///< of a roof: the most that what it reads may take; 0: as the backend likes
};
struct RunSamples {
    std::vector<std::uint64_t> ns; ///< of one run each
    int clock = 0;                 ///< QS_CLOCK_*
    bool timingValid = false;
};
struct RoofSamples : RunSamples {
    double work = 0; ///< bytes or operations a run
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual Outcome<std::string> describe() = 0; ///< JSON
    virtual Outcome<std::vector<DeviceInfo>> devices() = 0;
    virtual Outcome<RoofSamples> roof(std::uint32_t device, const std::string& kind, const RunOptions& options) = 0;
    /// Level 0 with its reason is an answer, not a Failure.
    virtual Outcome<Support> query(std::uint32_t device, const Problem& problem) = 0;
    /// Several kernels may be alive; destroy() each.
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
    /// What the backend has printed so far, the last 64 KiB of it; empty in this process.
    virtual std::string log() const { return {}; }
};

/// Seconds a step may take before its worker is killed (BACKENDS: probe 3, open 60, prepare 300, run: budget + 30).
struct Deadlines {
    double probe = 3, open = 60, prepare = 300, query = 10, runSlack = 30;
};

/// The four shipped backends (cpu openblas cuda pjrt), `built` or not, with the options that the environment gives
/// (QUANTSCOPE_PJRT_PLUGIN, TPU_LIBRARY_PATH); then one per path of `plugins`. A path that is a PJRT plugin is what the
/// shipped pjrt runs on, before the environment; a second one makes another source of it.
std::vector<BackendSource> backendSources(std::span<const std::string> plugins, const Options& options = {});
/// One of `sources` with options of its own beside the plain one: "openblas:coretype=default",
/// "pjrt:topology=v6e:1x1,chips_per_host_bounds=1,1,1". nullopt: no source has that id, or the options are none.
std::optional<BackendSource> sourceWithOptions(std::string_view text, std::span<const BackendSource> sources);
/// Whether a file is a PJRT plugin: it exports GetPjrtApi, and is no backend of ours. Loads nothing.
bool isPjrtPlugin(const std::string& path);
/// In a worker of its own. A source that is quarantined fails at once with the reason it was quarantined for.
Outcome<ProbeResult> probeBackend(const BackendSource& source, const Deadlines& deadlines, const Job& job);
/// Opens in a worker of its own, which ends with the Backend. `job` cancels a step that runs.
Outcome<std::unique_ptr<Backend>> openBackend(const BackendSource& source, const Deadlines& deadlines, const Job& job);

/// Plugins that crashed or hung, by path, size and mtime, for the life of this process or until released.
void releaseQuarantine(const BackendSource& source);
std::optional<std::string> quarantineReason(const BackendSource& source);

} // namespace qs
