// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// ZIP archives that may lie: PyTorch checkpoints, .npz, .keras. Stored members are ranges of the file; deflated ones are
// inflated into sealed memory. Everything that two readers could see differently is refused: bytes before, after or
// between the members, overlaps, a local header that says another thing than the directory, hidden and double entries.
// The records are read here and not by libminizip, which compares only method, checksum, sizes and the name's length.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class MappedFile;

struct ZipMember {
    std::string name;
    std::uint64_t headerOffset = 0, offset = 0, packedBytes = 0, bytes = 0; ///< `offset`: of its data in the file
    std::uint32_t crc = 0;
    bool isDeflated = false;
};

struct ZipLimits {
    std::uint64_t members = 1'000'000;
    std::uint64_t inflated = 0;                      ///< bytes of all members together; 0: 8 GiB or half of the memory
    std::uint64_t bombFrom = std::uint64_t(1) << 28; ///< bytes of a member from where `bombRatio` counts
    std::uint64_t bombRatio = 200;                   ///< inflated to packed
    std::uint64_t checked = std::uint64_t(1) << 28;  ///< bytes of stored members whose checksums opening computes
};

class ZipArchive {
public:
    /// Reads the directory and every local header. Errors begin with the file's path.
    static Result<ZipArchive> open(std::shared_ptr<MappedFile> file, const ZipLimits& limits = {});

    std::span<const ZipMember> members() const { return members_; } ///< by name, folders left out
    const ZipMember* find(std::string_view name) const;
    std::uint64_t mostInflated() const { return limits_.inflated; } ///< bytes of members that inflate() makes
    std::uint64_t memory() const;                                   ///< that its list of members takes
    const std::shared_ptr<MappedFile>& file() const { return file_; }

    /// The first bytes of a member, at most `most`. Their checksum is not compared.
    Result<std::vector<std::byte>> head(const ZipMember& member, std::size_t most) const;
    /// All bytes of a member that has at most `most`, its checksum compared.
    Result<std::vector<std::byte>> contents(const ZipMember& member, std::uint64_t most) const;

    struct Inflated {
        std::shared_ptr<MappedFile> memory; ///< its unchanged() asks the archive
        std::vector<std::uint64_t> offsets; ///< in it, of each member, multiples of 64
    };
    /// Inflates deflated members (copies stored ones) into sealed memory, checksums compared.
    Result<Inflated> inflate(std::span<const ZipMember* const> members) const;

    /// Compares the checksums of stored members as far as the limit allows, and says how many bytes were left out.
    Result<std::uint64_t> checkStored() const;

    /// "PATH: member "NAME" WHAT."
    tl::unexpected<Error> wrong(const ZipMember& member, std::string_view what) const;

private:
    ZipArchive() = default;
    Result<void> unpack(const ZipMember& member, std::span<std::byte> into, bool whole) const;
    std::shared_ptr<MappedFile> file_;
    std::vector<ZipMember> members_;
    ZipLimits limits_;
};

/// The warning for members whose checksums checkStored() left out.
std::string uncheckedText(const std::string& path, std::uint64_t bytes);

} // namespace qs
