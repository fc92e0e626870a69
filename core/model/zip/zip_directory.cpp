// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zip/zip_directory.h"

#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace qs {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
constexpr std::uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::uint64_t kMostDirectory = std::uint64_t(1) << 28;
constexpr std::uint32_t kFull32 = 0xffffffff;
constexpr std::uint16_t kFull16 = 0xffff;
// The flags that are accepted: options of the compressor, a data descriptor after the data, UTF-8 names.
constexpr std::uint16_t kEncrypted = 1u << 0 | 1u << 6 | 1u << 13, kOptions = 1u << 1 | 1u << 2, kDescribed = 1u << 3,
                        kUtf8 = 1u << 11;

template<class T> T at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

struct Sizes {
    std::uint64_t bytes = 0, packed = 0, header = 0;
    std::uint32_t disk = 0;
};

/// Reads the 64-bit sizes from the ZIP64 extra field (id 1). It contains, in this order, the fields whose short form is
/// all ones.
std::string widen(std::span<const std::byte> extra, Sizes& sizes, bool isLocal) {
    std::span<const std::byte> wide;
    bool found = false;
    while (!extra.empty()) {
        if (extra.size() < 4) return "has an extra field that is cut off";
        const auto id = at<std::uint16_t>(extra, 0), length = at<std::uint16_t>(extra, 2);
        if (length > extra.size() - 4u) return "has an extra field that is cut off";
        if (id == 1) {
            if (found) return "has its 64-bit sizes twice";
            found = true;
            wide = extra.subspan(4, length);
        }
        extra = extra.subspan(4u + length);
    }
    const auto take = [&](std::uint64_t& field) {
        if (field != kFull32) return true;
        if (wide.size() < 8) return false;
        field = at<std::uint64_t>(wide, 0);
        wide = wide.subspan(8);
        return true;
    };
    bool ok = take(sizes.bytes) && take(sizes.packed);
    if (!isLocal) {
        ok = ok && take(sizes.header);
        if (ok && sizes.disk == kFull16) {
            ok = wide.size() >= 4;
            if (ok) sizes.disk = at<std::uint32_t>(wide, 0);
        }
    }
    return ok ? std::string() : "lacks its 64-bit sizes";
}

std::string wrongName(std::string_view name, bool isUtf8) {
    if (name.empty()) return "has no name";
    if (name.find('\0') != name.npos) return "has a NUL in its name";
    if (invalidUtf8(name) != name.npos)
        return isUtf8 ? "has a name that is not UTF-8" : "has a name in an old code page";
    if (name.front() == '/' || name.find('\\') != name.npos || (name.size() > 1 && name[1] == ':'))
        return "has a name that is not relative";
    for (auto left = name;;) {
        const auto slash = left.find('/');
        const auto part = left.substr(0, slash);
        if (part == "." || part == "..") return "has a name that leads elsewhere";
        if (slash == left.npos) return {};
        left.remove_prefix(slash + 1);
    }
}

struct Directory {
    std::uint64_t begin = 0, size = 0, entries = 0;
};

class Reader {
public:
    Reader(const MappedFile& file, const ZipLimits& limits) : file_(file), limits_(limits) {}

    Result<std::vector<ZipMember>> read() {
        if (auto why = findDirectory(); !why.empty()) return fail(std::move(why));
        // A copy, because the file could change between a check and the use.
        std::vector<std::byte> bytes(directory_.size);
        file_.readInto(directory_.begin, bytes);
        std::vector<ZipMember> members;
        members.reserve(directory_.entries);
        std::span<const std::byte> left = bytes;
        for (std::uint64_t i = 0; i < directory_.entries; ++i) {
            if (left.size() < kCentralSize || at<std::uint32_t>(left, 0) != kCentral)
                return fail(fmt::format("its directory ends after {} of {} entries", i, directory_.entries));
            ZipMember member;
            Central entry;
            auto why = readCentral(left, member, entry);
            if (why.empty()) why = compareLocal(member, entry);
            if (!why.empty())
                return member.name.empty() ? fail(fmt::format("its entry {} {}", i, why))
                                           : fail(fmt::format("member {} {}", quotedName(member.name), why));
            ends_.push_back({member.headerOffset, member.offset + member.packedBytes, entry.flags, members.size()});
            members.push_back(std::move(member));
            left = left.subspan(entry.length);
        }
        if (!left.empty())
            return fail(fmt::format("its directory has more than the {} entries it counts", directory_.entries));
        if (auto why = tile(members); !why.empty()) return fail(std::move(why));
        return members;
    }

private:
    struct Central {
        std::uint16_t flags = 0, method = 0;
        std::size_t length = 0;
    };
    struct End {
        std::uint64_t begin, end; ///< offsets of the local header and of the end of the data
        std::uint16_t flags;
        std::size_t member;
    };

    template<class T> T number(std::uint64_t offset) const {
        T value{};
        file_.readInto(offset, std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }

    std::string findDirectory() {
        const std::uint64_t size = file_.size();
        if (size < kEndSize) return "it is too short for a ZIP archive";
        // The end record is followed only by a comment; the length of the comment is in the record.
        const std::size_t tail = std::min<std::uint64_t>(size, kEndSize + 0xffff);
        std::vector<std::byte> last(tail);
        file_.readInto(size - tail, last);
        std::optional<std::uint64_t> end;
        for (std::size_t i = tail - kEndSize + 1; i-- > 0;)
            if (at<std::uint32_t>(last, i) == kEnd) {
                end = size - tail + i;
                if (at<std::uint16_t>(last, i + 20) != tail - i - kEndSize)
                    return "bytes follow the end of the archive, or it is cut off";
                last.erase(last.begin(), last.begin() + std::ptrdiff_t(i));
                break;
            }
        if (!end) return "the directory at the end of the archive is missing; the file is cut off or no ZIP archive";
        const auto disk = at<std::uint16_t>(last, 4), diskOfDirectory = at<std::uint16_t>(last, 6);
        const auto here = at<std::uint16_t>(last, 8), entries = at<std::uint16_t>(last, 10);
        const auto directorySize = at<std::uint32_t>(last, 12), directoryBegin = at<std::uint32_t>(last, 16);
        if ((disk != 0 && disk != kFull16) || (diskOfDirectory != 0 && diskOfDirectory != kFull16) || here != entries)
            return "it is one part of an archive in several";
        directory_ = {directoryBegin, directorySize, entries};
        std::uint64_t after = *end; // offset at which the directory must end
        if (*end >= kLocatorSize && number<std::uint32_t>(*end - kLocatorSize) == kLocator64) {
            const std::uint64_t locator = *end - kLocatorSize, record = number<std::uint64_t>(locator + 8);
            if (number<std::uint32_t>(locator + 4) != 0 || number<std::uint32_t>(locator + 16) > 1)
                return "it is one part of an archive in several";
            if (locator < kEnd64Size || record != locator - kEnd64Size || number<std::uint32_t>(record) != kEnd64 ||
                number<std::uint64_t>(record + 4) != kEnd64Size - 12)
                return "its 64-bit end record is not where it says";
            if (number<std::uint32_t>(record + 16) != 0 || number<std::uint32_t>(record + 20) != 0 ||
                number<std::uint64_t>(record + 24) != number<std::uint64_t>(record + 32))
                return "it is one part of an archive in several";
            const Directory wide{number<std::uint64_t>(record + 48), number<std::uint64_t>(record + 40),
                                 number<std::uint64_t>(record + 32)};
            if ((directoryBegin != kFull32 && wide.begin != directoryBegin) ||
                (directorySize != kFull32 && wide.size != directorySize) ||
                (entries != kFull16 && wide.entries != entries))
                return "its two end records disagree";
            directory_ = wide;
            after = record;
        }
        if (directory_.begin > after || directory_.size != after - directory_.begin)
            return fmt::format(
                "its directory should lie at byte {} with {} bytes and end at byte {}, and does not; bytes "
                "were put before, after or into the archive",
                directory_.begin, directory_.size, after);
        if (directory_.entries > limits_.members)
            return fmt::format("it has {} entries, over the limit of {}", directory_.entries, limits_.members);
        if (directory_.size > kMostDirectory)
            return fmt::format("its directory has {} bytes, over the limit of {}", directory_.size, kMostDirectory);
        if (directory_.entries > directory_.size / kCentralSize)
            return fmt::format("its directory has no room for {} entries", directory_.entries);
        return {};
    }

    std::string readCentral(std::span<const std::byte> left, ZipMember& member, Central& entry) const {
        entry.flags = at<std::uint16_t>(left, 8);
        entry.method = at<std::uint16_t>(left, 10);
        member.crc = at<std::uint32_t>(left, 16);
        Sizes sizes{at<std::uint32_t>(left, 24), at<std::uint32_t>(left, 20), at<std::uint32_t>(left, 42),
                    at<std::uint16_t>(left, 34)};
        const std::size_t name = at<std::uint16_t>(left, 28), extra = at<std::uint16_t>(left, 30),
                          comment = at<std::uint16_t>(left, 32);
        entry.length = kCentralSize + name + extra + comment;
        if (entry.length > left.size()) return "goes on after the directory";
        member.name.assign(reinterpret_cast<const char*>(left.data()) + kCentralSize, name);
        if (auto why = wrongName(member.name, (entry.flags & kUtf8) != 0); !why.empty()) return why;
        if (entry.flags & kEncrypted) return "is encrypted";
        if (entry.flags & ~unsigned(kOptions | kDescribed | kUtf8))
            return fmt::format("has flags that are not known (0x{:04x})", entry.flags);
        if (entry.method != 0 && entry.method != 8)
            return fmt::format("is packed by method {}, where only 0 (stored) and 8 (deflate) are read", entry.method);
        if (auto why = widen(left.subspan(kCentralSize + name, extra), sizes, false); !why.empty()) return why;
        if (sizes.disk != 0) return "lies in another part of the archive";
        member.bytes = sizes.bytes;
        member.packedBytes = sizes.packed;
        member.headerOffset = sizes.header;
        member.isDeflated = entry.method == 8;
        if (!member.isDeflated && member.bytes != member.packedBytes)
            return fmt::format("is stored, but has {} bytes in {}", member.bytes, member.packedBytes);
        if (member.name.back() == '/' && member.bytes != 0) return "is a folder with contents";
        return {};
    }

    std::string compareLocal(ZipMember& member, const Central& entry) const {
        if (directory_.begin < kLocalSize || member.headerOffset > directory_.begin - kLocalSize)
            return "begins after the members end";
        std::byte fixed[kLocalSize];
        file_.readInto(member.headerOffset, fixed);
        const std::span<const std::byte> local(fixed);
        if (at<std::uint32_t>(local, 0) != kLocal) return "is not where the directory says";
        const std::uint64_t name = at<std::uint16_t>(local, 26), extra = at<std::uint16_t>(local, 28);
        member.offset = member.headerOffset + kLocalSize + name + extra;
        if (member.offset > directory_.begin || member.packedBytes > directory_.begin - member.offset)
            return fmt::format("has {} bytes, beyond the place where the members end", member.packedBytes);
        if (at<std::uint16_t>(local, 6) != entry.flags || at<std::uint16_t>(local, 8) != entry.method)
            return "has other flags or another method in its own header than in the directory";
        std::vector<std::byte> rest(name + extra);
        file_.readInto(member.headerOffset + kLocalSize, rest);
        if (name != member.name.size() || std::memcmp(rest.data(), member.name.data(), name) != 0)
            return "has another name in its own header than in the directory";
        Sizes sizes{at<std::uint32_t>(local, 22), at<std::uint32_t>(local, 18), 0, 0};
        if (auto why = widen(std::span(rest).subspan(name), sizes, true); !why.empty()) return why;
        const auto crc = at<std::uint32_t>(local, 14);
        const bool same = crc == member.crc && sizes.bytes == member.bytes && sizes.packed == member.packedBytes;
        const bool later = (entry.flags & kDescribed) && crc == 0 && sizes.bytes == 0 && sizes.packed == 0;
        return same || later ? std::string() : "has another checksum or size in its own header than in the directory";
    }

    /// True if these bytes are the data descriptor of a member: CRC and sizes of 32 or 64 bits, with or without a magic
    /// number.
    bool isDescriptor(std::uint64_t begin, std::uint64_t size, const ZipMember& member) const {
        if (size != 12 && size != 16 && size != 20 && size != 24) return false;
        std::byte raw[24];
        file_.readInto(begin, std::span(raw).first(size));
        std::span<const std::byte> bytes = std::span(raw).first(size);
        if (size == 16 || size == 24) {
            if (at<std::uint32_t>(bytes, 0) != kDescriptor) return false;
            bytes = bytes.subspan(4);
        }
        if (at<std::uint32_t>(bytes, 0) != member.crc) return false;
        return bytes.size() == 12
                   ? at<std::uint32_t>(bytes, 4) == member.packedBytes && at<std::uint32_t>(bytes, 8) == member.bytes
                   : at<std::uint64_t>(bytes, 4) == member.packedBytes && at<std::uint64_t>(bytes, 12) == member.bytes;
    }

    /// Checks that the members fill the file up to the directory without gaps and overlaps.
    std::string tile(const std::vector<ZipMember>& members) {
        std::ranges::sort(ends_, [](const End& a, const End& b) { return a.begin < b.begin; });
        const std::uint64_t first = ends_.empty() ? directory_.begin : ends_.front().begin;
        if (first != 0) return fmt::format("{} bytes lie before the first member", first);
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            const auto& member = members[ends_[i].member];
            const std::uint64_t next = i + 1 < ends_.size() ? ends_[i + 1].begin : directory_.begin;
            if (next < ends_[i].end) return fmt::format("member {} overlaps the next one", quotedName(member.name));
            const std::uint64_t gap = next - ends_[i].end;
            const bool isDescribed = (ends_[i].flags & kDescribed) != 0;
            if (isDescribed ? !isDescriptor(ends_[i].end, gap, member) : gap != 0)
                return isDescribed
                           ? fmt::format("member {} has no true descriptor after it", quotedName(member.name))
                           : fmt::format("{} bytes after member {} belong to nothing", gap, quotedName(member.name));
        }
        return {};
    }

    const MappedFile& file_;
    const ZipLimits& limits_;
    Directory directory_;
    std::vector<End> ends_;
};

} // namespace

Result<std::vector<ZipMember>> readZipDirectory(const MappedFile& file, const ZipLimits& limits) {
    return Reader(file, limits).read();
}

} // namespace qs
