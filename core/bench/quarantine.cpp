// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/quarantine.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <tuple>

namespace qs {
namespace {

/// Path, size, mtime in nanoseconds; of what is linked in: its id alone.
using Key = std::tuple<std::string, std::uint64_t, std::int64_t>;

Key keyOf(const BackendSource& source) {
    if (source.path.empty()) return {source.id, 0, 0};
    std::error_code error;
    const auto path = std::filesystem::weakly_canonical(source.path, error);
    struct stat status {};
    if (stat(source.path.c_str(), &status) != 0) return {source.path, 0, 0};
    return {error ? source.path : path.string(), std::uint64_t(status.st_size),
            std::int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::mutex mutex;
std::map<Key, Failure>& entries() {
    static std::map<Key, Failure> map;
    return map;
}

} // namespace

void quarantine(const BackendSource& source, const Failure& failure) {
    const std::lock_guard lock(mutex);
    entries().insert_or_assign(keyOf(source), failure);
}

std::optional<Failure> quarantined(const BackendSource& source) {
    const std::lock_guard lock(mutex);
    const auto at = entries().find(keyOf(source));
    return at == entries().end() ? std::nullopt : std::optional(at->second);
}

void releaseQuarantine(const BackendSource& source) {
    const std::lock_guard lock(mutex);
    entries().erase(keyOf(source));
}

std::optional<std::string> quarantineReason(const BackendSource& source) {
    const auto failure = quarantined(source);
    return failure ? std::optional(failure->reason) : std::nullopt;
}

} // namespace qs
