// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/zarr.h"

#include "core/base/json_tree.h"
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/list_budget.h"
#include "core/model/unread.h"
#include "core/model/zarr/database_store.h"
#include "core/model/zarr/folder_store.h"
#include "core/model/zarr/values.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

constexpr std::size_t kMostArrays = 6'000;

class ZarrOpening {
public:
    explicit ZarrOpening(const std::string& path) : model(newModel(path, "zarr")) {}
    std::shared_ptr<Model> model;

    Result<void> open() {
        zarr::FolderStore folder(model->path);
        if (auto read = arrays(folder, {}); !read) return read;
        for (const auto& below : folder.databases())
            if (auto read = database(below); !read) return read;
        if (folder.unmerged()) {
            const auto place = folderAt(*folder.unmerged());
            broken_.push_back(
                {fmt::format("{} has OCDBT databases of processes (ocdbt.process_0 and so on) and no manifest.ocdbt "
                             "that puts them together: the checkpoint was not finished.",
                             shownPath(place)),
                 place});
        }
        if (!folder.databases().empty() &&
            std::filesystem::path(model->path).filename().string().starts_with(zarr::kOfProcess))
            model->warnings.push_back(
                fmt::format("{} is what one process wrote of a checkpoint: open the folder above, or what "
                            "others wrote reads as the fill value.",
                            shownPath(model->path)));
        const bool isEmpty = std::ranges::all_of(model->tensors, &TensorInfo::isUnread);
        if (isEmpty && !broken_.empty()) return tl::unexpected(broken_.front());
        for (const auto& error : broken_) model->warnings.push_back(error.message);
        for (const auto& [reason, unread] : unread_)
            model->warnings.push_back(
                unread.count == 1 ? fmt::format("{}: {} is not read: {}.", shownPath(model->path), unread.first, reason)
                                  : fmt::format("{}: {} arrays are not read: of the first, {}, {}.",
                                                shownPath(model->path), unread.count, unread.first, reason));
        if (isEmpty)
            return fail(model->warnings.empty() ? fmt::format("{} holds no zarr array.", shownPath(model->path))
                                                : model->warnings.front(),
                        model->path);
        nameApart(*model);
        return {};
    }

private:
    struct Unread {
        std::size_t count = 0;
        std::string first;
    };
    void leave(const std::string& name, const std::string& reason) {
        auto& unread = unread_[unread_.size() < 50 || unread_.contains(reason) ? reason : "for other reasons"];
        if (unread.count++ == 0) unread.first = quotedName(name);
    }

    /// Path of a subfolder such as "default/"; "" is the model's folder.
    std::string folderAt(const std::string& below) const {
        return below.empty() ? model->path : model->path + '/' + below.substr(0, below.size() - 1);
    }

    /// Reads all arrays of a store. `below`: prefix for their names.
    Result<void> arrays(zarr::Store& store, const std::string& below) {
        looked_ = 0;
        return store.arrays([&](const std::string& prefix, const char* about, int version) -> Result<bool> {
            std::string name = below + prefix;
            if (name.empty()) name = std::filesystem::path(model->path).filename().string();
            if (name.ends_with('/')) name.pop_back();
            return array(store, name, prefix, about, version);
        });
    }

    /// Reads the database in a subfolder. If it is broken, the others are still read.
    Result<void> database(const std::string& below) {
        zarr::DatabaseStore store(folderAt(below));
        if (auto opened = store.open(); !opened) {
            broken_.push_back(opened.error());
            return {};
        }
        for (const auto& file : store.files()) // all files belong to the checkpoint, also those without values
            if (auto number = fileNumber(file); !number) return tl::unexpected(number.error());
        return arrays(store, below);
    }

    /// Reads one array. Returns false if it is a group.
    Result<bool> array(zarr::Store& store, const std::string& name, const std::string& prefix, const char* about,
                       int version) {
        const auto piece = store.find(prefix + about);
        if (!piece) return leave(name, piece.error().message), true;
        if (!*piece) return leave(name, "its description is a link to nothing"), true;
        if (piece->size > kMostJson) return leave(name, fmt::format("its {} is longer than 4 MiB", about)), true;
        std::vector<std::byte> scratch;
        const auto bytes = piece->read(0, std::size_t(piece->size), scratch);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (version == 3 && zarr::isGroup(text)) return false;
        if (invalidUtf8(name) != std::string::npos) return leave(name, "its name is not text"), true;
        auto parsed = zarr::parseArray(text, version);
        if (!parsed && !zarr::holdsNumbers(text, version)) return leave(name, parsed.error().message), true;
        if (!parsed) {
            auto listed = list(store, name, parsed.error().message, *piece);
            return listed ? Result<bool>(true) : tl::unexpected(listed.error());
        }
        if (auto added = add(store, name, prefix, *parsed, *piece); !added) return tl::unexpected(added.error());
        return true;
    }

    /// Lists an array that cannot be read.
    Result<void> list(zarr::Store& store, const std::string& name, const std::string& reason,
                      const zarr::Piece& about) {
        leave(name, reason);
        TensorInfo info;
        info.name = name;
        markUnread(info);
        if (auto taken = store.take(ListBudget::of(info)); !taken)
            return fail(fmt::format("{}: {}.", shownPath(model->path), taken.error().message), model->path);
        const auto number = fileNumber(about.file);
        if (!number) return tl::unexpected(number.error());
        info.file = *number;
        model->tensors.push_back(std::move(info));
        return {};
    }

    Result<void> add(zarr::Store& store, const std::string& name, const std::string& prefix, const zarr::Array& array,
                     const zarr::Piece& about) {
        const std::uint64_t count = array.elements == 0 ? 0 : array.fileCount();
        if (count > store.mostChunks() - looked_)
            return list(store, name,
                        fmt::format("its chunks are in more files than the {} that are looked for", store.mostChunks()),
                        about);
        looked_ += std::size_t(count);
        TensorInfo info;
        info.name = name;
        info.dtype = array.dtype;
        info.shape = array.shape;
        info.elements = array.elements;
        info.bytes = array.elements * array.elementBytes();
        // A few short lists per array, and one entry per chunk.
        constexpr std::uint64_t kOfValues = sizeof(zarr::Values) + 12 * 32;
        if (auto taken = store.take(ListBudget::of(info) + kOfValues + count * sizeof(zarr::Piece)); !taken)
            return fail(fmt::format("{}: {}.", shownPath(model->path), taken.error().message), model->path);
        std::vector<zarr::Piece> pieces{std::size_t(count)};
        std::uint64_t stored = 0, fresh = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            auto piece = store.find(prefix + array.fileName(i));
            if (!piece) return list(store, name, piece.error().message, about);
            if (!*piece) continue;
            fresh += !fileNumbers_.contains(piece->file.get());
            if (model->files.size() + fresh > kMostArrays) return tooManyFiles();
            if (auto why = wrongPiece(array, *piece); !why.empty())
                return list(store, name, fmt::format("of {} {}", quotedName(array.fileName(i)), why), about);
            stored += piece->size;
            pieces[std::size_t(i)] = std::move(*piece);
        }
        if (info.bytes > std::uint64_t(4) << 30 && info.bytes / 1000 > stored)
            return list(store, name, fmt::format("it declares {} bytes, and its chunks have {}", info.bytes, stored),
                        about);
        const bool isWhole = count == 1 && pieces[0] && !pieces[0].held && array.file == array.shape &&
                             !array.isShard && array.chain.compressor == zarr::Compressor::None &&
                             !array.chain.hasCrc32c && !array.chain.isFortran && array.chain.signedBits == 0 &&
                             (!array.chain.isBigEndian || array.elementBytes() == 1);
        const auto first = std::ranges::find_if(pieces, [](const auto& piece) { return bool(piece); });
        const auto number = fileNumber(first == pieces.end() ? about.file : first->file);
        if (!number) return tl::unexpected(number.error());
        info.file = *number;
        for (const auto& piece : pieces)
            if (piece)
                if (auto listed = fileNumber(piece.file); !listed) return tl::unexpected(listed.error());
        if (isWhole)
            info.offset = pieces[0].offset;
        else
            info.derived = std::make_shared<const zarr::Values>(array, std::move(pieces));
        model->tensors.push_back(std::move(info));
        return {};
    }

    /// Index of a file in Model::files; the file is added if it is new.
    Result<std::uint32_t> fileNumber(const std::shared_ptr<MappedFile>& file) {
        if (const auto known = fileNumbers_.find(file.get()); known != fileNumbers_.end()) return known->second;
        if (model->files.size() >= kMostArrays) return tooManyFiles();
        model->files.push_back({file->path(), file->size(), file, {}});
        return fileNumbers_[file.get()] = std::uint32_t(model->files.size() - 1);
    }

    tl::unexpected<Error> tooManyFiles() const {
        return fail(fmt::format("{} has more than {} files of chunks; this version opens checkpoints of fewer and "
                                "larger ones.",
                                shownPath(model->path), kMostArrays),
                    model->path);
    }

    /// Returns why a file cannot be a chunk of this array, judged by its size. "" if it can be one.
    static std::string wrongPiece(const zarr::Array& array, const zarr::Piece& piece) {
        if (array.isShard) return {}; // the index of a shard says where the chunks are
        const std::uint64_t bytes = array.chunkElements() * array.elementBytes();
        if (array.chain.compressor == zarr::Compressor::None) {
            const std::uint64_t wants = bytes + (array.chain.hasCrc32c ? 4 : 0);
            if (piece.size != wants) return fmt::format("it has {} bytes where {} are needed", piece.size, wants);
        } else if (piece.size > 2 * bytes + 65'536)
            return fmt::format("it has {} bytes where {} were compressed", piece.size, bytes);
        return {};
    }

    std::size_t looked_ = 0;
    std::vector<Error> broken_;
    std::map<const MappedFile*, std::uint32_t> fileNumbers_;
    std::map<std::string, Unread> unread_;
};

} // namespace

bool looksLikeZarr(std::string_view names) {
    while (!names.empty()) {
        const auto name = names.substr(0, names.find('\n'));
        for (const char* known :
             {".zarray", ".zgroup", ".zmetadata", "zarr.json", "_METADATA", "_CHECKPOINT_METADATA", ocdbt::kManifest})
            if (name == known) return true;
        names.remove_prefix(std::min(names.size(), name.size() + 1));
    }
    return false;
}

Result<std::shared_ptr<Model>> openZarr(const std::string& path) {
    ZarrOpening opening(path);
    if (auto opened = opening.open(); !opened) return tl::unexpected(opened.error());
    return std::move(opening.model);
}

} // namespace qs
