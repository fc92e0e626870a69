// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Output files and folders that appear complete or not at all.

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/model/naming.h"
#include "core/model/output/partial_folder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class MappedFile;
class Model;

/// What a new file may replace. Equal: only a file that has the same bytes, so that nothing of others is lost.
enum class Replace { Any, Equal };

/// A new file that replaces the target on commit(). Without commit() nothing remains, also when the process is killed.
/// It uses O_TMPFILE where the file system supports it. Elsewhere the next writer of the same target removes the
/// remains. A replaced file keeps its mode. If the target is a symbolic link, a folder or a device, create() fails.
class AtomicFile {
public:
    /// `expectedBytes`: reserved now if the file system can, so that a full disk is reported before the work starts.
    /// `replace`: with Replace::Equal the first bytes that the file there does not have are an error.
    static Result<AtomicFile> create(const std::string& path, std::uint64_t expectedBytes = 0,
                                     Replace replace = Replace::Any);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    Result<void> write(std::span<const std::byte> bytes); ///< appends; buffered; errors name the path
    Result<void> write(std::string_view text);
    /// Writes at `offset`, without the buffer. Each range may be written only once.
    Result<void> writeAt(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Sets the offset at which write() continues.
    Result<void> moveTo(std::uint64_t offset);
    /// Writes the buffer to the file and returns a path under which the unnamed file can be opened for a check. Do not
    /// write after it.
    Result<std::string> finish();
    /// Finishes the output: reads the file back and compares XXH3 hashes, calls fdatasync, renames it to the target,
    /// and syncs the folder. `naming.before` and `naming.after` are called around the rename; `naming.check` is not
    /// called here.
    Result<void> commit(const Job& job = {}, const Naming& naming = {});
    /// The two steps of commit() without the folder lock: seal() reads back and syncs, takeName() renames. For a file
    /// that is renamed inside before() or after() of another file in the same folder.
    Result<void> seal(const Job& job = {});
    Result<void> takeName();

private:
    AtomicFile() = default;
    /// A written range of at most 1 MiB and its hash.
    struct Written {
        std::uint64_t offset, bytes, sum; ///< bytes; `sum` is the XXH3 hash
    };
    tl::unexpected<Error> cannot() const; ///< the error for errno
    tl::unexpected<Error> stays() const;  ///< the error for a file with other bytes
    std::string folder() const;
    Result<void> makePartial();
    Result<void> writeOut(std::span<const std::byte> bytes);
    Result<void> flush();
    Result<void> readsBack(const Job& job);
    int fd_ = -1;
    std::string path_, temporary_; ///< `temporary_`: path of the file in the partial folder; "" for O_TMPFILE
    std::optional<PartialFolder> partial_;
    std::shared_ptr<MappedFile> equal_; ///< the file that is there, if it must have the same bytes
    std::string buffer_;
    std::vector<Written> written_;
    std::uint64_t at_ = 0, size_ = 0; ///< `at_`: offset of the buffer's first byte; `size_`: end of the written part
};

/// Writes a small file (JSON, HTML, ...) in one call.
Result<void> writeWholeFile(const std::string& path, std::string_view text, Replace replace = Replace::Any);

/// Fails if `path` is one of the model's files (same device and inode, under any name), so that an input is never
/// replaced.
Result<void> notAnOpenedInput(const std::string& path, const Model* opened);

/// An output of several files. They are written into the folder `name.partial-XXXX` beside the target; commit() renames
/// it. An existing target is replaced only if it is empty or holds only files that an earlier commit() listed in its
/// marker file. A folder that holds an opened source is never replaced. create() removes what a killed process left
/// behind.
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
