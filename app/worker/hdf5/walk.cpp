// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/walk.h"

#include "core/base/text.h"
#include "core/model/list_budget.h"

#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <map>

namespace qs::worker {
namespace {

constexpr std::size_t kMostLinks = 1'000'000, kLongestName = 4096, kLongestPath = 16'384, kDeepest = 64;

struct Link {
    std::string name;
    haddr_t address = HADDR_UNDEF;
    const char* refused = nullptr;
};

struct Links {
    std::vector<Link> list;
    std::size_t left;
    ListBudget& budget;
    bool tooMany = false, tooLong = false;
};

/// Bytes of memory for one row. The row itself counts twice, because a vector that grows copies its elements.
std::uint64_t memoryOf(const Found& row) {
    std::uint64_t bytes = 2 * sizeof row + ListBudget::heap(row.shape.capacity() * 8) + row.quantizedText;
    for (const auto* text : {&row.path, &row.reason, &row.note}) bytes += ListBudget::of(*text);
    return bytes + row.quantized.size() * 128;
}

herr_t collect(hid_t, const char* name, const H5L_info_t* link, void* into) {
    auto& links = *static_cast<Links*>(into);
    if (links.left-- == 0) {
        links.tooMany = true;
        return 1;
    }
    if (!links.budget.take(2 * sizeof(Link) + ListBudget::heap(strnlen(name, kLongestName) + 1))) {
        links.tooLong = true;
        return 1;
    }
    Link seen{std::string(name, strnlen(name, kLongestName)), HADDR_UNDEF, nullptr};
    if (link->type == H5L_TYPE_HARD)
        seen.address = link->u.address;
    else
        seen.refused = link->type == H5L_TYPE_SOFT       ? "is a soft link, which is never followed"
                       : link->type == H5L_TYPE_EXTERNAL ? "is a link into another file, which is never followed"
                                                         : "is a link of a user-defined kind, which is never followed";
    links.list.push_back(std::move(seen));
    return 0;
}

struct Group {
    haddr_t address;
    std::string path;
    std::size_t depth;
};

} // namespace

std::string walk(hid_t file, std::uint64_t bytes, std::vector<Found>& found,
                 const std::function<void(const std::string&)>& visiting) {
    ListBudget budget(bytes);
    bool tooLong = false;
    const auto add = [&](Found row) {
        tooLong = tooLong || !budget.take(memoryOf(row));
        if (!tooLong) found.push_back(std::move(row));
    };
    H5O_info_t root;
    visiting("/");
    if (H5Oget_info_by_name(file, "/", &root, H5P_DEFAULT) < 0) return "its root group cannot be read";
    std::map<haddr_t, std::string> visited{{root.addr, "/"}};
    std::deque<Group> groups{{root.addr, "", 0}};
    std::size_t left = kMostLinks;
    const auto refuse = [&](std::string path, std::string reason, bool isUnread = false) {
        Found row;
        row.isUnread = isUnread;
        row.path = std::move(path);
        row.reason = std::move(reason);
        add(std::move(row));
    };
    while (!groups.empty()) {
        const Group group = std::move(groups.front());
        groups.pop_front();
        visiting(group.path.empty() ? "/" : group.path);
        const ObjectHandle open(H5Oopen_by_addr(file, group.address));
        Links links{{}, left, budget};
        hsize_t index = 0;
        if (!open || H5Literate(open.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &index, collect, &links) < 0)
            refuse(group.path, "is a group that cannot be read");
        if (links.tooLong || tooLong) return budget.why("its list of tensors");
        if (links.tooMany) return fmt::format("it has more than {} links", kMostLinks);
        left = links.left;
        for (auto& link : links.list) {
            if (tooLong) return budget.why("its list of tensors");
            std::string path = group.path + "/" + link.name;
            if (path.size() > kLongestPath) return fmt::format("it has a path of more than {} bytes", kLongestPath);
            if (link.refused) {
                refuse(std::move(path), link.refused);
                continue;
            }
            const auto [seen, fresh] = visited.emplace(link.address, path);
            if (fresh) tooLong = tooLong || !budget.take(2 * (128 + ListBudget::of(path))); // `visited` and `groups`
            if (!fresh) {
                refuse(std::move(path), fmt::format("is another name of {}", escapeForPeople(seen->second, 200)));
                continue;
            }
            visiting(path);
            const ObjectHandle object(H5Oopen_by_addr(file, link.address));
            const auto kind = object ? H5Iget_type(object.get()) : H5I_BADID;
            if (kind == H5I_GROUP) {
                if (group.depth == kDeepest) return fmt::format("its groups nest more than {} deep", kDeepest);
                groups.push_back({link.address, std::move(path), group.depth + 1});
            } else if (kind == H5I_DATASET) {
                Found row;
                row.path = std::move(path);
                row.address = link.address;
                describe(object.get(), row);
                add(std::move(row));
            } else {
                refuse(std::move(path), kind == H5I_DATATYPE ? "is a named type" : "cannot be read",
                       kind != H5I_DATATYPE);
            }
        }
    }
    return tooLong ? budget.why("its list of tensors") : std::string();
}

} // namespace qs::worker
