// SPDX-License-Identifier: GPL-3.0-or-later
// Parses model.safetensors.index.json, which says which shard holds which tensor.
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/model/list_budget.h"
#include "core/model/safetensors/safetensors.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

// Bytes of memory assumed per entry for the sorted lists, without the two names.
constexpr std::uint64_t kPerMapped = 80;

class IndexVisitor final : public JsonVisitor {
public:
    explicit IndexVisitor(const TakeMapped& take) : take_(take) {}
    std::optional<std::uint64_t> totalSize;
    bool hasMap = false;

    bool beginObject() override {
        if (depth_ == 1 && key_ == "weight_map")
            inMap_ = hasMap = true;
        else if (depth_ == 1 && key_ == "metadata")
            inMetadata_ = true;
        else if (inMap_)
            return refuse(
                fmt::format("weight_map: tensor {} is mapped to an object, not to a file name", quotedName(key_)));
        ++depth_;
        return true;
    }
    bool endObject() override {
        --depth_;
        if (depth_ == 1) inMap_ = inMetadata_ = false;
        return true;
    }
    bool beginArray() override { return enter("an array"); }
    bool endArray() override { return --depth_, true; }
    bool key(std::string& text) override {
        key_ = std::move(text);
        if (depth_ == 1 && !rootKeys_.insert(key_).second)
            return refuse(fmt::format("{} is there twice", quotedName(key_)));
        return true;
    }
    bool string(std::string& text) override {
        if (!inMap_) return scalar("text");
        // A shard must lie beside the index. A name that could lead to another folder is refused.
        if (text.empty() || text == "." || text == ".." ||
            text.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
            return refuse(fmt::format("weight_map: tensor {} is mapped to {}, which is not a plain file name",
                                      quotedName(key_), quotedName(text)));
        if (auto why = take_(key_, text); !why.empty()) return refuse(std::move(why));
        return true;
    }
    bool count(std::uint64_t value) override {
        if (inMetadata_ && depth_ == 2 && key_ == "total_size") {
            totalSize = value;
            return true;
        }
        return scalar("a number");
    }
    bool other(const char* kind) override { return scalar(kind); }

private:
    bool enter(const char* kind) { return scalar(kind) && ++depth_; }
    bool scalar(const char* kind) {
        if (depth_ == 0) return refuse(fmt::format("the index is {}, not an object with weight_map", kind));
        if (inMap_)
            return refuse(
                fmt::format("weight_map: tensor {} is mapped to {}, not to a file name", quotedName(key_), kind));
        if (depth_ == 1 && key_ == "weight_map") return refuse(fmt::format("weight_map is {}, not an object", kind));
        return true;
    }
    const TakeMapped& take_;
    int depth_ = 0;
    bool inMap_ = false, inMetadata_ = false;
    std::string key_;
    std::set<std::string> rootKeys_;
};

} // namespace

Result<std::optional<std::uint64_t>> readSafetensorsIndex(std::string_view text, const std::string& path,
                                                          const TakeMapped& take,
                                                          const std::function<void(std::uint64_t)>& passed) {
    const std::string shown = shownPath(path);
    if (text.size() > kMostIndexBytes)
        return fail(
            fmt::format("{}: an index of {} bytes is over the limit of {}.", shown, text.size(), kMostIndexBytes),
            path);
    IndexVisitor visitor(take);
    visitor.passed = passed;
    if (auto read = readStrictJson(text, path, 0, visitor); !read) return tl::unexpected(read.error());
    if (!visitor.hasMap)
        return fail(fmt::format("{}: there is no weight_map, so this is not the index of a sharded checkpoint.", shown),
                    path, 0);
    return visitor.totalSize;
}

Result<SafetensorsIndex> parseSafetensorsIndex(std::string_view text, const std::string& path) {
    SafetensorsIndex index;
    ListBudget budget(text.size(), text.size());
    const auto total = readSafetensorsIndex(text, path, [&](const std::string& tensor, const std::string& shard) {
        // Two names, and their places in the sorted lists.
        if (!budget.take(2 * sizeof(std::string) + ListBudget::heap(tensor.size() + 1) +
                         ListBudget::heap(shard.size() + 1) + kPerMapped))
            return budget.why("the list of tensors in weight_map");
        index.weightMap.emplace_back(tensor, shard);
        return std::string();
    });
    if (!total) return tl::unexpected(total.error());
    index.totalSize = *total;
    std::vector<std::string_view> names;
    for (const auto& [tensor, shard] : index.weightMap) names.push_back(tensor);
    std::ranges::sort(names);
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        return fail(fmt::format("{}: weight_map has tensor {} twice.", shownPath(path), quotedName(*twice)), path, 0);
    return index;
}

} // namespace qs
