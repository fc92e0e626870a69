// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/storage.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"

#include <fmt/format.h>

namespace qs::ocdbt {

bool Storage::fits(std::uint64_t bytes) const { return ListBudget(bytes_).take(used_ + bytes); }

bool Storage::take(std::uint64_t bytes) {
    used_ += bytes;
    return fits(0);
}

std::string Storage::tooLarge(const char* what) const { return ListBudget(bytes_).why(what); }

Result<std::uint32_t> Storage::fileOf(const DataFile& file) {
    if (const auto known = fileNumbers_.find(file.path); known != fileNumbers_.end()) return known->second;
    const auto refused = [&](const std::string& why) {
        return fail(fmt::format("{}: {}.", shownPath(path_), why), path_);
    };
    constexpr std::size_t kMostDataFiles = 6'000, kLongestPointer = 1024;
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

} // namespace qs::ocdbt
