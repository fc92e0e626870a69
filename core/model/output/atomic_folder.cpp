// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/atomic_file.h"

#include "core/base/text.h"
#include "core/model/companion.h"
#include "core/model/model.h"
#include "core/model/output/content_note.h"
#include "core/model/output/folder_lock.h"
#include "core/model/output/output_path.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <sys/stat.h>
#include <utility>

namespace qs {
namespace {

namespace fs = std::filesystem;
// Name of the file that lists what commit() wrote: NAME, and behind tabs what Listed holds.
constexpr const char* kMarker = ".quantscope";
constexpr const char* kMarkerFirstLine = "QuantScope wrote the files below and may replace them";

constexpr std::uintmax_t kLongestMarker = std::uintmax_t(64) << 20;

/// A file name in a line of the marker. Newlines, tabs and backslashes are escaped, so that a name stays on one line.
std::string markerLine(const std::string& name) {
    std::string line;
    for (const char c : name)
        if (c == '\n' || c == '\t' || c == '\\')
            line += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\\\";
        else
            line += c;
    return line;
}

/// What the marker says of a file beside its name.
struct Listed {
    std::string size, hash; ///< in bytes; see content_note.h
};

/// Whether the content of a file is another one than that of the marker. Times say nothing: a copy has new ones, and
/// anybody can put them back.
bool hasChanged(const fs::path& file, const Listed& listed) {
    struct stat now {};
    if (::lstat(file.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) return true;
    if (listed.size != std::to_string(now.st_size) || listed.hash.empty()) return true;
    return contentHashOf(file.string()) != listed.hash;
}

/// The line of the marker for a file in the folder.
Result<std::string> markerLineOf(const fs::path& folder, const std::string& name) {
    const std::string path = (folder / name).string();
    Result<std::string> hash = notedHash(path);
    if (hash->empty()) hash = contentHashOf(path);
    struct stat now {};
    if (!hash || ::lstat(path.c_str(), &now) != 0) return hash;
    return fmt::format("{}\t{}\t{}\n", markerLine(name), now.st_size, *hash);
}

/// Paths of all files in a folder and its subfolders, relative to it, sorted. Subfolders themselves are not listed.
std::vector<std::string> contents(const fs::path& folder, std::error_code& failed) {
    std::vector<std::string> names;
    for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        if (!it->is_directory(failed) || it->is_symlink(failed))
            names.push_back(it->path().lexically_relative(folder).string());
    std::ranges::sort(names);
    return names;
}

/// Succeeds if deleting the folder loses nothing: it is empty, or its marker lists everything in it.
Result<void> mayBeReplaced(const std::string& path) {
    std::error_code failed;
    const auto names = contents(path, failed);
    if (failed) return fail(fmt::format("{} cannot be listed: {}.", shownPath(path), failed.message()), path);
    if (names.empty()) return {};
    const fs::path markerPath = fs::path(path) / kMarker;
    std::istringstream marker; // stays empty if the marker is a symbolic link, which could point anywhere
    if (fs::symlink_status(markerPath, failed).type() == fs::file_type::regular)
        marker.str(readCompanion(markerPath.string(), kLongestMarker).value_or(std::string()));
    std::string line;
    if (!std::getline(marker, line) || line != kMarkerFirstLine)
        return fail(
            fmt::format("{} is not empty and was not written by QuantScope; choose a new folder.", shownPath(path)),
            path);
    std::map<std::string, Listed> ours; // by name
    while (std::getline(marker, line)) {
        std::istringstream fields(line);
        std::string name;
        Listed listed;
        std::getline(fields, name, '\t');
        std::getline(fields, listed.size, '\t');
        std::getline(fields, listed.hash, '\t');
        ours.emplace(std::move(name), std::move(listed));
    }
    for (const auto& name : names) {
        if (name == kMarker || name == kWritingMarker) continue;
        const auto found = ours.find(markerLine(name));
        const bool isThere = found != ours.end();
        if (isThere && !hasChanged(fs::path(path) / name, found->second)) continue;
        return fail(fmt::format("{} holds {}, which {}; move it away or choose a new folder.", shownPath(path),
                                escapeForPeople(name, 100),
                                isThere ? "has changed since QuantScope wrote it" : "QuantScope did not write"),
                    path);
    }
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
                return fail(fmt::format("{} holds the opened {}; choose another folder.", shownPath(path),
                                        shownPath(file.path)),
                            path);
        }
    return {};
}

Result<void> checkTarget(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {};
    if (!S_ISDIR(status.st_mode)) return fail(whyNotReplaced(path, status.st_mode), path);
    return mayBeReplaced(path);
}

/// The state of all files in a folder. It stays the same as long as nobody changes one of them: no program can put the
/// time back that a file was changed at.
std::string stateOf(const std::string& path) {
    std::error_code failed;
    std::string state;
    for (const std::string& name : contents(path, failed)) {
        struct stat now {};
        ::lstat((fs::path(path) / name).c_str(), &now);
        state += fmt::format("{} {} {} {} {}\n", markerLine(name), now.st_ino, now.st_size, now.st_ctim.tv_sec,
                             now.st_ctim.tv_nsec);
    }
    return state;
}

} // namespace

Result<AtomicFolder> AtomicFolder::create(const std::string& path, const Model* opened) {
    auto target = outputPath(path);
    if (!target) return tl::unexpected(target.error());
    if (auto apart = holdsNoInput(target->path, opened); !apart) return tl::unexpected(apart.error());
    {
        const auto lock = FolderLock::take(target->folder);
        if (!lock) return tl::unexpected(lock.error());
        adoptStalePartial(target->path, kMarker);
    }
    if (auto good = checkTarget(target->path); !good) return tl::unexpected(good.error());
    removeStalePartials(target->path);
    auto partial = PartialFolder::create(target->path, 0777);
    if (!partial) return tl::unexpected(partial.error());
    return AtomicFolder(target->path, std::move(*partial));
}

Result<void> AtomicFolder::commit() {
    const auto cannot = [&](const char* why) {
        return fail(fmt::format("{} cannot be written: {}; nothing was left behind.", shownPath(path_), why), path_);
    };
    const std::string partial = partial_.path();
    std::error_code failed;
    const auto names = contents(partial, failed);
    if (failed) return cannot(failed.message().c_str());
    std::string marker(kMarkerFirstLine);
    marker += '\n';
    for (const auto& name : names) {
        if (name == kWritingMarker) continue;
        const auto added = markerLineOf(partial, name);
        if (!added) return tl::unexpected(added.error());
        marker += *added;
    }
    if (auto written = writeWholeFile((fs::path(partial) / kMarker).string(), marker); !written) return written;

    // Check again: hours may have passed since create(). All is read before the lock, which is held for milliseconds.
    const std::string before = stateOf(path_);
    if (auto good = checkTarget(path_); !good) return good;
    const auto lock = FolderLock::take(fs::path(path_).parent_path().string());
    if (!lock) return tl::unexpected(lock.error());
    if (stateOf(path_) != before)
        if (auto good = checkTarget(path_); !good) return good;
    // An empty target is replaced by a plain rename. A target that we wrote is exchanged with the new folder in one
    // call, so that one of the two exists at any moment.
    if (::rename(partial.c_str(), path_.c_str()) == 0) {
        partial_.becameOutput(path_);
        return syncFolder(fs::path(path_).parent_path().string());
    }
    if (errno != ENOTEMPTY && errno != EEXIST) return cannot(std::strerror(errno));
    PartialFolder::markReplaced(path_);
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
        const std::string old = partialName(path_);
        if (::rename(path_.c_str(), old.c_str()) != 0) {
            const int error = errno;
            PartialFolder::unmark(path_);
            return cannot(std::strerror(error));
        }
        if (::rename(partial.c_str(), path_.c_str()) != 0) {
            const int error = errno;
            ::rename(old.c_str(), path_.c_str());
            PartialFolder::unmark(path_);
            return cannot(std::strerror(error));
        }
        ::rename(old.c_str(), partial.c_str());
    }
    PartialFolder::unmark(path_);
    partial_.remove(); // this is the replaced folder now
    return syncFolder(fs::path(path_).parent_path().string());
}

} // namespace qs
