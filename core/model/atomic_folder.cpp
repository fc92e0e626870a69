// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/atomic_file.h"

#include "core/base/text.h"
#include "core/model/model.h"
#include "core/model/output_path.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace qs {
namespace {

namespace fs = std::filesystem;
constexpr const char* kMarker = ".quantscope";
constexpr const char* kMarkerFirstLine = "QuantScope wrote the files below and may replace them";

std::string shown(const std::string& path) { return escapeForPeople(path, 200); }

/// What lies in a folder, at any depth, relative to it; folders are named by their contents alone.
std::vector<std::string> contents(const fs::path& folder, std::error_code& failed) {
    std::vector<std::string> names;
    for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        if (!it->is_directory(failed) || it->is_symlink(failed))
            names.push_back(it->path().lexically_relative(folder).string());
    std::sort(names.begin(), names.end());
    return names;
}

/// Nothing is lost when the folder goes: it is empty, or its marker lists everything in it.
Result<void> mayBeReplaced(const std::string& path) {
    std::error_code failed;
    const auto names = contents(path, failed);
    if (failed) return fail(fmt::format("{} cannot be listed: {}.", shown(path), failed.message()), path);
    if (names.empty()) return {};
    std::ifstream marker(fs::path(path) / kMarker);
    std::string line;
    if (!std::getline(marker, line) || line != kMarkerFirstLine)
        return fail(fmt::format("{} is not empty and was not written by QuantScope; choose a new folder.", shown(path)),
                    path);
    std::set<std::string> ours{kMarker};
    while (std::getline(marker, line)) ours.insert(line);
    for (const auto& name : names)
        if (!ours.contains(name))
            return fail(fmt::format("{} holds {}, which QuantScope did not write; move it away or choose a new folder.",
                                    shown(path), escapeForPeople(name, 100)),
                        path);
    return {};
}

Result<void> holdsNoInput(const std::string& path, const Model* opened) {
    if (!opened) return {};
    std::error_code failed;
    const fs::path target = fs::weakly_canonical(path, failed);
    for (const auto& file : opened->files)
        for (const auto& source : {fs::path(file.path), fs::weakly_canonical(file.path, failed)}) {
            const auto below = source.lexically_relative(target);
            if (!below.empty() && *below.begin() != "..")
                return fail(
                    fmt::format("{} holds the opened {}; choose another folder.", shown(path), shown(file.path)), path);
        }
    return {};
}

Result<void> checkTarget(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {};
    if (!S_ISDIR(status.st_mode)) return fail(whyNotReplaced(path, status.st_mode), path);
    return mayBeReplaced(path);
}

} // namespace

Result<AtomicFolder> AtomicFolder::create(const std::string& path, const Model* opened) {
    auto target = outputPath(path);
    if (!target) return tl::unexpected(target.error());
    if (auto apart = holdsNoInput(target->path, opened); !apart) return tl::unexpected(apart.error());
    if (auto good = checkTarget(target->path); !good) return tl::unexpected(good.error());
    AtomicFolder folder;
    std::string partial = partialName(target->path);
    if (::mkdir(partial.c_str(), 0777) != 0)
        return fail(fmt::format("{} cannot be made: {}.", shown(path), std::strerror(errno)), path);
    folder.path_ = target->path;
    folder.partial_ = std::move(partial);
    return folder;
}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : path_(std::move(other.path_)), partial_(std::exchange(other.partial_, {})) {}

AtomicFolder::~AtomicFolder() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

Result<void> AtomicFolder::commit() {
    const auto cannot = [&](const char* why) {
        return fail(fmt::format("{} cannot be written: {}; nothing was left behind.", shown(path_), why), path_);
    };
    std::error_code failed;
    const auto names = contents(partial_, failed);
    if (failed) return cannot(failed.message().c_str());
    std::string marker = std::string(kMarkerFirstLine) + "\n";
    for (const auto& name : names) marker += name + "\n";
    if (auto written = writeWholeFile((fs::path(partial_) / kMarker).string(), marker); !written) return written;

    // Asked again: hours may have passed since create().
    if (auto good = checkTarget(path_); !good) return good;
    // An empty folder is replaced by plain rename; one of ours changes places with the new one, so that at any moment
    // one of the two is there.
    if (::rename(partial_.c_str(), path_.c_str()) == 0) {
        partial_.clear();
    } else if (errno != ENOTEMPTY && errno != EEXIST) {
        return cannot(std::strerror(errno));
    } else if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
        const std::string old = partialName(path_);
        if (::rename(path_.c_str(), old.c_str()) != 0) return cannot(std::strerror(errno));
        if (::rename(partial_.c_str(), path_.c_str()) != 0) {
            const int error = errno;
            ::rename(old.c_str(), path_.c_str());
            return cannot(std::strerror(error));
        }
        partial_ = old;
    }
    if (!partial_.empty()) fs::remove_all(partial_, failed); // what was replaced
    partial_.clear();
    const int fd = ::open(fs::path(path_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        ::fsync(fd);
        ::close(fd);
    }
    return {};
}

} // namespace qs
