// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A read-only mapping that survives truncation: a SIGBUS inside one of ours maps zero pages there and sets a flag.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace qs {

class MappedFile {
public:
    /// Regular files only (symlinks followed): a FIFO, a socket or a folder is an error, never a hang.
    static Result<std::shared_ptr<MappedFile>> open(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::string& path() const { return path_; }
    std::uint64_t device() const { return device_; }
    std::uint64_t inode() const { return inode_; }
    std::int64_t mtimeNs() const { return mtimeNs_; }
    /// A page of ours could not be read: the file was truncated or the disk failed.
    bool faulted() const;
    /// Fails with a sentence when size, inode or mtime of the path changed or a fault was caught.
    Result<void> unchanged() const;
    void willScan(std::size_t offset, std::size_t length) const;  ///< MADV_SEQUENTIAL
    void dropPages(std::size_t offset, std::size_t length) const; ///< behind a scan: keeps resident memory bounded

private:
    MappedFile() = default;
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
    std::int64_t mtimeNs_ = 0;
    int slot_ = -1;
};

} // namespace qs
