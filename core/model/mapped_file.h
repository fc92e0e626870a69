// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A file to read at any place. On local disks a mapping that survives truncation: a SIGBUS inside one of ours maps zero
// pages there and sets a flag. On network, FUSE and removable file systems, where a page may fail or hang long after
// the file was opened, pread: there a missing byte reads as zero and sets the same flag.

#include "core/base/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qs {

/// By the kind of file system, unless QS_READ=map or QS_READ=pread says otherwise.
enum class FileAccess { ByFileSystem, Map, Pread };

class MappedFile {
public:
    /// Regular files only (symlinks followed): a FIFO, a socket or a folder is an error, never a hang.
    static Result<std::shared_ptr<MappedFile>> open(const std::string& path,
                                                    FileAccess access = FileAccess::ByFileSystem);
    /// Sealed memory (a memfd, taken over) that was made from `source`: path, place on disk and unchanged() are those
    /// of the source.
    static Result<std::shared_ptr<MappedFile>> ofMemory(int memfd, std::shared_ptr<MappedFile> source);
    /// The same of a file that was opened for reading; the descriptor is taken over. `path` is asked by unchanged().
    static Result<std::shared_ptr<MappedFile>> ofDescriptor(int fd, const std::string& path,
                                                            FileAccess access = FileAccess::ByFileSystem);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// All of it where it is mapped, nothing where it is read.
    std::span<const std::byte> bytes() const { return {data_, data_ ? size_ : 0}; }
    bool isMapped() const { return fd_ < 0; }
    std::size_t size() const { return size_; }
    /// Bytes [offset, offset + length), which must lie in the file: in the mapping, else in `scratch`.
    std::span<const std::byte> read(std::size_t offset, std::size_t length, std::vector<std::byte>& scratch) const;
    void readInto(std::size_t offset, std::span<std::byte> into) const;
    const std::string& path() const { return path_; }
    std::uint64_t device() const { return device_; }
    std::uint64_t inode() const { return inode_; }
    std::int64_t mtimeNs() const { return mtimeNs_; }
    int memory() const { return memory_; } ///< descriptor of the memory, which this keeps open; -1: it is a file
    /// A page of ours could not be read: the file was truncated or the disk failed.
    bool faulted() const;
    /// Fails with a sentence when size, inode or mtime of the path changed or a fault was caught.
    Result<void> unchanged() const;
    /// Brings a tile of a scan into the mapping at once (MADV_POPULATE_READ) instead of fault by fault.
    void populate(std::size_t offset, std::size_t length) const;
    void dropPages(std::size_t offset, std::size_t length) const; ///< behind a scan: keeps resident memory bounded

private:
    MappedFile() = default;
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
    std::int64_t mtimeNs_ = 0;
    int slot_ = -1;
    int fd_ = -1; ///< of a file that is read, not mapped
    int memory_ = -1;
    std::shared_ptr<MappedFile> source_; ///< of memory
    mutable std::atomic<bool> readFailed_{false};
};

} // namespace qs
