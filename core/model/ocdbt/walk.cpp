// SPDX-License-Identifier: GPL-3.0-or-later
// The height decreases by one from node to child, so the walk always ends. Limits protect against nodes that are referred
// to many times: keys must increase, memory is charged, and the unpacked bytes are counted.
#include "core/model/ocdbt/walk.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"
#include "core/model/ocdbt/body.h"
#include "core/model/ocdbt/node.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::ocdbt {
namespace {

constexpr std::uint64_t kMostWork = std::uint64_t(1) << 30; ///< bytes of all unpacked bodies
constexpr std::uint64_t kLeastWork = 4096;                  ///< least bytes counted for a node

/// The walk itself.
class Walk {
public:
    Walk(Storage& storage, bool (*isNote)(std::string_view key), KeyList& keys)
        : storage_(storage), isNote_(isNote), keys_(keys) {}
    Result<void> run(const Manifest& manifest);

private:
    /// A reference from an inner node to a child node.
    struct Child {
        std::string key; ///< complete key; a lower bound for all keys of the child
        /// Length of the prefix that all keys of the child share, in bytes.
        std::size_t common = 0;
        std::uint64_t offset = 0, length = 0;
        std::uint32_t file = 0;
        std::string base; ///< prefix of the paths in its nodes
    };
    /// The children of one inner node on the path from the root, and how many of them were visited.
    struct Level {
        std::vector<Child> children;
        std::size_t next = 0;
        std::uint64_t taken = 0;
    };
    /// What the parents say about the keys of a node. `least` <= key < `*below`.
    struct Bounds {
        std::string_view prefix, least;
        const std::string* below = nullptr; ///< null: no upper bound
        unsigned height = 0;
    };

    Result<void> visit(const Child& node, const Bounds& bounds);
    Result<void> addLeaf(Node node, const Child& at, const Bounds& bounds);
    Result<void> addLevel(Node node, const Child& at, const Bounds& bounds);
    static const char* misplaced(const std::string& key, const Bounds& bounds);
    tl::unexpected<Error> wrong(const Child& node, const std::string& why) const;

    Storage& storage_;
    bool (*isNote_)(std::string_view);
    KeyList& keys_;
    std::vector<Level> levels_;
    std::vector<std::byte> room_, scratch_;
    std::uint64_t work_ = 0; ///< unpacked bytes, with a minimum per node
};

tl::unexpected<Error> Walk::wrong(const Child& node, const std::string& why) const {
    const auto& path = storage_.files()[node.file]->path();
    return fail(fmt::format("{}: of the B+tree node at byte {}: {}.", shownPath(path), node.offset, why), path,
                static_cast<long long>(node.offset));
}

const char* Walk::misplaced(const std::string& key, const Bounds& bounds) {
    if (key.size() > kMostKey) return "a key in it is too long";
    if (key < bounds.least) return "a key in it is less than its parent says";
    if (bounds.below && key >= *bounds.below) return "a key in it belongs to the next node";
    return nullptr;
}

Result<void> Walk::run(const Manifest& manifest) {
    const auto number = storage_.fileOf(manifest.file);
    if (!number) return tl::unexpected(number.error());
    Child root{{}, 0, manifest.offset, manifest.length, *number, manifest.file.path.substr(0, manifest.file.base)};
    if (auto done = visit(root, {{}, {}, nullptr, manifest.height}); !done) return done;
    while (!levels_.empty()) {
        Level& level = levels_.back();
        if (level.next == level.children.size()) {
            storage_.giveBack(level.taken);
            levels_.pop_back();
            continue;
        }
        const Child& node = level.children[level.next++];
        Bounds bounds{std::string_view(node.key).substr(0, node.common), node.key, nullptr,
                      manifest.height - unsigned(levels_.size())};
        for (auto above = levels_.rbegin(); above != levels_.rend() && !bounds.below; ++above)
            if (above->next < above->children.size()) bounds.below = &above->children[above->next].key;
        if (auto done = visit(node, bounds); !done) return done;
    }
    return {};
}

Result<void> Walk::visit(const Child& node, const Bounds& bounds) {
    const MappedFile& file = *storage_.files()[node.file];
    if (node.offset > file.size() || node.length > file.size() - node.offset)
        return wrong(node, fmt::format("its {} bytes end beyond the file's {}", node.length, file.size()));
    if (node.length > kMostStored) return wrong(node, fmt::format("it has {} bytes, too many", node.length));
    const auto body = bodyOf(file.read(node.offset, std::size_t(node.length), scratch_), Kind::Node, room_);
    if (!body) return wrong(node, body.error().message);
    work_ += std::max<std::uint64_t>(body->size(), kLeastWork);
    if (work_ > kMostWork) return wrong(node, fmt::format("with it nodes unpack to more than {} bytes", kMostWork));
    storage_.take(node.length); // pages of the mapping that were read
    if (body->data() == room_.data()) storage_.addUnpacked(body->size());
    auto parsed = Node::parse(*body, node.base);
    if (!parsed) return wrong(node, parsed.error().message);
    if (parsed->height() != bounds.height)
        return wrong(node, fmt::format("its height is {} where {} is due", parsed->height(), bounds.height));
    return bounds.height == 0 ? addLeaf(std::move(*parsed), node, bounds) : addLevel(std::move(*parsed), node, bounds);
}

Result<void> Walk::addLeaf(Node node, const Child& at, const Bounds& bounds) {
    // Values stored in a leaf are kept in two blocks. Values that are needed only while opening can so be freed.
    std::uint64_t sizes[2] = {0, 0}, keyBytes = 0;
    const std::uint64_t rows = node.count() * sizeof(KeyList::Slot);
    // Counted twice, because a vector holds the old and the new elements while it grows.
    const auto taken = [&] { return sizes[0] + sizes[1] + 2 * (keyBytes + rows); };
    Entry entry;
    std::string key;
    for (Node first = node; first.next(entry);) {
        key.assign(bounds.prefix).append(entry.key);
        if (const char* why = misplaced(key, bounds)) return wrong(at, why);
        keyBytes += key.size();
        if (entry.isInside) sizes[isNote_(key)] += entry.length;
        if (!storage_.fits(taken() + room_.size())) break; // stop before more keys are built
    }
    if (!storage_.fits(taken() + room_.size())) return wrong(at, storage_.tooLarge("the list of its keys"));
    storage_.take(taken());
    std::shared_ptr<std::vector<std::byte>> blocks[2];
    std::uint32_t numbers[2] = {0, 0};
    for (int note = 0; note < 2; ++note) {
        if (sizes[note] == 0) continue;
        blocks[note] = std::make_shared<std::vector<std::byte>>();
        blocks[note]->reserve(std::size_t(sizes[note]));
        numbers[note] = std::uint32_t(keys_.blocks.size()) << 1 | 1;
        keys_.blocks.push_back({blocks[note], at.file});
    }
    while (node.next(entry)) {
        KeyList::Slot slot;
        slot.key = keys_.text.size();
        keys_.text.append(bounds.prefix).append(entry.key);
        slot.keySize = std::uint32_t(keys_.text.size() - slot.key);
        slot.size = entry.length;
        if (entry.isInside) {
            if (entry.length > 0) { // an empty value is in no file
                const bool note = isNote_(std::string_view(keys_.text).substr(std::size_t(slot.key)));
                slot.at = numbers[note];
                slot.offset = blocks[note]->size();
                blocks[note]->insert(blocks[note]->end(), entry.value.begin(), entry.value.end());
            }
        } else {
            const auto number = storage_.fileOf(node.files()[std::size_t(entry.file)]);
            if (!number) return tl::unexpected(number.error());
            const std::uint64_t whole = storage_.files()[*number]->size();
            if (entry.offset > whole || entry.length > whole - entry.offset)
                return wrong(at, fmt::format("the value of {} ends beyond the {} bytes of its data file",
                                             quotedName(std::string_view(keys_.text).substr(slot.key)), whole));
            slot.at = *number << 1;
            slot.offset = entry.offset;
        }
        keys_.slots.push_back(slot);
    }
    if (node.why()) return wrong(at, node.why());
    return {};
}

Result<void> Walk::addLevel(Node node, const Child& at, const Bounds& bounds) {
    Level level;
    Entry entry;
    level.taken = node.count() * sizeof(Child);
    storage_.take(room_.size());
    const auto tight = [&](std::uint64_t more) {
        level.taken += more;
        return !storage_.take(more);
    };
    bool isFull = !storage_.take(level.taken);
    if (!isFull) level.children.reserve(std::size_t(node.count()));
    while (!isFull && node.next(entry)) {
        const DataFile& file = node.files()[std::size_t(entry.file)];
        const auto number = storage_.fileOf(file);
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
    storage_.giveBack(room_.size());
    if (isFull) return wrong(at, storage_.tooLarge("the list of its keys"));
    if (node.why()) return wrong(at, node.why());
    levels_.push_back(std::move(level));
    return {};
}

} // namespace

Result<void> walkTree(const Manifest& root, Storage& storage, bool (*isNote)(std::string_view key), KeyList& keys) {
    return Walk(storage, isNote, keys).run(root);
}

} // namespace qs::ocdbt
