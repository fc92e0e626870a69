// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/options.h"
#include "plugins/elf/elf_library.h"
#include "plugins/pjrt/tpu_presence.h"
#include "plugins/pjrt/vendor_libraries.h"

#include <algorithm>
#include <charconv>

namespace qs::pjrt {
namespace {

constexpr const char* kDefaultTopology = "v6e:2x2";

bool readBounds(const std::string& text, std::vector<std::int64_t>& out) {
    const char *at = text.data(), *end = at + text.size();
    while (at < end) {
        std::int64_t value = 0;
        const auto [next, error] = std::from_chars(at, end, value);
        if (error != std::errc() || value < 1 || value > 4096) return false;
        out.push_back(value);
        at = next;
        if (at < end && *at++ != ',') return false;
    }
    return out.size() == 3;
}

} // namespace

Settings readSettings(const qs_kv* options, std::uint32_t count) {
    Settings s;
    for (std::uint32_t i = 0; options != nullptr && i < count; ++i) {
        const std::string key = options[i].key == nullptr ? "" : options[i].key;
        const std::string value = options[i].value == nullptr ? "" : options[i].value;
        if (key == "path") s.path = value;
        if (key == "topology") s.topology = value;
        if (key == "sys_root") s.sysRoot = value;
        if (key == "chips_per_host_bounds" && !readBounds(value, s.chipsPerHostBounds))
            s.problem = "chips_per_host_bounds must be three sizes such as 1,1,1, not \"" + value + "\"";
    }
    return s;
}

Usability examine(const Settings& s) {
    Usability u;
    const auto needs = [&](const std::string& reason, const std::string& hint) {
        u.state = QS_PROBE_NEEDS_CONFIG;
        u.reason = reason;
        u.hint = hint;
        return u;
    };
    static const std::string kHint = "set QUANTSCOPE_PJRT_PLUGIN to the path of a PJRT plugin (libtpu.so, "
                                     "xla_cuda_plugin.so, xla_cpu_pjrt.so)";
    if (!s.problem.empty()) return needs(s.problem, "correct the option");
    if (s.path.empty()) return needs("no PJRT plugin is named", kHint);
    const auto library = readElfLibrary(s.path);
    if (!library.readable) return needs(s.path + " cannot be read", kHint);
    if (!library.defines("GetPjrtApi")) {
        u.reason =
            s.path + " " + (library.problem.empty() ? "exports no GetPjrtApi: it is no PJRT plugin" : library.problem);
        u.hint = kHint;
        return u;
    }
    u.gpu = needsCuda(s.path);
    u.topology = s.topology;
    const bool tpu = s.path.find("libtpu") != std::string::npos ||
                     std::any_of(library.defined.begin(), library.defined.end(), [](std::string_view name) {
                         return name == "GetLibtpuSdkApi" || name.starts_with("TpuDriver_"); // symbols of libtpu
                     });
    const auto presence = findTpu(s.sysRoot);
    u.skipMetadata = tpu && !presence.onBus;
    u.state = QS_PROBE_AVAILABLE;
    if (tpu && presence.onBus && !presence.hasDevice && u.topology.empty()) {
        u.state = QS_PROBE_UNAVAILABLE;
        u.reason =
            "a TPU " + presence.generation + " is on the bus, but neither /dev/accel* nor /dev/vfio/* can be opened";
        u.hint = "give this user or container the TPU's device files";
        return u;
    }
    if (tpu && !presence.onBus && u.topology.empty()) u.topology = kDefaultTopology;
    if (!u.topology.empty()) {
        u.state = QS_PROBE_COMPILE_ONLY;
        u.reason = "compiles for " + u.topology + (presence.onBus ? "" : "; there is no TPU in this machine");
        u.hint = "the option topology names another one (v4:2x2x1, v5e:2x2, v5p:2x2x1, v6e:2x2)";
    }
    return u;
}

} // namespace qs::pjrt
