// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/zarr.h"

#include "core/base/text.h"
#include "core/model/confined_folder.h"
#include "core/model/conventions/json_tree.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/strict_json.h"
#include "core/model/tensor_name.h"
#include "core/model/zarr/values.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDeep = 8;
constexpr std::size_t kMostEntries = 200'000, kMostFiles = 6'000, kMostLooked = 65'536;

constexpr std::size_t kLongestPointer = 1024; ///< of Git LFS: others are not looked into before they are read

std::string shown(const std::string& path) { return escapeForPeople(path, 200); }

class Opening {
public:
    explicit Opening(const std::string& path) : model(newModel(path, "zarr")), folder_(model->path) {}
    std::shared_ptr<Model> model;

    Result<void> open() {
        if (auto walked = walk({}, 0); !walked) return walked;
        for (const auto& [reason, unread] : unread_)
            model->warnings.push_back(
                unread.count == 1 ? fmt::format("{}: {} is not read: {}.", shown(model->path), unread.first, reason)
                                  : fmt::format("{}: {} arrays are not read: of the first, {}, {}.", shown(model->path),
                                                unread.count, unread.first, reason));
        if (hasOcdbt_ && model->tensors.empty())
            return fail(
                fmt::format("{} is an Orbax checkpoint in OCDBT files (manifest.ocdbt), which this version does not "
                            "open; saved with use_ocdbt=False, as plain zarr folders, it opens.",
                            shown(model->path)),
                model->path);
        if (model->tensors.empty())
            return fail(model->warnings.empty() ? fmt::format("{} holds no zarr array.", shown(model->path))
                                                : model->warnings.front(),
                        model->path);
        if (hasOcdbt_)
            model->warnings.push_back(
                fmt::format("{} also holds OCDBT files, which this version does not open.", shown(model->path)));
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

    /// A folder below the model's, by its path from there. Links to folders are not followed.
    Result<void> walk(const fs::path& below, int depth) {
        const fs::path folder = fs::path(model->path) / below;
        std::vector<std::string> folders;
        bool hasSecond = false, hasThird = false;
        std::error_code failed;
        for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
            if (++entries_ > kMostEntries)
                return fail(fmt::format("{} holds more than {} files and folders.", shown(model->path), kMostEntries),
                            model->path);
            const std::string name = it->path().filename().string();
            std::error_code ignored;
            hasSecond |= name == ".zarray";
            hasThird |= name == "zarr.json";
            hasOcdbt_ |= name == "manifest.ocdbt";
            if (it->symlink_status(ignored).type() == fs::file_type::directory) folders.push_back(name);
        }
        if (failed) return fail(fmt::format("{} cannot be listed: {}.", shown(folder.string()), failed.message()));
        if (hasSecond || hasThird) {
            auto isArray = array(below, hasSecond ? ".zarray" : "zarr.json", hasSecond ? 2 : 3);
            if (!isArray) return tl::unexpected(isArray.error());
            if (*isArray) return {};
        }
        std::sort(folders.begin(), folders.end(), naturalLess);
        for (const auto& name : folders) {
            if (depth == kMostDeep)
                return fail(fmt::format("{} is more than {} folders deep.", shown(model->path), kMostDeep));
            if (auto walked = walk(below / name, depth + 1); !walked) return walked;
        }
        return {};
    }

    /// False: a group.
    Result<bool> array(const fs::path& below, const char* about, int version) {
        const std::string name = below.empty() ? fs::path(model->path).filename().string() : below.string();
        auto file = folder_.open((below / about).string());
        if (!file) return tl::unexpected(file.error());
        if (!*file) return leave(name, "its description is a link to nothing"), true;
        if ((*file)->size() > kMostJson) return leave(name, fmt::format("its {} is longer than 4 MiB", about)), true;
        std::string text((*file)->size(), '\0');
        (*file)->readInto(0, std::as_writable_bytes(std::span(text)));
        if (version == 3 && zarr::isGroup(text)) return false;
        if (invalidUtf8(name) != std::string::npos) return leave(name, "its name is not text"), true;
        auto parsed = zarr::parseArray(text, version);
        if (!parsed) return leave(name, parsed.error().message), true;
        if (auto added = add(name, below, *parsed, *file); !added) return tl::unexpected(added.error());
        return true;
    }

    Result<void> add(const std::string& name, const fs::path& below, const zarr::Array& array,
                     const std::shared_ptr<MappedFile>& about) {
        const std::uint64_t count = array.elements == 0 ? 0 : array.fileCount();
        if (looked_ + count > kMostLooked)
            return leave(name,
                         fmt::format("its chunks are in more files than the {} that are looked for", kMostLooked)),
                   Result<void>();
        looked_ += std::size_t(count);
        std::vector<std::shared_ptr<MappedFile>> files{std::size_t(count)};
        std::uint64_t stored = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            auto file = folder_.open((below / array.fileName(i)).string());
            if (!file) return leave(name, file.error().message), Result<void>();
            if (!*file) continue;
            if (model->files.size() + i >= kMostFiles) return tooManyFiles();
            if (auto why = wrongFile(array, **file); !why.empty())
                return leave(name, fmt::format("of {} {}", quotedName(array.fileName(i)), why)), Result<void>();
            stored += (*file)->size();
            files[std::size_t(i)] = std::move(*file);
        }
        TensorInfo info;
        info.name = name;
        info.dtype = array.dtype;
        info.shape = array.shape;
        info.elements = array.elements;
        info.bytes = array.elements * array.elementBytes();
        if (info.bytes > std::uint64_t(4) << 30 && info.bytes / 1000 > stored)
            return leave(name, fmt::format("it declares {} bytes, and its chunks have {}", info.bytes, stored)),
                   Result<void>();
        const bool isWhole = count == 1 && files[0] && array.file == array.shape && !array.isShard &&
                             array.chain.compressor == zarr::Compressor::None && !array.chain.hasCrc32c &&
                             !array.chain.isFortran && (!array.chain.isBigEndian || array.elementBytes() == 1);
        info.file = std::uint32_t(model->files.size());
        for (const auto& file : files)
            if (file) model->files.push_back({file->path(), file->size(), file, {}});
        if (info.file == model->files.size() && info.file >= kMostFiles) return tooManyFiles();
        if (info.file == model->files.size()) model->files.push_back({about->path(), about->size(), about, {}});
        if (!isWhole) info.derived = std::make_shared<const zarr::Values>(array, std::move(files));
        model->tensors.push_back(std::move(info));
        return {};
    }

    Result<void> tooManyFiles() const {
        return fail(fmt::format("{} has more than {} files of chunks; this version opens checkpoints of fewer and "
                                "larger ones.",
                                shown(model->path), kMostFiles),
                    model->path);
    }

    /// What cannot be of a file of chunks, before any is decoded.
    static std::string wrongFile(const zarr::Array& array, const MappedFile& file) {
        if (file.size() <= kLongestPointer) {
            std::vector<std::byte> head(file.size());
            file.readInto(0, head);
            if (auto is = placeholder(head); !is.empty()) return "it " + is;
        }
        if (array.isShard) {
            const auto checked = zarr::checkIndex(array, file);
            return checked ? std::string() : checked.error().message;
        }
        const std::uint64_t bytes = array.chunkElements() * array.elementBytes();
        if (array.chain.compressor == zarr::Compressor::None) {
            const std::uint64_t wants = bytes + (array.chain.hasCrc32c ? 4 : 0);
            if (file.size() != wants) return fmt::format("it has {} bytes where {} are needed", file.size(), wants);
        } else if (file.size() > 2 * bytes + 65'536)
            return fmt::format("it has {} bytes where {} were compressed", file.size(), bytes);
        return {};
    }

    ConfinedFolder folder_;
    std::size_t entries_ = 0, looked_ = 0;
    bool hasOcdbt_ = false;
    std::map<std::string, Unread> unread_;
};

} // namespace

bool looksLikeZarr(std::string_view names) {
    while (!names.empty()) {
        const auto name = names.substr(0, names.find('\n'));
        for (const char* known :
             {".zarray", ".zgroup", ".zmetadata", "zarr.json", "_METADATA", "_CHECKPOINT_METADATA", "manifest.ocdbt"})
            if (name == known) return true;
        names.remove_prefix(std::min(names.size(), name.size() + 1));
    }
    return false;
}

Result<std::shared_ptr<Model>> openZarr(const std::string& path) {
    Opening opening(path);
    if (auto opened = opening.open(); !opened) return tl::unexpected(opened.error());
    return std::move(opening.model);
}

} // namespace qs
