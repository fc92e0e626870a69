// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/hdf5/reader.h"

#include "core/model/hdf5/window.h"
#include "core/model/list_budget.h"

#include <algorithm>
#include <cstring>

namespace qs {
namespace {

constexpr std::size_t kTiles = 8; ///< kept tiles; each has the size of a window. Threads that read nearby share them

} // namespace

Result<std::shared_ptr<Hdf5Reader>> Hdf5Reader::open(const std::string& path, const Descriptor& file,
                                                     std::uint64_t base, std::uint64_t length,
                                                     const Hdf5Deadlines& deadlines) {
    auto process = Hdf5Process::start(path, file, kHdf5WindowBytes, "the file is damaged, or made to harm readers");
    if (!process) return tl::unexpected(process.error());
    auto reader = std::shared_ptr<Hdf5Reader>(new Hdf5Reader(std::move(*process), deadlines));
    if (auto listed = reader->list(base, length); !listed) return tl::unexpected(listed.error());
    return reader;
}

/// Bytes of memory for a row with its texts. A vector that grows copies its rows, so a row counts more than once.
std::uint64_t Hdf5Reader::memoryOf(const Hdf5Row& row) {
    std::uint64_t bytes = sizeof row + sizeof row / 2 + ListBudget::heap(row.shape.capacity() * 8) +
                          ListBudget::heap(row.quantizedShape.capacity() * 8);
    for (const auto* text : {&row.path, &row.reason, &row.note}) bytes += ListBudget::of(*text);
    for (const auto& [key, text] : row.quantized) bytes += 128 + ListBudget::of(key) + ListBudget::of(text);
    return bytes;
}

Result<void> Hdf5Reader::list(std::uint64_t base, std::uint64_t length) {
    const auto answer = ask({{"call", "open"}, {"base", base}, {"length", length}}, deadlines_.open);
    if (!answer) return tl::unexpected(answer.error());
    auto opened = hdf5OpenedFrom(*answer);
    if (!opened) return process_->broken("answered with garbage: " + opened.error());
    metadata_ = std::move(opened->metadata);
    ListBudget budget(length);
    while (rows_.size() < opened->rows) {
        const auto before = rows_.size();
        const auto some = ask({{"call", "rows"}, {"from", before}}, deadlines_.rows);
        if (!some) return tl::unexpected(some.error());
        if (const auto taken = hdf5RowsFrom(*some, opened->rows - before, length, rows_); !taken)
            return process_->broken("answered with garbage: " + taken.error());
        for (std::size_t i = before; i < rows_.size(); ++i)
            if (!budget.take(memoryOf(rows_[i])))
                return process_->broken("lists too much: " + budget.why("the list of tensors"));
    }
    return {};
}

Result<Hdf5Reader::Tile> Hdf5Reader::tile(std::size_t row, std::uint64_t number) {
    const std::pair key(row, number);
    const auto at = std::ranges::find_if(tiles_, [&](const auto& t) { return t.first == key; });
    if (at != tiles_.end()) {
        std::rotate(tiles_.begin(), at, at + 1);
        return tiles_.front().second;
    }
    const Hdf5Row& tensor = rows_[row];
    const std::uint64_t size = std::uint64_t(info(tensor.dtype).bits) / 8, most = kHdf5WindowBytes / size;
    const auto begin = number * most, count = std::min(most, tensor.elements - begin);
    const auto answer = ask({{"call", "read"}, {"row", row}, {"begin", begin}, {"count", count}}, deadlines_.read);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    if (fields.count("bytes", UINT64_MAX) != count * size)
        return process_->broken("answered with garbage: another number of elements");
    const auto* data = process_->window().data();
    auto fresh = std::make_shared<const std::vector<std::byte>>(data, data + count * size);
    tiles_.emplace_front(key, fresh);
    if (tiles_.size() > kTiles) tiles_.pop_back();
    return fresh;
}

bool Hdf5Reader::read(std::size_t row, std::uint64_t begin, std::span<std::byte> into) {
    const std::uint64_t size = std::uint64_t(info(rows_[row].dtype).bits) / 8,
                        tileBytes = kHdf5WindowBytes / size * size;
    while (!into.empty()) {
        Tile bytes;
        {
            const std::lock_guard lock(mutex_);
            if (failures_.contains(row)) break;
            auto found = tile(row, begin / tileBytes);
            if (!found && !process_->failure() && !found.error().cancelled) failures_.emplace(row, found.error());
            if (!found) break;
            bytes = std::move(*found);
        }
        const auto from = begin % tileBytes;
        const auto n = std::min<std::size_t>(into.size(), bytes->size() - from);
        std::memcpy(into.data(), bytes->data() + from, n);
        into = into.subspan(n);
        begin += n;
    }
    std::fill(into.begin(), into.end(), std::byte(0));
    return into.empty();
}

Result<void> Hdf5Reader::failure(std::size_t row) const {
    const std::lock_guard lock(mutex_);
    if (const auto own = failures_.find(row); own != failures_.end()) return tl::unexpected(own->second);
    if (process_->failure()) return tl::unexpected(*process_->failure());
    return {};
}

Result<std::map<std::string, int>> Hdf5Reader::probe() {
    const std::lock_guard lock(mutex_);
    const auto answer = ask({{"call", "probe"}}, deadlines_.read);
    if (!answer) return tl::unexpected(answer.error());
    std::map<std::string, int> denied;
    Fields fields(*answer);
    for (const auto& [what, error] : fields.object("errno").items())
        denied[what] = error.is_number_integer() ? error.get<int>() : 0;
    return denied;
}

void Hdf5Reader::end() {
    const std::lock_guard lock(mutex_);
    process_->end();
}

} // namespace qs
