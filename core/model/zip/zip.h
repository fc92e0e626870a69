// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads ZIP archives that may be hostile: PyTorch checkpoints, .npz, .keras. Stored members are ranges of the file;
// deflated members are inflated into sealed memory. Refused is everything that two readers could understand
// differently. Examples are bytes before, between or after the members, overlaps, duplicate entries, and local headers
// that differ from the directory.
// libminizip is not used: it compares only method, checksum, sizes and the length of the name.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class MappedFile;

struct ZipMember {
    std::string name;
    /// All in bytes; `headerOffset`: of the local header; `offset`: of the data; both from the start of the file.
    std::uint64_t headerOffset = 0, offset = 0, packedBytes = 0, bytes = 0;
    std::uint32_t crc = 0; ///< CRC-32 of the inflated bytes
    bool isDeflated = false;
};

struct ZipLimits {
    std::uint64_t members = 1'000'000; ///< most entries of the directory
    /// Most bytes of all inflated members; 0: 8 GiB or half of the memory, whichever is less.
    std::uint64_t inflated = 0;
    std::uint64_t bombFrom = std::uint64_t(1) << 28; ///< members of fewer bytes are not checked against `bombRatio`
    std::uint64_t bombRatio = 200;                   ///< largest allowed ratio of inflated to packed bytes
    /// Bytes of stored members whose checksums are compared when the archive is opened.
    std::uint64_t checked = std::uint64_t(1) << 28;
};

class ZipArchive {
public:
    /// Reads the directory and all local headers. Errors start with the path of the file.
    static Result<ZipArchive> open(std::shared_ptr<MappedFile> file, const ZipLimits& limits = {});

    std::span<const ZipMember> members() const { return members_; } ///< sorted by name, without folders
    /// Null if there is no such member.
    const ZipMember* find(std::string_view name) const;
    /// Limit for the sum of the members in one call of inflate().
    std::uint64_t mostInflated() const { return limits_.inflated; }
    std::uint64_t memory() const; ///< bytes of memory that the list of members takes
    const std::shared_ptr<MappedFile>& file() const { return file_; }

    /// The first bytes of a member, at most `most`. The checksum is not compared.
    Result<std::vector<std::byte>> head(const ZipMember& member, std::size_t most) const;
    /// All bytes of a member, which must have at most `most`. The checksum is compared.
    Result<std::vector<std::byte>> contents(const ZipMember& member, std::uint64_t most) const;

    /// Members that are damaged, with the reason. One of them does not close the archive.
    using Damaged = std::map<const ZipMember*, Error>;
    struct Inflated {
        std::shared_ptr<MappedFile> memory; ///< its unchanged() is that of the archive
        std::vector<std::uint64_t> offsets; ///< of each member in `memory`; multiples of 64
        Damaged damaged;                    ///< what `memory` holds of them is not theirs
    };
    /// Inflates deflated members, or copies stored ones, into sealed memory. Compares the checksums.
    Result<Inflated> inflate(std::span<const ZipMember* const> members) const;

    struct Checked {
        std::uint64_t left = 0; ///< bytes that were not checked
        Damaged damaged;
    };
    /// Compares the checksums of stored members, up to the limit `checked`.
    Result<Checked> checkStored() const;

    /// The error "PATH: member "NAME" WHAT.".
    tl::unexpected<Error> wrong(const ZipMember& member, std::string_view what) const;

private:
    ZipArchive() = default;
    Result<void> unpack(const ZipMember& member, std::span<std::byte> into, bool whole) const;
    std::shared_ptr<MappedFile> file_;
    std::vector<ZipMember> members_;
    ZipLimits limits_;
};

/// The warning for bytes that checkStored() did not check.
std::string uncheckedText(const std::string& path, std::uint64_t bytes);

} // namespace qs
