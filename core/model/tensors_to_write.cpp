// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tensors_to_write.h"

#include "core/model/gguf/packed_type.h"
#include "core/model/list_budget.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace qs {
namespace {

// Rows share what one of the last so many rows has. Neighbours are alike, and a search in a longer list takes time.
constexpr std::size_t kLookedAt = 64;

/// Where `items` has the item, which is added if none of the last ones is equal.
template<class T, class U> std::uint32_t placeOf(std::vector<T>& items, const U& item) {
    for (std::size_t back = 1; back <= std::min(kLookedAt, items.size()); ++back)
        if (items[items.size() - back] == item) return std::uint32_t(items.size() - back);
    items.emplace_back(item);
    return std::uint32_t(items.size() - 1);
}

/// A list that was made before: each tensor is a source.
class KeptTensors final : public TensorMaker {
public:
    explicit KeptTensors(std::vector<TensorToWrite> tensors) : tensors_(std::move(tensors)) {
        for (std::uint32_t i = 0; i < tensors_.size(); ++i)
            groups_.push_back(i > 0 && tensors_[i].together == tensors_[i - 1].together ? groups_.back() : i);
    }
    std::string_view nameOf(std::uint32_t source) const override { return tensors_[source].name; }
    std::uint32_t groupOf(std::uint32_t source) const override { return groups_[source]; }
    Result<TensorToWrite> make(std::uint32_t source, std::uint32_t) override {
        const TensorToWrite& kept = tensors_[source]; // its function may hold the data, so it is not copied
        return TensorToWrite{kept.name,   kept.dtype,
                             kept.shape,  [&kept](const TensorToWrite::Sink& sink) { return kept.produce(sink); },
                             kept.packed, kept.together};
    }

    std::size_t size() const { return tensors_.size(); }
    const TensorToWrite& at(std::size_t i) const { return tensors_[i]; }

private:
    std::vector<TensorToWrite> tensors_;
    std::vector<std::uint32_t> groups_;
};

} // namespace

std::pair<std::string, std::string> TensorMaker::metadataOf(std::uint32_t) const { return {}; }

std::uint64_t bytesOf(const TensorToWrite& tensor) {
    std::uint64_t elements = 1;
    for (const auto dim : tensor.shape) elements *= std::uint64_t(dim);
    if (tensor.packed) return elements / tensor.packed->elements * tensor.packed->bytes;
    return elements * std::uint64_t(info(tensor.dtype).bits) / 8;
}

TensorsToWrite::TensorsToWrite(TensorMaker& maker) : maker_(std::shared_ptr<void>(), &maker) {}

TensorsToWrite::TensorsToWrite(std::vector<TensorToWrite> tensors) {
    const auto kept = std::make_shared<KeptTensors>(std::move(tensors));
    maker_ = kept;
    for (std::uint32_t i = 0; i < kept->size(); ++i) {
        const TensorToWrite& one = kept->at(i);
        add(i, 0, one.name, {one.dtype, one.shape, one.packed, one.together != nullptr});
    }
}

std::uint32_t TensorsToWrite::kind(const Kind& kind) { return placeOf(kinds_, kind); }
std::uint32_t TensorsToWrite::ending(std::string_view text) { return placeOf(endings_, text); }

void TensorsToWrite::add(std::uint32_t source, std::uint32_t field, std::string_view name, const Kind& of) {
    const std::string_view from = maker_->nameOf(source);
    const std::size_t most = std::min<std::size_t>(from.size(), std::numeric_limits<std::uint16_t>::max());
    const auto kept =
        std::size_t(std::mismatch(from.begin(), from.begin() + std::ptrdiff_t(most), name.begin(), name.end()).first -
                    from.begin());
    rows_.push_back({source, kind(of), ending(name.substr(kept)), std::uint16_t(kept), std::uint16_t(field)});
}

void TensorsToWrite::reserve(std::size_t tensors, std::size_t described) {
    rows_.reserve(tensors), described_.reserve(described);
}

void TensorsToWrite::append(TensorsToWrite& other) {
    if (!maker_) {
        std::swap(*this, other);
        return;
    }
    assert(other.empty() || maker_ == other.maker_);
    rows_.reserve(rows_.size() + other.rows_.size());
    for (const Row& row : other.rows_) {
        rows_.push_back(row);
        rows_.back().kind = kind(other.kinds_[row.kind]);
        rows_.back().ending = ending(other.endings_[row.ending]);
    }
    described_.insert(described_.end(), other.described_.begin(), other.described_.end());
    other = {};
}

std::string TensorsToWrite::nameOf(std::size_t i) const {
    const Row& row = rows_[i];
    return std::string(maker_->nameOf(row.source).substr(0, row.kept)) + endings_[row.ending];
}

std::uint64_t TensorsToWrite::bytesOf(std::size_t i) const {
    const Kind& kind = kindOf(i);
    return qs::bytesOf(TensorToWrite{{}, kind.dtype, kind.shape, {}, kind.packed});
}

std::uint64_t TensorsToWrite::bytes() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size(); ++i) sum += bytesOf(i);
    return sum;
}

int TensorsToWrite::compareNames(const Row& a, const TensorsToWrite& other, const Row& b) const {
    std::string_view ours = maker_->nameOf(a.source).substr(0, a.kept), oursNext = endings_[a.ending];
    std::string_view theirs = other.maker_->nameOf(b.source).substr(0, b.kept), theirsNext = other.endings_[b.ending];
    for (;;) {
        const std::size_t n = std::min(ours.size(), theirs.size());
        if (const int order = ours.substr(0, n).compare(theirs.substr(0, n)); order != 0) return order;
        ours.remove_prefix(n), theirs.remove_prefix(n);
        if (ours.empty()) ours = std::exchange(oursNext, {});
        if (theirs.empty()) theirs = std::exchange(theirsNext, {});
        if (ours.empty() || theirs.empty()) return ours.compare(theirs);
    }
}

Result<void> TensorsToWrite::eachDescription(
    const std::function<Result<void>(const std::string& key, const std::string& value)>& take) const {
    std::vector<std::uint32_t> sorted = described_;
    std::ranges::sort(sorted, {}, [&](std::uint32_t source) { return maker_->nameOf(source); });
    for (const std::uint32_t source : sorted) {
        const auto [key, value] = maker_->metadataOf(source);
        if (auto done = take(key, value); !done) return done;
    }
    return {};
}

void TensorsToWrite::sortByName() {
    std::ranges::sort(rows_, [this](const Row& a, const Row& b) { return compareNames(a, *this, b) < 0; });
}

void TensorsToWrite::sortByTypeAndName() {
    std::ranges::sort(rows_, [this](const Row& a, const Row& b) {
        const DType left = kinds_[a.kind].dtype, right = kinds_[b.kind].dtype;
        return left != right ? left > right : compareNames(a, *this, b) < 0;
    });
}

void TensorsToWrite::permute(std::vector<std::uint32_t>& order) { qs::permute(rows_, order); }

} // namespace qs
