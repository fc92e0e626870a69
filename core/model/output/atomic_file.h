// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Outputs appear whole or not at all.

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/model/naming.h"
#include "core/model/output/partial_folder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class Model;

/// A new file in the target's folder that becomes the target on commit(); dropped without a trace otherwise, also when
/// the process is killed (O_TMPFILE where the file system has it; elsewhere the next writer of the target tidies up). A
/// replaced file keeps its mode. A symbolic link, a folder or a device as target is refused.
class AtomicFile {
public:
    /// `expectedBytes`: reserved at once where the file system can, so that a full disk is known before the work.
    static Result<AtomicFile> create(const std::string& path, std::uint64_t expectedBytes = 0);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    Result<void> write(std::span<const std::byte> bytes); ///< buffered; errors name the path
    Result<void> write(std::string_view text);
    /// At a place of its own, at once; nobody writes there again.
    Result<void> writeAt(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Where write() goes on.
    Result<void> moveTo(std::uint64_t offset);
    /// Writes out what is buffered, and says where that can be opened although it has no name yet: so that it can be
    /// looked at before it gets one. Nothing is written after it.
    Result<std::string> finish();
    /// Reads everything back and compares its XXH3, then fdatasync, rename over the target, fsync of the folder.
    /// Of `naming` before() and after() are called.
    Result<void> commit(const Job& job = {}, const Naming& naming = {});
    /// The two halves of it, for a file that is named within before() or after() of another one in the same folder.
    Result<void> seal(const Job& job = {});
    Result<void> takeName();

private:
    AtomicFile() = default;
    /// Of at most a MiB as it was written.
    struct Written {
        std::uint64_t offset, bytes, sum; ///< XXH3
    };
    tl::unexpected<Error> cannot() const; ///< by errno
    std::string folder() const;
    Result<void> makePartial();
    Result<void> writeOut(std::span<const std::byte> bytes);
    Result<void> flush();
    Result<void> readsBack(const Job& job);
    int fd_ = -1;
    std::string path_, temporary_; ///< temporary_: "" while the file has no name
    std::optional<PartialFolder> partial_;
    std::string buffer_;
    std::vector<Written> written_;
    std::uint64_t at_ = 0, size_ = 0; ///< where the buffer begins; the end of all that was written
};

/// Small files (JSON, HTML, ...) in one call.
Result<void> writeWholeFile(const std::string& path, std::string_view text);

/// Fails when `path` is one of the model's files (same device and inode, whatever the name): an input is never
/// replaced.
Result<void> notAnOpenedInput(const std::string& path, const Model* opened);

/// Several files: everything goes into `name.partial-XXXX` beside the target; commit() renames the folder. An existing
/// target folder is replaced only if it is empty or holds nothing but what an earlier commit() wrote (listed in its
/// marker); never a folder that holds an opened source. What a killed process left is removed by the next create().
class AtomicFolder {
public:
    static Result<AtomicFolder> create(const std::string& path, const Model* opened = nullptr);
    const std::string& partialPath() const { return partial_.path(); }
    Result<void> commit();

private:
    AtomicFolder(std::string path, PartialFolder partial) : path_(std::move(path)), partial_(std::move(partial)) {}
    std::string path_;
    PartialFolder partial_;
};

} // namespace qs
