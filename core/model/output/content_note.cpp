// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/content_note.h"

#include "core/base/text.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>
#include <xxhash.h>

namespace qs {
namespace {

constexpr const char* kNote = "user.quantscope.content"; // name of the attribute

Result<std::string> hashOf(const MappedFile& file) {
    ContentHash hash;
    std::vector<std::byte> piece(std::size_t(1) << 20);
    for (std::size_t at = 0; at < file.size(); at += piece.size()) {
        const auto into = std::span(piece).first(std::min(piece.size(), file.size() - at));
        file.readInto(at, into);
        hash.add(at, into);
    }
    if (file.faulted()) return fail(fmt::format("{} cannot be read.", shownPath(file.path())), file.path());
    return hash.text();
}

} // namespace

ContentHash::ContentHash() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

void ContentHash::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void ContentHash::add(std::uint64_t offset, std::span<const std::byte> bytes) {
    static constexpr std::array<std::byte, 4096> kZeros{};
    while (at_ < offset) {
        const auto n = std::size_t(std::min<std::uint64_t>(offset - at_, kZeros.size()));
        XXH3_128bits_update(state_.get(), kZeros.data(), n);
        at_ += n;
    }
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
    at_ += bytes.size();
}

std::string ContentHash::text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Result<std::string> contentHashOf(const std::string& path) {
    const auto file = MappedFile::open(path, FileAccess::Pread);
    if (!file) return tl::unexpected(file.error());
    return hashOf(**file);
}

void noteContent(int file, const std::string& hash) { (void)::fsetxattr(file, kNote, hash.data(), hash.size(), 0); }

std::string notedHash(const std::string& path) {
    std::array<char, 64> note{};
    const ssize_t n = ::getxattr(path.c_str(), kNote, note.data(), note.size());
    return n > 0 ? std::string(note.data(), std::size_t(n)) : std::string();
}

// The note and the content of one file: another process may give its own file the name meanwhile.
bool isAsNoted(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return false;
    std::array<char, 64> note{};
    const ssize_t n = ::fgetxattr(fd, kNote, note.data(), note.size());
    const auto file = MappedFile::ofDescriptor(fd, path, FileAccess::Pread);
    return n > 0 && file && hashOf(**file) == std::string(note.data(), std::size_t(n));
}

} // namespace qs
