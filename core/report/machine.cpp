// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/machine.h"
#include "core/base/parallel.h"
#include "core/report/report.h"
#include "kernels/format.h"
#include "kernels/kernel_set.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/utsname.h>

namespace qs {
namespace {

/// A hash of all formats. It changes if levels, blocks or scales of a format change, so nobody must maintain a version
/// number.
std::string formatsVersion() {
    std::string text;
    for (const auto& f : formats()) {
        text += fmt::format("{};{};{};{};{};{};{};{};{};{};{};{}", f.id, int(f.kind), f.bits, f.zeroCode, f.valueOffset,
                            f.scaleKinds, int(f.defaultScale), f.defaultBlock, f.padsLastBlock, int(f.scaledBy),
                            int(f.ownScale), f.source);
        if (!f.bytes.empty()) text += fmt::format(";{};{};{}", f.shape.mantissa, f.shape.bias, f.shape.minusZero);
        for (const float level : f.levels) text += fmt::format(";{:a}", level);
        for (const float level : f.polyLevels) text += fmt::format(";{:a}", level);
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    const int done = EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
    // Frees the memory of libcrypto for this thread, which may end at the same time as the process.
    OPENSSL_thread_stop();
    if (done != 1) return "unknown";
    std::string hex;
    for (unsigned i = 0; i < 6; ++i) hex += fmt::format("{:02x}", digest[i]);
    return fmt::format("{} formats, {}", formats().size(), hex);
}

std::string date() {
    std::time_t now = std::time(nullptr);
    if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH")) {
        char* end = nullptr;
        const long long asked = std::strtoll(fixed, &end, 10);
        if (end != fixed && *end == 0) now = std::time_t(asked);
    }
    std::tm utc{};
    if (!gmtime_r(&now, &utc)) return "unknown";
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

} // namespace

std::string cpuName() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return "unknown";
}

const char* toolVersion() { return QS_VERSION; }

std::vector<std::pair<std::string, std::string>> machineProvenance() {
    utsname host{};
    uname(&host);
    return {
        {"version", fmt::format("QuantScope {}", toolVersion())},
        {"formats_version", formatsVersion()},
        {"date", date()},
        {"machine", fmt::format("{} {}, {}", host.sysname, host.release, host.machine)},
        {"cpu", cpuName()},
        {"isa", bestKernels().id},
        {"threads", std::to_string(workerCount())},
    };
}

namespace {

/// A key of provenance whose title is not its words, or whose values are numbers.
struct ProvenanceKey {
    std::string_view key;
    const char* title = nullptr; ///< null: the words of the key
    bool isNumber = false;
};
constexpr ProvenanceKey kProvenanceKeys[] = {
    {"input_sha256", "Input SHA-256"},
    {"cpu", "CPU"},
    {"cpu_features", "CPU features"},
    {"isa", "Instruction set"},
    {"version", "Tool"},
    {"formats_version", "Number formats"},
    {"command_line", "Command"},
    {"input_bytes", "Input bytes", true},
    {"date", "Date (UTC)"},
    {"threads", nullptr, true},
    {"seed", nullptr, true},
    {"context", nullptr, true},
    {"chunks", nullptr, true},
    {"loss_chunks", nullptr, true},
    {"first_token", nullptr, true},
    {"noise_floor", nullptr, true},
    {"runs", nullptr, true},
    {"runs_kept", nullptr, true},
    {"runs_ended", nullptr, true},
    {"until", nullptr, true},
    {"text_bytes", nullptr, true},
    {"tokens", nullptr, true},
    {"vocabulary", nullptr, true},
};

const ProvenanceKey* provenanceKey(std::string_view key) {
    const auto found = std::ranges::find(kProvenanceKeys, key, &ProvenanceKey::key);
    return found == std::end(kProvenanceKeys) ? nullptr : found;
}

} // namespace

bool isProvenanceNumber(std::string_view key) {
    const ProvenanceKey* known = provenanceKey(key);
    return known && known->isNumber;
}

std::string provenanceTitle(std::string_view key) {
    if (const ProvenanceKey* known = provenanceKey(key); known && known->title) return known->title;
    std::string title(key);
    for (auto& c : title)
        if (c == '_') c = ' ';
    if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = char(title[0] - 'a' + 'A');
    return title;
}

} // namespace qs
