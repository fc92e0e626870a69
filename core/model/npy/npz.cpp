// SPDX-License-Identifier: GPL-3.0-or-later
// Opens NumPy's .npz: a ZIP archive of .npy files. Uncompressed members (savez) stay in the mapped file; compressed
// ones (savez_compressed) are inflated into memory.
#include "core/base/tensor_name.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/npy/npy.h"
#include "core/model/unread.h"
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

/// The message of an error about a member, which names the file and the member: what comes behind them, without a dot.
std::string whyOf(const ZipMember& member, const Error& error) {
    const auto named = fmt::format("member {} ", quotedName(member.name));
    const auto at = error.message.find(named);
    std::string why = at == std::string::npos ? error.message : "it " + error.message.substr(at + named.size());
    if (why.ends_with('.')) why.pop_back();
    return why;
}

std::string arrayName(const ZipMember& member) { return member.name.substr(0, member.name.size() - kEnding.size()); }

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
    std::size_t others = 0, noNumbers = 0; ///< members that are no arrays; arrays of texts, records or objects
    std::string firstOther, firstOfThese, firstUnread;
    UnreadTensors unread;
    bool isFull = false;
    const auto leave = [&](const ZipMember& member, std::string why) {
        if (unread.count() == 0) firstUnread = fmt::format("{}: {}", quotedName(member.name), why);
        TensorInfo tensor;
        tensor.name = arrayName(member);
        markUnread(tensor);
        isFull = isFull || !budget.take(tensor);
        if (isFull) return;
        unread.add(tensor.name, std::move(why));
        model->tensors.push_back(std::move(tensor));
    };
    const auto tooLong = [&] { return fail(fmt::format("{}: {}.", shown, budget.why("its list of arrays")), path); };
    for (const auto& member : archive->members()) {
        if (!std::string_view(member.name).ends_with(kEnding)) {
            if (others++ == 0) firstOther = member.name;
            continue;
        }
        const auto head = archive->head(member, kHead);
        auto header = head ? parseNpyHeader(*head, member.bytes) : Result<NpyHeader>(fail(whyOf(member, head.error())));
        if (!header && head && !holdsNumbers(*head)) {
            if (noNumbers++ == 0) firstOfThese = fmt::format("{}: {}", quotedName(member.name), header.error().message);
            continue;
        }
        if (!header) {
            leave(member, header.error().message);
            continue;
        }
        // Charges the header, and the row with its strides.
        if (!budget.take(sizeof(Array) + sizeof(TensorInfo) + 256 + ListBudget::of(member.name) +
                         4 * ListBudget::heap(header->shape.capacity() * 8)))
            return tooLong();
        if (member.isDeflated) packed.push_back(&member);
        arrays.push_back({&member, std::move(*header)});
    }
    const std::size_t notShown = noNumbers + unread.count();
    if (arrays.empty())
        return fail(notShown == 0 ? fmt::format("{} holds no array (a member called NAME.npy).", shown)
                                  : fmt::format("{}: none of its {} arrays can be shown; the first is {}.", shown,
                                                notShown, noNumbers > 0 ? firstOfThese : firstUnread),
                    path);
    auto stored = archive->checkStored();
    if (!stored) return tl::unexpected(stored.error());
    ZipArchive::Damaged damaged = std::move(stored->damaged);
    ZipArchive::Inflated inflated;
    if (!packed.empty()) {
        auto done = archive->inflate(packed);
        if (!done) return tl::unexpected(done.error());
        inflated = std::move(*done);
        damaged.merge(inflated.damaged);
    }
    std::size_t next = 0;
    for (const auto& array : arrays) {
        const auto& member = *array.member;
        const bool isMemory = member.isDeflated;
        const std::uint64_t begin = isMemory ? inflated.offsets[next++] : member.offset;
        if (const auto bad = damaged.find(&member); bad != damaged.end()) {
            leave(member, whyOf(member, bad->second));
            continue;
        }
        TensorInfo tensor;
        tensor.name = arrayName(member);
        if (auto placed = placeNpy(tensor, array.header, isMemory ? inflated.memory : *mapping, begin, isMemory);
            !placed)
            return archive->wrong(member, placed.error().message);
        model->tensors.push_back(std::move(tensor));
    }
    if (isFull) return tooLong();
    if (unread.count() == model->tensors.size())
        return fail(
            fmt::format("{}: none of its {} arrays can be read; the first is {}.", shown, unread.count(), firstUnread),
            path);
    model->files.push_back({(*mapping)->path(), (*mapping)->size(), *mapping, {}});
    sortByName(*model);
    std::vector<std::string> said;
    unread.say(said);
    for (const auto& sentence : said) model->warnings.push_back(fmt::format("{}: {}.", shown, sentence));
    if (noNumbers > 0)
        model->warnings.push_back(
            fmt::format("{}: {} arrays are not shown; the first is {}.", shown, noNumbers, firstOfThese));
    if (others > 0)
        model->warnings.push_back(fmt::format("{}: {} members are no arrays and not shown; the first is {}.", shown,
                                              others, quotedName(firstOther)));
    if (stored->left > 0) model->warnings.push_back(uncheckedText(path, stored->left));
    return model;
}

} // namespace qs
