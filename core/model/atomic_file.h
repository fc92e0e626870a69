// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Outputs appear whole or not at all.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// A new file in the target's folder that becomes the target on commit(); dropped without a trace otherwise, also when
/// the process is killed (O_TMPFILE where the file system has it).
class AtomicFile {
public:
    static Result<AtomicFile> create(const std::string& path, std::uint64_t expectedBytes = 0);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    Result<void> write(std::span<const std::byte> bytes); ///< buffered; errors name the path
    Result<void> write(std::string_view text);
    /// fdatasync, rename over the target, fsync of the folder.
    Result<void> commit();

private:
    AtomicFile() = default;
    Result<void> flush();
    int fd_ = -1;
    std::string path_, temporary_;
    std::string buffer_;
};

/// Small files (JSON, HTML, ...) in one call.
Result<void> writeWholeFile(const std::string& path, std::string_view text);

/// Several files: everything goes into `name.partial-XXXX` beside the target; commit() renames the folder. An existing
/// target folder is replaced only if it is empty or was written by us (holds a quantscope marker); never a folder that
/// holds an opened source.
class AtomicFolder {
public:
    static Result<AtomicFolder> create(const std::string& path);
    AtomicFolder(AtomicFolder&& other) noexcept;
    AtomicFolder& operator=(AtomicFolder&&) = delete;
    ~AtomicFolder(); ///< removes only what is in the partial folder
    const std::string& partialPath() const { return partial_; }
    Result<void> commit();

private:
    AtomicFolder() = default;
    std::string path_, partial_;
};

} // namespace qs
