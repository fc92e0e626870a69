// SPDX-License-Identifier: GPL-3.0-or-later
// Opens NumPy's .npz: a ZIP archive of .npy files. Uncompressed members (savez) stay in the mapped file; compressed
// ones (savez_compressed) are inflated into memory.
#include "core/base/tensor_name.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/npy/npy.h"
#include "core/model/zip/zip.h"

#include "core/base/text.h"

#include <deque>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnding = ".npy";
constexpr std::size_t kHead = 16384;

struct Array {
    const ZipMember* member;
    NpyHeader header;
};

} // namespace

Result<std::shared_ptr<Model>> openNpz(const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const std::string shown = shownPath(path);
    auto archive = ZipArchive::open(*mapping);
    if (!archive) return tl::unexpected(archive.error());
    auto model = newModel(path, "npz");

    std::uint64_t decoded = 0;
    for (const auto& member : archive->members())
        if (member.isDeflated) decoded += member.bytes;
    ListBudget budget((*mapping)->size() + std::min(decoded, archive->mostInflated()), archive->memory());
    std::deque<Array> arrays;
    std::vector<const ZipMember*> packed;
    std::size_t others = 0, unread = 0;
    std::string firstOther, firstUnread;
    for (const auto& member : archive->members()) {
        if (!std::string_view(member.name).ends_with(kEnding)) {
            if (others++ == 0) firstOther = member.name;
            continue;
        }
        const auto head = archive->head(member, kHead);
        if (!head) return tl::unexpected(head.error());
        auto header = parseNpyHeader(*head, member.bytes);
        if (!header) {
            if (unread++ == 0) firstUnread = fmt::format("{}: {}", quotedName(member.name), header.error().message);
            continue;
        }
        // Charges the header, and the row with its strides.
        if (!budget.take(sizeof(Array) + sizeof(TensorInfo) + 256 + ListBudget::of(member.name) +
                         4 * ListBudget::heap(header->shape.capacity() * 8)))
            return fail(fmt::format("{}: {}.", shown, budget.why("its list of arrays")), path);
        if (member.isDeflated) packed.push_back(&member);
        arrays.push_back({&member, std::move(*header)});
    }
    if (arrays.empty())
        return fail(unread == 0 ? fmt::format("{} holds no array (a member called NAME.npy).", shown)
                                : fmt::format("{}: none of its {} arrays can be shown; the first is {}.", shown, unread,
                                              firstUnread),
                    path);
    const auto unchecked = archive->checkStored();
    if (!unchecked) return tl::unexpected(unchecked.error());
    ZipArchive::Inflated inflated;
    if (!packed.empty()) {
        auto done = archive->inflate(packed);
        if (!done) return tl::unexpected(done.error());
        inflated = std::move(*done);
    }
    std::size_t next = 0;
    for (const auto& array : arrays) {
        const auto& member = *array.member;
        TensorInfo tensor;
        tensor.name = member.name.substr(0, member.name.size() - kEnding.size());
        const bool isMemory = member.isDeflated;
        if (auto placed = placeNpy(tensor, array.header, isMemory ? inflated.memory : *mapping,
                                   isMemory ? inflated.offsets[next++] : member.offset, isMemory);
            !placed)
            return archive->wrong(member, placed.error().message);
        model->tensors.push_back(std::move(tensor));
    }
    model->files.push_back({(*mapping)->path(), (*mapping)->size(), *mapping, {}});
    sortByName(*model);
    if (unread > 0)
        model->warnings.push_back(
            fmt::format("{}: {} arrays are not shown; the first is {}.", shown, unread, firstUnread));
    if (others > 0)
        model->warnings.push_back(fmt::format("{}: {} members are no arrays and not shown; the first is {}.", shown,
                                              others, quotedName(firstOther)));
    if (*unchecked > 0) model->warnings.push_back(uncheckedText(path, *unchecked));
    return model;
}

} // namespace qs
