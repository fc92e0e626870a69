// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/output/confined_folder.h"
#include "core/model/tfjs/tfjs.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace qs {
namespace {

namespace fs = std::filesystem;
using tfjs::Coding, tfjs::Group, tfjs::Manifest, tfjs::Piece, tfjs::Weight;

struct Shard {
    std::shared_ptr<MappedFile> file; ///< null if the file is missing
    std::uint32_t number = 0;         ///< index in Model::files
};

/// Consecutive shards as one range of bytes.
class ShardStream {
public:
    explicit ShardStream(std::span<const Shard> shards) : shards_(shards) {
        for (const auto& shard : shards) starts_.push_back(size_), size_ += shard.file->size();
    }
    std::uint64_t size() const { return size_; }

    struct Place {
        std::vector<Piece> pieces; ///< empty for 0 bytes
        std::uint32_t file = 0;    ///< index in Model::files of the first shard
    };
    /// The pieces of bytes [begin, begin + size), which must lie in the shards.
    Place at(std::uint64_t begin, std::uint64_t size) const {
        Place place;
        if (size == 0) return place;
        auto i = std::size_t(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
        place.file = shards_[i].number;
        for (; size > 0; ++i) {
            const std::uint64_t from = begin - starts_[i], n = std::min(size, shards_[i].file->size() - from);
            if (n > 0) place.pieces.push_back({shards_[i].file, from, n});
            begin += n, size -= n;
        }
        return place;
    }

    /// Number of bytes of `texts` strings at `begin`; each follows its length as u32. Empty if they end after the last
    /// shard.
    std::optional<std::uint64_t> textsAt(std::uint64_t begin, std::uint64_t texts) const {
        if (texts > (size_ - begin) / 4) return std::nullopt;
        std::uint64_t at = begin, bufferAt = 0;
        std::vector<std::byte> buffer;
        for (; texts > 0; --texts) {
            if (size_ - at < 4) return std::nullopt;
            if (buffer.empty() || at < bufferAt || at + 4 > bufferAt + buffer.size()) {
                buffer.resize(std::size_t(std::min<std::uint64_t>(size_ - at, 64 * 1024)));
                bufferAt = at;
                std::size_t done = 0;
                for (const auto& piece : this->at(at, buffer.size()).pieces) {
                    piece.file->readInto(std::size_t(piece.offset),
                                         std::span(buffer).subspan(done, std::size_t(piece.size)));
                    done += std::size_t(piece.size);
                }
            }
            std::uint32_t length = 0;
            std::memcpy(&length, buffer.data() + (at - bufferAt), 4);
            at += 4;
            if (length > size_ - at) return std::nullopt;
            at += length;
        }
        return at - begin;
    }

private:
    std::span<const Shard> shards_;
    std::vector<std::uint64_t> starts_;
    std::uint64_t size_ = 0;
};

class TfjsOpening {
public:
    explicit TfjsOpening(const std::string& path) : model_(newModel(path, "tfjs")), shown_(shownPath(path)) {}

    Result<std::shared_ptr<Model>> open() {
        auto manifest = read();
        if (!manifest) return tl::unexpected(manifest.error());
        model_->files[0].metadata = std::move(manifest->metadata);
        model_->tensors.reserve(manifest->weights.size());
        std::size_t begin = 0;
        for (std::size_t i = 0; i < manifest->groups.size(); ++i) {
            const Group& group = manifest->groups[i];
            std::vector<Shard> shards;
            if (auto opened = openShards(group, shards); !opened) return tl::unexpected(opened.error());
            if (auto placed = place({manifest->weights.data() + begin, group.end - begin}, shards, i + 1); !placed)
                return tl::unexpected(placed.error());
            begin = group.end;
        }
        if (missing_ > 0 && missing_ == named_)
            return refused(fmt::format("none of its {} shards is there; the first is {}", named_, firstMissing_));
        sayWhatIsLeftOut();
        nameApart(*model_);
        return std::move(model_);
    }

private:
    tl::unexpected<Error> refused(const std::string& why) const {
        return fail(fmt::format("{}: {}.", shown_, why), model_->path);
    }

    Result<Manifest> read() {
        auto mapping = openWhole(model_->path);
        if (!mapping) return tl::unexpected(mapping.error());
        const MappedFile& file = **mapping;
        // A copy, because the file could change between a check and the use.
        std::string text(std::min<std::size_t>(file.size(), 100'000'001), '\0');
        file.readInto(0, std::as_writable_bytes(std::span(text)));
        file.dropPages(0, text.size());
        if (file.faulted())
            if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
        model_->files.push_back({file.path(), file.size(), *mapping, {}});
        const fs::path path = model_->path;
        if (path.filename() == "model.json" || path.filename() == "weights_manifest.json")
            model_->title = titleOfFolder(path.parent_path());
        return tfjs::parseManifest(text, model_->path);
    }

    Result<void> openShards(const Group& group, std::vector<Shard>& shards) {
        const ConfinedFolder folder(fs::path(model_->path).parent_path().string());
        for (const auto& name : group.paths) {
            auto file = folder.open(name);
            if (!file) return refused(file.error().message);
            ++named_;
            if (!*file) {
                if (missing_++ == 0) firstMissing_ = quotedName(name);
                model_->missing.files.push_back(name);
                shards.push_back({nullptr, 0});
                continue;
            }
            std::vector<std::byte> head(std::min<std::size_t>((*file)->size(), 256));
            (*file)->readInto(0, head);
            auto why = notWhole((*file)->size(), (*file)->path());
            if (why.empty()) why = placeholder(head);
            if (!why.empty()) return refused(fmt::format("the shard {} {}", quotedName(name), why));
            shards.push_back({*file, std::uint32_t(model_->files.size())});
            model_->files.push_back({(*file)->path(), (*file)->size(), *file, {}});
        }
        return {};
    }

    /// Finds weights from the start up to the first missing shard, then from the end back to the last missing shard.
    Result<void> place(std::span<Weight> weights, std::span<const Shard> shards, std::size_t number) {
        const auto isMissing = [](const Shard& shard) { return !shard.file; };
        const auto gap = std::ranges::find_if(shards, isMissing);
        const bool isWhole = gap == shards.end();
        const ShardStream front(shards.first(std::size_t(gap - shards.begin())));
        const auto last = std::find_if(shards.rbegin(), shards.rend(), isMissing);
        const ShardStream back(shards.last(std::size_t(last - shards.rbegin())));
        std::uint64_t at = 0;
        std::size_t first = 0;
        for (; first < weights.size(); ++first) {
            Weight& weight = weights[first];
            std::uint64_t bytes = weight.info.bytes;
            if (weight.coding == Coding::Text) {
                const auto texts = front.textsAt(at, weight.info.elements);
                if (!texts && isWhole)
                    return refused(fmt::format("the strings of weight {} end beyond the shards of group {}",
                                               quotedName(weight.info.name), number));
                if (!texts) break;
                bytes = *texts;
            }
            if (bytes > front.size() - at) {
                if (!isWhole) break;
                return refused(fmt::format("weight {} lies at bytes {} to {} of group {}, whose shards hold {}",
                                           quotedName(weight.info.name), at, at + bytes, number, front.size()));
            }
            add(weight, front.at(at, bytes));
            at += bytes;
        }
        if (isWhole && at != front.size())
            return refused(
                fmt::format("the weights of group {} have {} bytes, and its shards hold {}", number, at, front.size()));
        if (isWhole) return {};
        std::uint64_t left = back.size();
        std::size_t end = weights.size();
        for (; end > first; --end) {
            Weight& weight = weights[end - 1];
            if (weight.coding == Coding::Text || weight.info.bytes > left) break;
            left -= weight.info.bytes;
            add(weight, back.at(left, weight.info.bytes));
        }
        if (end == first && left + front.size() - at > 0)
            return refused(fmt::format(
                "the weights of group {} have fewer bytes than those of its shards that are there", number));
        if (missingWeights_ == 0 && end > first) model_->missing.first = weights[first].info.name;
        missingWeights_ += end - first;
        model_->missing.tensors = missingWeights_;
        return {};
    }

    void leave(const char* reason, const Weight& weight) {
        auto& left = left_[reason];
        if (left.second++ == 0) left.first = quotedName(weight.info.name);
    }

    void add(Weight& weight, ShardStream::Place place) {
        if (weight.coding == Coding::Text)
            return leave("holds strings, which are no numbers, and is not shown", weight);
        if (weight.isRounded)
            leave("is a weight of whole numbers (int32) that is stored as codes; its codes are shown", weight);
        weight.info.file = place.file;
        model_->tensors.push_back(tfjs::derive(std::move(weight), std::move(place.pieces)));
    }

    void sayWhatIsLeftOut() {
        if (missing_ > 0)
            model_->warnings.push_back(fmt::format("{}: {} of {} shards are missing, with {} tensors; the first is {}.",
                                                   shown_, missing_, named_, missingWeights_, firstMissing_));
        for (const auto& [reason, left] : left_)
            model_->warnings.push_back(
                fmt::format("{}: {} {}{}.", shown_, left.first, reason,
                            left.second > 1 ? fmt::format(" (so are {} others)", left.second - 1) : ""));
    }

    std::shared_ptr<Model> model_;
    std::string shown_;
    std::size_t named_ = 0, missing_ = 0, missingWeights_ = 0;
    std::string firstMissing_;
    /// By reason: the first weight and the number of weights.
    std::map<std::string, std::pair<std::string, std::size_t>> left_;
};

} // namespace

Result<std::shared_ptr<Model>> openTfjs(const std::string& path) { return TfjsOpening(path).open(); }

} // namespace qs
