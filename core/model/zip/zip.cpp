// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zip/zip.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/zip/zip_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <zlib.h>

namespace qs {
namespace {

constexpr std::size_t kInflatePiece = 1 << 18;
// Deflate cannot compress better than 1032 to 1.
constexpr std::uint64_t kBestRatio = 1032;

std::uint64_t defaultInflated() {
    const auto memory = std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE));
    return std::min(std::uint64_t(8) << 30, memory / 2);
}

bool isFolder(const ZipMember& member) { return member.name.back() == '/'; }

struct InflateStream {
    z_stream z{};
    bool ready = false;
    InflateStream() { ready = ::inflateInit2(&z, -MAX_WBITS) == Z_OK; }
    ~InflateStream() {
        if (ready) ::inflateEnd(&z);
    }
    InflateStream(const InflateStream&) = delete;
    InflateStream& operator=(const InflateStream&) = delete;
};

struct Memory {
    int fd = -1;
    std::byte* data = nullptr;
    std::size_t size = 0;
    ~Memory() {
        if (data) ::munmap(data, size);
        if (fd >= 0) ::close(fd);
    }
};

std::uint32_t crcOf(std::uint32_t crc, std::span<const std::byte> bytes) {
    return std::uint32_t(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

} // namespace

Result<ZipArchive> ZipArchive::open(std::shared_ptr<MappedFile> file, const ZipLimits& limits) {
    ZipArchive archive;
    archive.limits_ = limits;
    if (limits.inflated == 0) archive.limits_.inflated = defaultInflated();
    auto members = readZipDirectory(*file, limits);
    if (file->faulted())
        if (auto same = file->unchanged(); !same) return tl::unexpected(same.error());
    if (!members) return fail(fmt::format("{}: {}.", shownPath(file->path()), members.error().message), file->path());
    file->dropPages(0, file->size()); // frees the pages with the local headers
    archive.file_ = std::move(file);
    archive.members_ = std::move(*members);
    auto& all = archive.members_;
    std::ranges::sort(all, [](const ZipMember& a, const ZipMember& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(all.begin(), all.end(),
                                          [](const ZipMember& a, const ZipMember& b) { return a.name == b.name; });
    if (twice != all.end()) return archive.wrong(*twice, "is there twice");
    all.erase(std::remove_if(all.begin(), all.end(), isFolder), all.end());
    for (const auto& member : all) {
        if (!member.isDeflated) continue;
        const auto ratio = member.bytes / std::max<std::uint64_t>(member.packedBytes, 1);
        if (ratio > kBestRatio)
            return archive.wrong(member, fmt::format("claims {} bytes out of {}, which deflate cannot do", member.bytes,
                                                     member.packedBytes));
    }
    return archive;
}

std::uint64_t ZipArchive::memory() const {
    std::uint64_t bytes = 0;
    for (const auto& member : members_) bytes += sizeof member + ListBudget::of(member.name);
    return bytes;
}

const ZipMember* ZipArchive::find(std::string_view name) const {
    const auto found = std::lower_bound(members_.begin(), members_.end(), name,
                                        [](const ZipMember& m, std::string_view n) { return m.name < n; });
    return found != members_.end() && found->name == name ? &*found : nullptr;
}

tl::unexpected<Error> ZipArchive::wrong(const ZipMember& member, std::string_view what) const {
    return fail(fmt::format("{}: member {} {}.", shownPath(file_->path()), quotedName(member.name), what),
                file_->path(), static_cast<long long>(member.headerOffset));
}

/// Fills `into` with the first bytes of a member. `whole`: `into` has the size of the member, so the stream must end
/// there, and the checksum is compared.
Result<void> ZipArchive::unpack(const ZipMember& member, std::span<std::byte> into, bool whole) const {
    if (!member.isDeflated) {
        file_->readInto(member.offset, into);
        file_->dropPages(member.offset, into.size());
        if (whole && crcOf(0, into) != member.crc) return wrong(member, "is damaged: its checksum (CRC-32) differs");
        return {};
    }
    InflateStream stream;
    if (!stream.ready) return wrong(member, "is not inflated: there is not enough memory");
    auto& z = stream.z;
    std::vector<std::byte> scratch;
    std::uint64_t taken = 0;
    std::size_t filled = 0;
    std::uint32_t crc = 0;
    int state = Z_OK;
    std::byte beyond{}; // room for one byte too many, to detect a stream that is longer than declared
    while (state != Z_STREAM_END) {
        if (z.avail_in == 0 && taken < member.packedBytes) {
            const auto n = std::size_t(std::min<std::uint64_t>(kInflatePiece, member.packedBytes - taken));
            const auto piece = file_->read(member.offset + taken, n, scratch);
            z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
            z.avail_in = uInt(n);
            if (taken > 0)
                // All pieces but the last have this size.
                file_->dropPages(member.offset + taken - kInflatePiece, kInflatePiece);
            taken += n;
        }
        const bool isFull = filled == into.size();
        if (isFull && !whole) return {};
        const auto room =
            isFull ? std::span(&beyond, 1) : into.subspan(filled).first(std::min(kInflatePiece, into.size() - filled));
        z.next_out = reinterpret_cast<Bytef*>(room.data());
        z.avail_out = uInt(room.size());
        state = ::inflate(&z, Z_NO_FLUSH);
        const std::size_t made = room.size() - z.avail_out;
        if (isFull && made > 0)
            return wrong(member, fmt::format("inflates to more than the {} bytes it declares", member.bytes));
        crc = crcOf(crc, room.first(made));
        filled += made;
        if (state == Z_MEM_ERROR) return wrong(member, "is not inflated: there is not enough memory");
        if (state != Z_OK && state != Z_STREAM_END && !(state == Z_BUF_ERROR && taken < member.packedBytes))
            return wrong(member, "is damaged: its packed data is no deflate stream");
    }
    if (filled != into.size())
        return wrong(member, fmt::format("inflates to fewer than the {} bytes it declares", member.bytes));
    if (!whole) return {};
    if (z.avail_in != 0 || taken != member.packedBytes)
        return wrong(member, "has bytes after the end of its packed data");
    if (crc != member.crc) return wrong(member, "is damaged: its checksum (CRC-32) differs");
    return {};
}

Result<std::vector<std::byte>> ZipArchive::head(const ZipMember& member, std::size_t most) const {
    std::vector<std::byte> bytes(std::size_t(std::min<std::uint64_t>(member.bytes, most)));
    if (auto done = unpack(member, bytes, false); !done) return tl::unexpected(done.error());
    return bytes;
}

Result<std::vector<std::byte>> ZipArchive::contents(const ZipMember& member, std::uint64_t most) const {
    if (member.bytes > most)
        return wrong(member, fmt::format("has {} bytes, over the limit of {}", member.bytes, most));
    std::vector<std::byte> bytes(std::size_t(member.bytes));
    if (auto done = unpack(member, bytes, true); !done) return tl::unexpected(done.error());
    return bytes;
}

Result<ZipArchive::Inflated> ZipArchive::inflate(std::span<const ZipMember* const> members) const {
    Inflated result;
    std::uint64_t total = 0;
    for (const auto* member : members) {
        if (member->bytes >= limits_.bombFrom && member->bytes / limits_.bombRatio > member->packedBytes)
            return wrong(*member, fmt::format("is packed as only bombs are: {} bytes in {}", member->bytes,
                                              member->packedBytes));
        result.offsets.push_back(total);
        // Cannot overflow: `bytes` is at most 1032 times the size of the file.
        const std::uint64_t room = (member->bytes + 63) / 64 * 64;
        if (room > limits_.inflated || total > limits_.inflated - room)
            return wrong(*member, fmt::format("does not fit: members would take more than {} of memory when inflated; "
                                              "save the file without compression",
                                              bytesText(limits_.inflated)));
        total += room;
    }
    const auto noMemory = [&] {
        return fail(fmt::format("{} does not open: there is no memory for {} of inflated members ({}).",
                                shownPath(file_->path()), bytesText(total), std::strerror(errno)),
                    file_->path());
    };
    Memory memory;
    memory.fd = ::memfd_create("quantscope-inflated", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory.fd < 0) return noMemory();
    if (total > 0) {
        if (::ftruncate(memory.fd, off_t(total)) != 0) return noMemory();
        void* data = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
        if (data == MAP_FAILED) return noMemory();
        memory.data = static_cast<std::byte*>(data);
        memory.size = total;
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::span into(memory.data + result.offsets[i], std::size_t(members[i]->bytes));
        if (auto done = unpack(*members[i], into, true); !done) result.damaged.emplace(members[i], done.error());
    }
    // F_SEAL_WRITE fails while a writable mapping exists.
    if (memory.data) ::munmap(std::exchange(memory.data, nullptr), total);
    if (::fcntl(memory.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        return noMemory();
    auto mapped = MappedFile::ofMemory(std::exchange(memory.fd, -1), file_);
    if (!mapped) return tl::unexpected(mapped.error());
    result.memory = std::move(*mapped);
    return result;
}

Result<ZipArchive::Checked> ZipArchive::checkStored() const {
    Checked result;
    std::uint64_t done = 0;
    std::vector<std::byte> scratch;
    for (const auto& member : members_) {
        if (member.isDeflated) continue;
        if (member.bytes > limits_.checked - done) {
            result.left += member.bytes;
            continue;
        }
        done += member.bytes;
        std::uint32_t crc = 0;
        for (std::uint64_t at = 0; at < member.bytes; at += kInflatePiece) {
            const auto n = std::size_t(std::min<std::uint64_t>(kInflatePiece, member.bytes - at));
            crc = crcOf(crc, file_->read(member.offset + at, n, scratch));
            file_->dropPages(member.offset + at, n);
        }
        if (crc != member.crc)
            result.damaged.emplace(&member, wrong(member, "is damaged: its checksum (CRC-32) differs").value());
    }
    if (file_->faulted())
        if (auto same = file_->unchanged(); !same) return tl::unexpected(same.error());
    return result;
}

std::string uncheckedText(const std::string& path, std::uint64_t bytes) {
    return fmt::format("{}: the checksums of {} of its members were not compared on opening.", shownPath(path),
                       bytesText(bytes));
}

} // namespace qs
