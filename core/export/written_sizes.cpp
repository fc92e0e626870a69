// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/written_sizes.h"

#include "core/layouts/layout.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <iterator>
#include <xxhash.h>

namespace qs {

/// Layouts that write another kind of file have the id of its format. Then the model lists all tensors of the file.
static bool isSafetensors(const Model& written) {
    const auto all = layouts();
    return std::ranges::none_of(all,
                                [&](const Layout& layout) { return layout.fileEnding && written.format == layout.id; });
}

/// A computed tensor counts by its parts; it may have the name of one of them.
static std::span<const TensorInfo> partsOf(const TensorInfo& tensor) {
    return tensor.derived ? tensor.derived->parts() : std::span<const TensorInfo>();
}

void WrittenSizes::listParts() {
    for (const TensorInfo& tensor : written_.tensors)
        for (const TensorInfo& part : partsOf(tensor)) add(part);
    sort();
    hasParts_ = true;
}

Result<std::optional<std::uint64_t>> WrittenSizes::find(std::string_view name) {
    if (const TensorInfo* listed = written_.find(name); listed && partsOf(*listed).empty())
        return std::optional(listed->bytes);
    if (!hasParts_) listParts();
    const NameKey key = NameKey::of(name);
    if (auto found = known(key); found || isWholeList_) return found;
    if (auto done = readHeaders(); !done) return tl::unexpected(done.error());
    return known(key);
}

Result<void> WrittenSizes::readHeaders() {
    rows_.clear(), isWholeList_ = true;
    if (!isSafetensors(written_)) {
        for (const TensorInfo& tensor : written_.tensors) add(tensor);
        sort();
        return {};
    }
    for (const ModelFile& file : written_.files) {
        std::vector<std::byte> scratch;
        const auto length = safetensorsHeaderLength(file.mapping->read(0, 8, scratch));
        std::uint64_t dropped = 0;
        const auto passed = [&](std::uint64_t at) { // pages of the header leave memory behind the parser
            if (at > dropped) file.mapping->dropPages(dropped, at - dropped);
            dropped = at;
        };
        const auto header = parseSafetensorsHeader(
            file.mapping->read(0, std::size_t(std::min<std::uint64_t>(file.size, 8 + length)), scratch), file.size,
            file.path, nullptr, passed);
        if (!header) return tl::unexpected(header.error());
        for (const TensorInfo& tensor : header->tensors) add(tensor);
    }
    sort();
    return {};
}

void NameSet::sort() { std::ranges::sort(keys_); }
bool NameSet::has(std::string_view name) const { return std::ranges::binary_search(keys_, NameKey::of(name)); }

NameKey NameKey::of(std::string_view name) {
    const auto hash = XXH3_128bits(name.data(), name.size());
    return {hash.high64, hash.low64};
}

void WrittenSizes::sort() {
    // Two files may have a tensor with the same name. The last one counts.
    std::ranges::stable_sort(rows_, [](const Row& a, const Row& b) { return a.key < b.key; });
}

std::optional<std::uint64_t> WrittenSizes::known(const NameKey& wanted) const {
    const auto after = std::upper_bound(rows_.begin(), rows_.end(), wanted,
                                        [](const NameKey& key, const Row& row) { return key < row.key; });
    if (after == rows_.begin() || std::prev(after)->key != wanted) return std::nullopt;
    return std::prev(after)->bytes;
}

} // namespace qs
