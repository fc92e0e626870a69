// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give an archive or an error. Members must lie inside the file, not overlap, and have different names.
// Each unpacks to its declared size or fails.
#include "core/model/mapped_file.h"
#include "core/model/zip/zip.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
    static const std::string path = fmt::format("/proc/self/fd/{}", fd);
    if (fd < 0 || ::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != ssize_t(size)) std::abort();
    auto file = qs::MappedFile::open(path, size % 2 == 0 ? qs::FileAccess::Map : qs::FileAccess::Pread);
    if (!file) std::abort();
    qs::ZipLimits limits;
    limits.inflated = 1 << 20;
    limits.bombFrom = 1 << 16;
    const auto archive = qs::ZipArchive::open(*file, limits);
    if (!archive) {
        if (archive.error().message.empty()) std::abort();
        return 0;
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    std::vector<const qs::ZipMember*> all;
    for (const auto& member : archive->members()) {
        if (archive->find(member.name) != &member)
            std::abort(); // one of two members with the same name would be
                          // hidden
        if (member.packedBytes > size || member.offset > size - member.packedBytes) std::abort();
        ranges.emplace_back(member.headerOffset, member.offset + member.packedBytes);
        const auto contents = archive->contents(member, 1 << 20);
        if (contents && contents->size() != member.bytes) std::abort();
        const auto head = archive->head(member, 100);
        if (contents && (!head || !std::equal(head->begin(), head->end(), contents->begin()))) std::abort();
        if (contents) all.push_back(&member);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].first < ranges[i - 1].second) std::abort();
    const auto inflated = archive->inflate(all);
    if (inflated && (inflated->offsets.size() != all.size() || inflated->memory->size() > limits.inflated))
        std::abort();
    (void)archive->checkStored();
    return 0;
}
