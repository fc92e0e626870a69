// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the facts of a table and calls its probe().
#include "core/base/text.h"
#include "core/bench/backend/abi_values.h"
#include "core/bench/backend/plugin_host.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

/// Upper limit for the size of a table of any version; a larger size is invalid.
constexpr std::uint32_t kLargestTable = 64 * 1024;
constexpr std::size_t kLongestName = 200;

void logFromPlugin(void* user, std::int32_t level, const char* text) {
    const auto& host = *static_cast<PluginHost*>(user);
    if (host.log && text) host.log(std::clamp(level, 0, 3), {text, strnlen(text, 4096)});
}
std::int32_t shouldStop(void* user) { return static_cast<PluginHost*>(user)->stop.load(std::memory_order_relaxed); }

/// Empty if the pointer is NULL or the text is not terminated.
std::string ownText(const char* text) {
    if (!text) return {};
    const std::size_t length = strnlen(text, kLongestName);
    return length == kLongestName ? std::string() : escapeForPeople({text, length});
}

} // namespace

qs_host abiHost(PluginHost& host) {
    auto abi = sized<qs_host>();
    abi.abi_major = QS_ABI_MAJOR;
    abi.abi_minor = QS_ABI_MINOR;
    abi.user = &host;
    abi.log = logFromPlugin;
    abi.should_stop = shouldStop;
    return abi;
}

Outcome<qs_backend> readTable(const qs_backend* table) {
    const auto refused = [](const std::string& why) { return tl::unexpected(Failure{RowState::Declined, why}); };
    if (!table) return refused(fmt::format("does not speak version {} of the backend interface", QS_ABI_MAJOR));
    if (table->struct_size < offsetof(qs_backend, probe) || table->struct_size > kLargestTable)
        return garbage("probe", fmt::format("a table of {} bytes", table->struct_size));
    qs_backend copy{};
    std::memcpy(&copy, table, std::min<std::size_t>(table->struct_size, sizeof copy));
    if (copy.abi_major != QS_ABI_MAJOR)
        return refused(fmt::format("is built for version {}.{} of the backend interface; this program speaks {}.{}",
                                   copy.abi_major, copy.abi_minor, QS_ABI_MAJOR, QS_ABI_MINOR));
    if (!isIdentifier(ownText(copy.id))) return garbage("probe", "an id that is not [a-z0-9_]+");
    return copy;
}

Outcome<ProbeResult> probeTable(const qs_backend* table, const Options& options, PluginHost& host) {
    const auto read = readTable(table);
    if (!read) return tl::unexpected(read.error());
    if (!read->probe) return tl::unexpected(Failure{RowState::Declined, "has no probe()"});
    auto out = sized<qs_probe>();
    auto error = sized<qs_error>();
    const qs_host abi = abiHost(host);
    const auto values = keyValues(options);
    host.stop = false;
    const std::int32_t code = read->probe(&abi, values.data(), std::uint32_t(values.size()), &out, &error);
    if (code != QS_OK) return tl::unexpected(failureOf("probe", code, error));
    auto result = probeOf(out);
    if (!result) return result;
    result->id = ownText(read->id);
    result->name = ownText(read->name);
    result->version = ownText(read->version);
    result->license = ownText(read->license);
    result->isolation = int(read->isolation);
    return result;
}

} // namespace qs
