// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/quarantine.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <tuple>

namespace qs {
namespace {

/// Path, size, mtime in nanoseconds.
using File = std::tuple<std::string, std::uint64_t, std::int64_t>;
/// The module (the id alone if it is linked in), and the vendor's library that it was told to load.
using Key = std::pair<File, File>;

File fileAt(const std::string& path) {
    std::error_code error;
    const auto whole = std::filesystem::weakly_canonical(path, error);
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return {path, 0, 0};
    return {error ? path : whole.string(), std::uint64_t(status.st_size),
            std::int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Key keyOf(const BackendSource& source) {
    std::string vendors;
    for (const auto& [key, value] : source.options)
        if (key == "path") vendors = value;
    return {source.path.empty() ? File{source.base, 0, 0} : fileAt(source.path), fileAt(vendors)};
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
