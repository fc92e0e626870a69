// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/values.h"

#include "core/base/text.h"
#include "core/model/crc32c.h"
#include "core/model/foreign_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <list>
#include <set>

namespace qs::zarr {
namespace {

/// Decoded bytes of all arrays; the newest chunk is always kept.
constexpr std::size_t kMostKept = std::size_t(256) << 20;
constexpr std::size_t kMostRuns = 65'536;
constexpr std::uint64_t kLeastDropped = 65'536;
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

using Chunk = std::shared_ptr<const std::vector<std::byte>>;

/// The cache of decoded chunks.
class Kept {
public:
    Chunk find(const void* array, std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        const auto at =
            std::ranges::find_if(list_, [&](const Entry& e) { return e.array == array && e.number == number; });
        if (at == list_.end()) return nullptr;
        list_.splice(list_.begin(), list_, at);
        return at->chunk;
    }
    void keep(const void* array, std::uint64_t number, Chunk chunk) {
        const std::lock_guard lock(mutex_);
        bytes_ += chunk->size();
        list_.push_front({array, number, std::move(chunk)});
        while (list_.size() > 1 && (bytes_ > kMostKept || list_.size() > 1024)) {
            bytes_ -= list_.back().chunk->size();
            list_.pop_back();
        }
    }
    void drop(const void* array) {
        const std::lock_guard lock(mutex_);
        list_.remove_if([&](const Entry& e) {
            if (e.array != array) return false;
            bytes_ -= e.chunk->size();
            return true;
        });
    }

private:
    struct Entry {
        const void* array;
        std::uint64_t number;
        Chunk chunk;
    };
    std::mutex mutex_;
    std::list<Entry> list_; ///< most recently used first
    std::size_t bytes_ = 0;
};

Kept& kept() {
    static Kept& all = *new Kept; // never destroyed, because tensors may be destroyed after static objects
    return all;
}

/// Elements that are consecutive in the tensor and evenly spaced in a chunk.
struct Run {
    std::uint64_t chunk, from, to, count;
};

std::uint64_t indexBytes(const Array& array) { return 16 * array.chunksInFile() + (array.indexHasCrc32c ? 4 : 0); }

} // namespace

Result<Stored> placeInShard(const Array& array, const Piece& shard, std::uint64_t chunkInFile) {
    const std::uint64_t index = indexBytes(array);
    if (index > shard.size) return fail(fmt::format("it has {} bytes, fewer than its index of {}", shard.size, index));
    std::uint64_t entry[2];
    std::vector<std::byte> scratch;
    std::memcpy(
        entry, shard.read((array.indexAtEnd ? shard.size - index : 0) + 16 * chunkInFile, sizeof entry, scratch).data(),
        sizeof entry);
    if (entry[0] == kNone && entry[1] == kNone) return Stored{};
    if (entry[0] > shard.size || entry[1] > shard.size - entry[0])
        return fail(fmt::format("its chunk {} lies at bytes {} to {}, beyond its end", chunkInFile, entry[0],
                                entry[0] + entry[1]));
    return Stored{entry[0], entry[1]};
}

Result<void> checkIndex(const Array& array, const Piece& shard) {
    const std::uint64_t size = indexBytes(array);
    if (size > shard.size) return fail(fmt::format("it has {} bytes, fewer than its index of {}", shard.size, size));
    std::vector<std::byte> scratch;
    const auto index = shard.read(array.indexAtEnd ? shard.size - size : 0, std::size_t(size), scratch);
    if (array.indexHasCrc32c) {
        std::uint32_t sum = 0;
        std::memcpy(&sum, index.data() + size - 4, 4);
        if (crc32c(index.first(std::size_t(size) - 4)) != sum)
            return fail("the check sum of its index (CRC-32C) is that of other bytes");
    }
    for (std::uint64_t i = 0; i < array.chunksInFile(); ++i)
        if (auto place = placeInShard(array, shard, i); !place) return tl::unexpected(place.error());
    return {};
}

Values::Values(Array array, std::vector<Piece> pieces)
    : array_(std::move(array)), pieces_(std::move(pieces)), chunkStride_(array_.shape.size(), 1),
      within_(array_.shape.size(), 1), isChecked_(array_.isShard ? pieces_.size() : 0) {
    const std::size_t rank = array_.shape.size();
    for (std::size_t i = rank; i-- > 1;) chunkStride_[i - 1] = chunkStride_[i] * array_.chunksAlong(i);
    if (array_.chain.isFortran)
        for (std::size_t i = 1; i < rank; ++i) within_[i] = within_[i - 1] * std::uint64_t(array_.chunk[i - 1]);
    else
        for (std::size_t i = rank; i-- > 1;) within_[i - 1] = within_[i] * std::uint64_t(array_.chunk[i]);
    std::set<MappedFile*> known;
    for (const auto& piece : pieces_) {
        storedBytes_ += piece.size;
        if (piece && known.insert(piece.file.get()).second) files_.push_back(piece.file);
    }
}

Values::~Values() { kept().drop(this); }

std::string Values::description() const {
    const auto bits = array_.chain.signedBits;
    return fmt::format("zarr {}, {}chunks of {}, {}{}", array_.version, bits > 0 ? fmt::format("int{}, ", bits) : "",
                       shapeText(array_.chunk), nameOf(array_.chain.compressor), array_.isShard ? ", in shards" : "");
}

void Values::release() const { kept().drop(this); }

Result<void> Values::unchanged() const {
    {
        const std::lock_guard lock(failing_);
        if (!failure_.message.empty()) return tl::unexpected(failure_);
    }
    for (const auto& file : files_)
        if (auto same = file->unchanged(); !same) return same;
    return {};
}

Result<Values::Chunk> Values::decoded(std::uint64_t number) const {
    std::uint64_t file = 0, fileStride = 1, inFile = 0, inFileStride = 1;
    for (std::size_t i = array_.shape.size(); i-- > 0;) {
        const std::uint64_t along = number / chunkStride_[i] % array_.chunksAlong(i);
        const auto perFile = std::uint64_t(array_.file[i] / array_.chunk[i]);
        file += along / perFile * fileStride;
        fileStride *= array_.filesAlong(i);
        inFile += along % perFile * inFileStride;
        inFileStride *= perFile;
    }
    const Piece& at = pieces_[std::size_t(file)];
    if (!at) return Chunk();
    const auto wrong = [&](const Error& error) {
        const auto& path = at.file->path();
        std::vector<std::byte> head(at.isFile() ? std::min<std::size_t>(at.file->size(), 256) : 0);
        at.file->readInto(0, head);
        if (const auto is = placeholder(head); !is.empty())
            return fail(fmt::format("{} {}.", shownPath(path), is), path);
        if (at.isFile()) return fail(fmt::format("{}: {}.", shownPath(path), error.message), path);
        return fail(fmt::format("{}: of the chunk {}{}: {}.", shownPath(path), array_.fileName(file),
                                at.held ? "" : fmt::format(" at byte {}", at.offset), error.message),
                    path, at.held ? -1 : static_cast<long long>(at.offset));
    };
    Stored place{0, at.size};
    if (array_.isShard) {
        if (!isChecked_[std::size_t(file)])
            if (auto good = checkIndex(array_, at); !good) return wrong(good.error());
        isChecked_[std::size_t(file)] = true;
        auto found = placeInShard(array_, at, inFile);
        if (!found) return wrong(found.error());
        if (found->size == 0) return Chunk();
        place = *found;
    }
    std::vector<std::byte> scratch;
    auto bytes = decode(at.read(place.offset, std::size_t(place.size), scratch), array_.chain,
                        std::size_t(array_.chunkElements() * array_.elementBytes()), array_.elementBytes());
    // The decoded chunk is cached, so its pages are freed. Otherwise a scan would keep the whole file in memory.
    if (!at.held && place.size >= kLeastDropped)
        at.file->dropPages(std::size_t(at.offset + place.offset), std::size_t(place.size));
    if (!bytes) return wrong(bytes.error());
    return std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
}

Values::Chunk Values::load(std::uint64_t number) const {
    if (auto chunk = kept().find(this, number)) return chunk;
    const std::lock_guard lock(decoding_);
    if (auto chunk = kept().find(this, number)) return chunk;
    auto chunk = decoded(number);
    if (!chunk) {
        const std::lock_guard failing(failing_);
        if (failure_.message.empty()) failure_ = chunk.error();
        return nullptr;
    }
    if (*chunk) kept().keep(this, number, *chunk);
    return *chunk;
}

void Values::elements(std::uint64_t first, std::uint64_t n, std::byte* out) const {
    const std::size_t rank = array_.shape.size(), size = array_.elementBytes();
    std::vector<std::uint64_t> place(rank);
    std::uint64_t rest = first;
    for (std::size_t i = rank; i-- > 0; rest /= std::uint64_t(array_.shape[i]))
        place[i] = rest % std::uint64_t(array_.shape[i]);
    const std::uint64_t step = rank == 0 ? 1 : within_[rank - 1];
    std::vector<Run> runs;
    for (std::uint64_t done = 0; done < n;) {
        runs.clear();
        while (done < n && runs.size() < kMostRuns) {
            Run run{0, 0, done, n - done};
            for (std::size_t i = 0; i < rank; ++i) {
                const auto along = std::uint64_t(array_.chunk[i]);
                run.chunk += place[i] / along * chunkStride_[i];
                run.from += place[i] % along * within_[i];
            }
            if (rank > 0) {
                const auto along = std::uint64_t(array_.chunk[rank - 1]), whole = std::uint64_t(array_.shape[rank - 1]);
                std::uint64_t& last = place[rank - 1];
                run.count = std::min({run.count, along - last % along, whole - last});
                last += run.count;
                for (std::size_t i = rank; i-- > 1 && place[i] == std::uint64_t(array_.shape[i]);)
                    place[i] = 0, ++place[i - 1];
            }
            done += run.count;
            runs.push_back(run);
        }
        // Work chunk by chunk. In the order of the tensor, a row of chunks would be decoded again for each row of
        // elements.
        std::ranges::sort(runs, [](const Run& a, const Run& b) { return a.chunk < b.chunk; });
        Chunk chunk;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const Run& run = runs[i];
            if (i == 0 || run.chunk != runs[i - 1].chunk) chunk = load(run.chunk);
            std::byte* to = out + run.to * size;
            if (!chunk)
                for (std::uint64_t k = 0; k < run.count; ++k) std::memcpy(to + k * size, array_.fill.data(), size);
            else if (step == 1)
                std::memcpy(to, chunk->data() + run.from * size, std::size_t(run.count * size));
            else
                for (std::uint64_t k = 0; k < run.count; ++k)
                    std::memcpy(to + k * size, chunk->data() + (run.from + k * step) * size, size);
        }
    }
}

void Values::read(std::uint64_t begin, std::span<std::byte> into) const {
    if (into.empty()) return;
    const std::uint64_t size = array_.elementBytes(), first = begin / size,
                        end = (begin + into.size() + size - 1) / size;
    if (begin % size == 0 && into.size() % size == 0) return elements(first, end - first, into.data());
    std::vector<std::byte> whole(std::size_t((end - first) * size));
    elements(first, end - first, whole.data());
    std::memcpy(into.data(), whole.data() + (begin - first * size), into.size());
}

} // namespace qs::zarr
