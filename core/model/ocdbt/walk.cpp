// SPDX-License-Identifier: GPL-3.0-or-later
// Walks from the root of the newest version to its leaves, so that keys come in order. The height decreases by one from
// node to child, so the walk always ends. Limits protect against nodes that are referred to many times: keys must
// increase, memory is charged, and the unpacked bytes are counted.
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"
#include "core/model/ocdbt/body.h"
#include "core/model/ocdbt/database.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::ocdbt {
namespace {

constexpr std::uint64_t kMostWork = std::uint64_t(1) << 30,
                        /// Limit for the bytes of all unpacked bodies; least bytes counted for a node.
    kLeastWork = 4096;

} // namespace

tl::unexpected<Error> Database::wrong(const Child& node, const std::string& why) const {
    const auto& path = files_[node.file]->path();
    return fail(fmt::format("{}: of the B+tree node at byte {}: {}.", escapeForPeople(path, 200), node.offset, why),
                path, static_cast<long long>(node.offset));
}

const char* Database::misplaced(const std::string& key, const Bounds& bounds) const {
    if (key.size() > kMostKey) return "a key in it is too long";
    if (key < bounds.least) return "a key in it is less than its parent says";
    if (bounds.below && key >= *bounds.below) return "a key in it belongs to the next node";
    return nullptr;
}

Result<void> Database::walk(const Manifest& manifest) {
    const auto number = fileOf(manifest.file);
    if (!number) return tl::unexpected(number.error());
    Child root{{}, 0, manifest.offset, manifest.length, *number, manifest.file.path.substr(0, manifest.file.base)};
    std::vector<Level> levels;
    if (auto done = visit(root, {{}, {}, nullptr, manifest.height}, levels); !done) return done;
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.next == level.children.size()) {
            used_ -= level.taken;
            levels.pop_back();
            continue;
        }
        const Child& node = level.children[level.next++];
        Bounds bounds{std::string_view(node.key).substr(0, node.common), node.key, nullptr,
                      manifest.height - unsigned(levels.size())};
        for (auto above = levels.rbegin(); above != levels.rend() && !bounds.below; ++above)
            if (above->next < above->children.size()) bounds.below = &above->children[above->next].key;
        if (auto done = visit(node, bounds, levels); !done) return done;
    }
    return {};
}

Result<void> Database::visit(const Child& node, const Bounds& bounds, std::vector<Level>& levels) {
    const MappedFile& file = *files_[node.file];
    if (node.offset > file.size() || node.length > file.size() - node.offset)
        return wrong(node, fmt::format("its {} bytes end beyond the file's {}", node.length, file.size()));
    if (node.length > kMostStored) return wrong(node, fmt::format("it has {} bytes, too many", node.length));
    const auto body = bodyOf(file.read(node.offset, std::size_t(node.length), scratch_), Kind::Node, room_);
    if (!body) return wrong(node, body.error().message);
    work_ += std::max<std::uint64_t>(body->size(), kLeastWork);
    if (work_ > kMostWork) return wrong(node, fmt::format("with it nodes unpack to more than {} bytes", kMostWork));
    used_ += node.length; // pages of the mapping that were read
    if (body->data() == room_.data()) bytes_ += body->size();
    auto parsed = Node::parse(*body, node.base);
    if (!parsed) return wrong(node, parsed.error().message);
    if (parsed->height() != bounds.height)
        return wrong(node, fmt::format("its height is {} where {} is due", parsed->height(), bounds.height));
    return bounds.height == 0 ? addLeaf(std::move(*parsed), node, bounds)
                              : addLevel(std::move(*parsed), node, bounds, levels);
}

Result<void> Database::addLeaf(Node node, const Child& at, const Bounds& bounds) {
    // Values stored in a leaf are kept in two blocks. Values that are needed only while opening can so be freed.
    std::uint64_t sizes[2] = {0, 0}, keyBytes = 0;
    const std::uint64_t rows = node.count() * sizeof(Slot);
    // Counted twice, because a vector holds the old and the new elements while it grows.
    const auto taken = [&] { return sizes[0] + sizes[1] + 2 * (keyBytes + rows); };
    Entry entry;
    std::string key;
    for (Node first = node; first.next(entry);) {
        key.assign(bounds.prefix).append(entry.key);
        if (const char* why = misplaced(key, bounds)) return wrong(at, why);
        keyBytes += key.size();
        if (entry.isInside) sizes[isNote_(key)] += entry.length;
        if (!fits(taken() + room_.size())) break; // stop before more keys are built
    }
    if (!fits(taken() + room_.size())) return wrong(at, tooLarge("the list of its keys"));
    take(taken());
    std::shared_ptr<std::vector<std::byte>> blocks[2];
    std::uint32_t numbers[2] = {0, 0};
    for (int note = 0; note < 2; ++note) {
        if (sizes[note] == 0) continue;
        blocks[note] = std::make_shared<std::vector<std::byte>>();
        blocks[note]->reserve(std::size_t(sizes[note]));
        numbers[note] = std::uint32_t(blocks_.size()) << 1 | 1;
        blocks_.push_back({blocks[note], at.file});
    }
    while (node.next(entry)) {
        Slot slot;
        slot.key = keys_.size();
        keys_.append(bounds.prefix).append(entry.key);
        slot.keySize = std::uint32_t(keys_.size() - slot.key);
        slot.size = entry.length;
        if (entry.isInside) {
            if (entry.length > 0) { // an empty value is in no file
                const bool note = isNote_(std::string_view(keys_).substr(std::size_t(slot.key)));
                slot.at = numbers[note];
                slot.offset = blocks[note]->size();
                blocks[note]->insert(blocks[note]->end(), entry.value.begin(), entry.value.end());
            }
        } else {
            const auto number = fileOf(node.files()[std::size_t(entry.file)]);
            if (!number) return tl::unexpected(number.error());
            const std::uint64_t whole = files_[*number]->size();
            if (entry.offset > whole || entry.length > whole - entry.offset)
                return wrong(at, fmt::format("the value of {} ends beyond the {} bytes of its data file",
                                             quotedName(std::string_view(keys_).substr(slot.key)), whole));
            slot.at = *number << 1;
            slot.offset = entry.offset;
        }
        entries_.push_back(slot);
    }
    if (node.why()) return wrong(at, node.why());
    return {};
}

Result<void> Database::addLevel(Node node, const Child& at, const Bounds& bounds, std::vector<Level>& levels) {
    Level level;
    Entry entry;
    level.taken = node.count() * sizeof(Child);
    used_ += room_.size();
    const auto tight = [&](std::uint64_t more) {
        level.taken += more;
        return !take(more);
    };
    bool isFull = !take(level.taken);
    if (!isFull) level.children.reserve(std::size_t(node.count()));
    while (!isFull && node.next(entry)) {
        const DataFile& file = node.files()[std::size_t(entry.file)];
        const auto number = fileOf(file);
        if (!number) return tl::unexpected(number.error());
        Child child{std::string(bounds.prefix).append(entry.key),
                    bounds.prefix.size() + entry.common,
                    entry.offset,
                    entry.length,
                    *number,
                    file.path.substr(0, file.base)};
        if (const char* why = misplaced(child.key, bounds)) return wrong(at, why);
        isFull = tight(ListBudget::of(child.key) + ListBudget::of(child.base));
        level.children.push_back(std::move(child));
    }
    used_ -= room_.size();
    if (isFull) return wrong(at, tooLarge("the list of its keys"));
    if (node.why()) return wrong(at, node.why());
    levels.push_back(std::move(level));
    return {};
}

} // namespace qs::ocdbt
