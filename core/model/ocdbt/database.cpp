// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/database.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/ocdbt/body.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs::ocdbt {
namespace {

constexpr std::size_t kMostDataFiles = 6'000, kMostNames = 200'000, kLongestPointer = 1024;

} // namespace

bool Database::fits(std::uint64_t bytes) const { return ListBudget(bytes_).take(used_ + bytes); }

bool Database::take(std::uint64_t bytes) {
    used_ += bytes;
    return fits(0);
}

std::string Database::tooLarge(const char* what) const { return ListBudget(bytes_).why(what); }

Value Database::value(std::size_t i) const {
    const Slot& slot = entries_[i];
    if ((slot.at & 1) == 0) return {files_[slot.at >> 1], nullptr, slot.offset, slot.size};
    const Block& block = blocks_[slot.at >> 1];
    return {files_[block.file], block.bytes, slot.offset, slot.size};
}

std::size_t Database::find(std::string_view key) const {
    std::size_t low = 0, high = entries_.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        this->key(middle) < key ? low = middle + 1 : high = middle;
    }
    return low < entries_.size() && this->key(low) == key ? low : entries_.size();
}

Result<std::uint32_t> Database::fileOf(const DataFile& file) {
    if (const auto known = fileNumbers_.find(file.path); known != fileNumbers_.end()) return known->second;
    const auto refused = [&](const std::string& why) {
        return fail(fmt::format("{}: {}.", shownPath(path_), why), path_);
    };
    if (files_.size() >= kMostDataFiles) return refused(fmt::format("it has more than {} data files", kMostDataFiles));
    auto opened = folder_.open(file.path);
    if (!opened) return refused(opened.error().message);
    if (!*opened) return refused(fmt::format("the data file {} is missing", quotedName(file.path)));
    if ((*opened)->size() <= kLongestPointer) {
        std::vector<std::byte> head((*opened)->size());
        (*opened)->readInto(0, head);
        if (const auto is = placeholder(head); !is.empty())
            return refused(fmt::format("the data file {} {}", quotedName(file.path), is));
    }
    bytes_ += (*opened)->size();
    used_ += 256 + file.path.size();
    files_.push_back(std::move(*opened));
    return fileNumbers_[file.path] = std::uint32_t(files_.size() - 1);
}

Result<Manifest> Database::readManifest(const std::string& name) {
    const auto number = fileOf({name, 0});
    if (!number) return tl::unexpected(number.error());
    const MappedFile& file = *files_[*number];
    const auto refused = [&](const std::string& why) {
        return fail(fmt::format("{}: {}.", shownPath(file.path()), why), file.path(), 0);
    };
    if (file.size() > kMostStored) return refused(fmt::format("it has {} bytes, too many", file.size()));
    auto body = bodyOf(file.read(0, file.size(), scratch_), Kind::Manifest, room_);
    if (!body) return refused(body.error().message);
    auto manifest = parseManifest(*body);
    if (!manifest) return refused(manifest.error().message);
    return manifest;
}

/// Name of the numbered manifest with the highest number: manifest.0000000000000001 and so on.
Result<std::string> Database::newestManifest() const {
    constexpr std::string_view start = "manifest.";
    std::string newest;
    std::error_code failed;
    std::size_t looked = 0;
    for (std::filesystem::directory_iterator it(path_, failed), end; !failed && it != end; it.increment(failed)) {
        if (++looked > kMostNames)
            return fail(fmt::format("{} holds more than {} files and folders.", shownPath(path_), kMostNames), path_);
        const std::string name = it->path().filename().string();
        if (name.size() == start.size() + 16 && name.starts_with(start) &&
            name.find_first_not_of("0123456789abcdef", start.size()) == std::string::npos)
            newest = std::max(newest, name);
    }
    if (newest.empty())
        return fail(fmt::format("{} keeps numbered manifests, and there is none.", shownPath(path_)), path_);
    return newest;
}

Result<Manifest> Database::manifest() {
    auto first = readManifest(kManifest);
    if (!first || !first->isNumbered) return first;
    const auto name = newestManifest();
    if (!name) return tl::unexpected(name.error());
    auto newest = readManifest(*name);
    if (!newest) return newest;
    const auto refused = [&](const char* why) {
        const auto& path = files_.back()->path();
        return fail(fmt::format("{}: {}.", shownPath(path), why), path, 0);
    };
    if (newest->isNumbered) return refused("it refers to numbered manifests, of which it is one");
    if (newest->id != first->id) return refused("it is of another database than manifest.ocdbt");
    if (newest->generation != std::stoull(name->substr(name->size() - 16), nullptr, 16))
        return refused("its newest version is not the one that it is named after");
    return newest;
}

Result<void> Database::open() {
    const auto root = manifest();
    if (!root) return tl::unexpected(root.error());
    if (!root->isEmpty)
        if (auto walked = walk(*root); !walked) return walked;
    room_ = {}, scratch_ = {};
    entries_.shrink_to_fit();
    return {};
}

} // namespace qs::ocdbt
