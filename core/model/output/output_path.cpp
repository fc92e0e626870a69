// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/output_path.h"

#include "core/base/text.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace qs {
namespace fs = std::filesystem;

Result<OutputPath> outputPath(const std::string& path) {
    const std::string shown = shownPath(path);
    if (path.empty()) return fail("No output file was named.");
    if (path.find('\0') != std::string::npos)
        return fail(fmt::format("{} is not a path: it holds a NUL.", shown), path);
    std::error_code failed;
    fs::path absolute = fs::absolute(path, failed).lexically_normal();
    if (failed) return fail(fmt::format("{} is not a path: {}.", shown, failed.message()), path);
    if (!absolute.has_filename()) absolute = absolute.parent_path(); // "out/"
    if (!absolute.has_filename()) return fail(fmt::format("{} is not a place for an output.", shown), path);
    const fs::path folder = absolute.parent_path();
    if (!fs::is_directory(folder, failed)) {
        const bool exists = fs::exists(folder, failed);
        return fail(fmt::format("{} cannot be written: {} {}.", shown, escapeForPeople(folder.string(), 200),
                                exists ? "is not a folder" : "does not exist"),
                    path);
    }
    return OutputPath{absolute.string(), folder.string()};
}

std::string partialStem(const std::string& path) {
    constexpr std::string_view infix = ".partial-";
    constexpr std::size_t longest = NAME_MAX - infix.size() - kPartialDigits;
    const auto slash = path.rfind('/') + 1;
    std::string name = path.substr(slash);
    if (name.size() > longest) {
        const std::string end = fmt::format("~{:016x}", XXH3_64bits(name.data(), name.size()));
        std::size_t kept = longest - end.size();
        while (kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xc0) == 0x80) --kept; // whole characters
        name = name.substr(0, kept) + end;
    }
    return path.substr(0, slash) + name + std::string(infix);
}

std::string partialName(const std::string& path) {
    const std::string stem = partialStem(path);
    std::random_device random;
    for (;;) {
        std::string name = fmt::format("{}{:0{}x}", stem, random(), kPartialDigits);
        struct stat status {};
        if (::lstat(name.c_str(), &status) != 0) return name;
    }
}

Result<void> syncFolder(const std::string& folder) {
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd >= 0 && (::fsync(fd) == 0 || errno == EINVAL); // EINVAL: the file system cannot sync folders
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (!good) return fail(fmt::format("{} cannot be synced: {}.", shownPath(folder), std::strerror(error)), folder);
    return {};
}

std::string whyNotReplaced(const std::string& path, mode_t mode) {
    const std::string shown = shownPath(path);
    if (S_ISLNK(mode)) {
        std::error_code failed;
        const auto target = fs::read_symlink(path, failed);
        return fmt::format("{} is a symbolic link and is not replaced; name the file that it points to ({}).", shown,
                           failed ? "unreadable" : escapeForPeople(target.string(), 200));
    }
    if (S_ISREG(mode)) return fmt::format("{} is a file, not a folder.", shown);
    return fmt::format("{} is {} and is not replaced by a file.", shown,
                       S_ISDIR(mode) ? "a folder" : "no regular file");
}

} // namespace qs
