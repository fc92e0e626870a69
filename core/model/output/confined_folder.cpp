// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/confined_folder.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/process/descriptor.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace qs {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kInside = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
constexpr int kRead = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

int openInside(int folder, const std::string& name, int flags, std::uint64_t resolve) {
    // A file that lies in the folder itself and is no link needs no openat2(), which older kernels and containers lack.
    if ((flags & O_NOFOLLOW) && name.find('/') == std::string::npos) return ::openat(folder, name.c_str(), flags);
    open_how how{};
    how.flags = std::uint64_t(flags);
    how.resolve = resolve;
    return int(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
}

int openFolder(const fs::path& path) { return ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }

/// For models--org--name/snapshots/<hash>/...: the folder models--org--name/blobs. "" for other folders.
fs::path blobsOf(const fs::path& folder) {
    std::error_code failed;
    for (fs::path at = fs::canonical(folder, failed); !failed && at.has_relative_path(); at = at.parent_path())
        if (at.filename() == "snapshots") return at.parent_path() / "blobs";
    return {};
}

/// Why a name is refused, as the end of a sentence; "" if it is accepted.
std::string leadsOut(const std::string& name) {
    if (name.empty()) return "is empty";
    if (name.find('\0') != std::string::npos) return "holds a NUL";
    if (name.front() == '/') return "is an absolute path";
    for (const auto& part : fs::path(name))
        if (part == "..") return "leads out of the folder (\"..\")";
    return {};
}

} // namespace

Result<std::shared_ptr<MappedFile>> ConfinedFolder::open(const std::string& name, FileAccess access) const {
    auto file = tryOpen(name, access);
    if (file) return std::move(*file);
    return fail(fmt::format("the file {} is not opened: {}", quotedName(name), file.error()), folder_);
}

tl::expected<std::shared_ptr<MappedFile>, std::string> ConfinedFolder::tryOpen(const std::string& name,
                                                                               FileAccess access) const {
    using Opened = tl::expected<std::shared_ptr<MappedFile>, std::string>;
    const auto refused = [](std::string why) { return tl::unexpected(std::move(why)); };
    const auto cannot = [&](int error) {
        if (error == ENOSYS || error == EPERM)
            return refused("this kernel cannot keep a path inside a folder (openat2, Linux 5.6)");
        if (error == ELOOP) return refused("it is a symlink that leads round in a circle");
        return refused(std::strerror(error));
    };
    if (const auto why = leadsOut(name); !why.empty()) return refused("its name " + why);
    const Descriptor folder(openFolder(folder_));
    if (folder.get() < 0) return cannot(errno);
    const std::string path = (fs::path(folder_) / name).string();
    const auto mapped = [&](int fd) -> Opened {
        if (fd < 0) return cannot(errno);
        auto file = MappedFile::ofDescriptor(fd, path, access);
        if (!file) return refused(file.error().message);
        return std::move(*file);
    };

    // Check the type before opening, because opening a device can have effects.
    const Descriptor seen(openInside(folder.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC, kInside));
    if (seen.get() < 0 && errno == ENOENT) return std::shared_ptr<MappedFile>();
    if (seen.get() < 0 && errno == EXDEV) return refused("its path leads out of the model's folder through a symlink");
    if (seen.get() < 0) return cannot(errno);
    struct stat status {};
    if (::fstat(seen.get(), &status) != 0) return cannot(errno);
    if (S_ISREG(status.st_mode)) return mapped(openInside(folder.get(), name, kRead | O_NOFOLLOW, kInside));
    if (!S_ISLNK(status.st_mode)) return refused("it is no regular file");

    const Descriptor inside(openInside(folder.get(), name, O_PATH | O_CLOEXEC, kInside));
    if (inside.get() >= 0) {
        if (::fstat(inside.get(), &status) != 0 || !S_ISREG(status.st_mode)) return refused("it is no regular file");
        return mapped(openInside(folder.get(), name, kRead, kInside));
    }
    if (errno == ENOENT) return std::shared_ptr<MappedFile>(); // a symbolic link without a target
    if (errno != EXDEV) return cannot(errno);
    const fs::path blobs = blobsOf(folder_);
    std::error_code failed;
    const fs::path target = fs::canonical(path, failed);
    if (failed == std::errc::no_such_file_or_directory) return std::shared_ptr<MappedFile>();
    if (failed || blobs.empty() || target.parent_path() != blobs)
        return refused("it is a symlink out of the model's folder; put the file itself there");
    const Descriptor cache(openFolder(blobs));
    if (cache.get() < 0) return cannot(errno);
    // The link is not followed a second time: the blob is opened by name in its folder.
    const std::string blob = target.filename().string();
    const Descriptor there(openInside(cache.get(), blob, O_PATH | O_NOFOLLOW | O_CLOEXEC, kInside));
    if (there.get() < 0 || ::fstat(there.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return refused("it is no regular file");
    return mapped(openInside(cache.get(), blob, kRead | O_NOFOLLOW, kInside));
}

Result<std::shared_ptr<MappedFile>> openInItsFolder(const std::string& path, FileAccess access) {
    const fs::path whole = fs::path(path).lexically_normal();
    const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
    auto file = ConfinedFolder(folder.string()).tryOpen(whole.filename().string(), access);
    if (!file) return fail(fmt::format("{} is not opened: {}.", shownPath(path), file.error()), path);
    if (!*file) return fail(fmt::format("{} does not exist.", shownPath(path)), path);
    return std::move(*file);
}

} // namespace qs
