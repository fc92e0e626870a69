// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A file with random access. Files on local disks are mapped. If a mapped file is truncated, the SIGBUS is caught: zero
// pages replace the missing part and a flag is set. Files on network, FUSE and removable file systems are read with
// pread, because there a page can fail or block long after opening. So are files that cannot be mapped: very many are
// already, or the address space is limited. A byte that pread cannot read is zero, and the same flag is set.

#include "core/base/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qs {

/// ByFileSystem: chosen by the type of the file system. The environment variable QS_READ=map or QS_READ=pread overrides
/// it.
enum class FileAccess { ByFileSystem, Map, Pread };

class MappedFile {
public:
    /// Opens regular files only; symbolic links are followed. A FIFO, a socket or a folder is an error and never
    /// blocks.
    static Result<std::shared_ptr<MappedFile>> open(const std::string& path,
                                                    FileAccess access = FileAccess::ByFileSystem);
    /// Maps sealed memory (a memfd) whose content was unpacked from `source`. Takes ownership of `memfd`. path(),
    /// device(), inode() and unchanged() are those of the source.
    static Result<std::shared_ptr<MappedFile>> ofMemory(int memfd, std::shared_ptr<MappedFile> source);
    /// As open(), for a descriptor that is open for reading. Takes ownership of `fd`. unchanged() checks `path`.
    static Result<std::shared_ptr<MappedFile>> ofDescriptor(int fd, const std::string& path,
                                                            FileAccess access = FileAccess::ByFileSystem);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// The whole file if it is mapped; empty if it is read with pread.
    std::span<const std::byte> bytes() const { return {data_, data_ ? size_ : 0}; }
    bool isMapped() const { return fd_ < 0; }
    std::size_t size() const { return size_; }
    /// Bytes [offset, offset + length), which must lie in the file. The span points into the mapping or into `scratch`.
    std::span<const std::byte> read(std::size_t offset, std::size_t length, std::vector<std::byte>& scratch) const;
    /// Copies bytes [offset, offset + into.size()), which must lie in the file.
    void readInto(std::size_t offset, std::span<std::byte> into) const;
    const std::string& path() const { return path_; }
    std::uint64_t device() const { return device_; }
    std::uint64_t inode() const { return inode_; }
    /// of the file when it was opened, in nanoseconds since the epoch
    std::int64_t mtimeNs() const { return mtimeNs_; }
    int memory() const { return memory_; } ///< descriptor of the sealed memory, owned by this object; -1 for a file
    /// True if a part of the file could not be read: it was truncated or the disk failed.
    bool faulted() const;
    /// Fails with one sentence if the file at path() was replaced, changed in size or mtime, or could not be read.
    Result<void> unchanged() const;
    /// Reads pages of a mapped file in advance, in one call (MADV_POPULATE_READ) instead of one page fault each.
    void populate(std::size_t offset, std::size_t length) const;
    /// frees pages that a scan has passed, to keep resident memory small
    void dropPages(std::size_t offset, std::size_t length) const;

private:
    MappedFile() = default;
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
    std::int64_t mtimeNs_ = 0;
    int slot_ = -1; ///< index into the table of the SIGBUS handler; -1 if not mapped from a file
    int fd_ = -1;   ///< set if the file is read with pread; -1 if it is mapped
    int memory_ = -1;
    std::shared_ptr<MappedFile> source_; ///< the file that sealed memory was unpacked from; null for a file
    mutable std::atomic<bool> readFailed_{false};
};

} // namespace qs
