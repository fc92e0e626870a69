// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Limit for the memory of a model's list of tensors. In some files a tensor takes ten times more memory than bytes in
// the file. So a file of tiny tensors could use up all memory. Opening may use twice the size of the files (and of what
// they unpack to) plus 64 MiB. Loaders charge what they keep while they read. Files whose tensors hold data stay far
// below.

#include "core/model/model.h"

#include <algorithm>
#include <numeric>

namespace qs {

class ListBudget {
public:
    /// `held`: bytes that stay in memory beside the list while it is built, such as a copy of the header.
    explicit ListBudget(std::uint64_t fileBytes, std::uint64_t held = 0);
    /// For one more file of a model that has some already.
    ListBudget(const Model& model, std::uint64_t fileBytes, std::uint64_t held = 0);

    /// Charges one row. False if the limit is exceeded. `more`: bytes that the tensor keeps outside its row.
    bool take(const TensorInfo& tensor, std::uint64_t more = 0) { return take(of(tensor) + more); }
    bool take(std::uint64_t bytes) { return (used_ += bytes) <= limit_; }
    bool takeEntry(const std::string& key, const std::string& value); ///< charges one entry of a map of texts

    /// The message for a list over the limit: "its list of tensors takes more memory than twice the 120 bytes and 64
    /// MiB, ..."
    std::string why(const char* what) const;

    /// Bytes of memory that a row takes, with its name and shape.
    static std::uint64_t of(const TensorInfo& tensor);
    static std::uint64_t heap(std::uint64_t bytes); ///< memory that an allocation of `bytes` takes
    static std::uint64_t of(const std::string& text) { return text.capacity() < 16 ? 0 : heap(text.capacity() + 1); }

private:
    std::uint64_t fileBytes_, limit_, used_ = 0;
};

/// Reorders in place: afterwards items[i] is the old items[order[i]]. Uses no second list; `order` is overwritten.
template<class T> void permute(std::vector<T>& items, std::vector<std::uint32_t>& order) {
    for (std::uint32_t begin = 0; begin < order.size(); ++begin) {
        if (order[begin] == begin) continue;
        T first = std::move(items[begin]);
        std::uint32_t at = begin;
        while (order[at] != begin) {
            const auto from = order[at];
            items[at] = std::move(items[from]);
            order[at] = at;
            at = from;
        }
        items[at] = std::move(first);
        order[at] = at;
    }
}

/// Stable sort without the buffer that std::stable_sort allocates.
template<class T, class Less> void sortStably(std::vector<T>& items, Less less) {
    if (std::ranges::is_sorted(items, [&](T& a, T& b) { return less(a, b); })) return;
    std::vector<std::uint32_t> order(items.size());
    std::iota(order.begin(), order.end(), 0u);
    // Equal items are ordered by their old position, which makes the sort stable.
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        return less(items[a], items[b]) || (!less(items[b], items[a]) && a < b);
    });
    permute(items, order);
}

} // namespace qs
