// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the list of a model may take. A tensor needs ten times the memory of its line in some files, so that a file of
// tiny ones could fill the machine: opening takes at most twice the bytes of the files, and of what they unpack to, and
// 64 MiB. Loaders charge what they keep as they read; files whose tensors have data never come near.

#include "core/model/model.h"

#include <algorithm>
#include <numeric>

namespace qs {

class ListBudget {
public:
    /// `held` bytes lie in memory beside the list while it is made: a copy of the header, what was parsed of it.
    explicit ListBudget(std::uint64_t fileBytes, std::uint64_t held = 0);
    /// With one more file of a model that has some.
    ListBudget(const Model& model, std::uint64_t fileBytes, std::uint64_t held = 0);

    /// False once there is too much. `more`: what the tensor keeps beside its row.
    bool take(const TensorInfo& tensor, std::uint64_t more = 0) { return take(of(tensor) + more); }
    bool take(std::uint64_t bytes) { return (used_ += bytes) <= limit_; }
    bool takeEntry(const std::string& key, const std::string& value); ///< of a map of texts

    /// "its list of tensors takes more memory than twice the file's 120 bytes and 64 MiB"
    std::string why(const char* what) const;

    static std::uint64_t of(const TensorInfo& tensor);
    static std::uint64_t heap(std::uint64_t bytes); ///< what an allocation of so many takes
    static std::uint64_t of(const std::string& text) { return text.capacity() < 16 ? 0 : heap(text.capacity() + 1); }

private:
    std::uint64_t fileBytes_, limit_, used_ = 0;
};

/// Puts `items[order[i]]` at i, without a second list of them. `order` is used up.
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

template<class T, class Less> void sortStably(std::vector<T>& items, Less less) {
    if (std::is_sorted(items.begin(), items.end(), [&](T& a, T& b) { return less(a, b); })) return;
    std::vector<std::uint32_t> order(items.size());
    std::iota(order.begin(), order.end(), 0u);
    // Numbers break ties: stable, without the buffer that std::stable_sort takes.
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return less(items[a], items[b]) || (!less(items[b], items[a]) && a < b);
    });
    permute(items, order);
}

} // namespace qs
