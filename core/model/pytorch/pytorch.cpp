// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pytorch.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/pytorch/pytorch_legacy.h"
#include "core/model/pytorch/pytorch_state.h"
#include "core/model/strided_tensor.h"
#include "core/model/unread.h"
#include "core/model/zip/zip.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

// Bytes; longest pickle in a ZIP archive.
constexpr std::uint64_t kMostPickle = std::uint64_t(256) << 20;

std::string_view memberText(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Loader {
public:
    Loader(Model& model, std::shared_ptr<MappedFile> file)
        : model_(model), file_(std::move(file)), path_(file_->path()), shown_(shownPath(path_)),
          stem_(std::filesystem::path(path_).stem().string()), number_(std::uint32_t(model.files.size())),
          before_(model.tensors.size()) {}

    Result<void> addZip() {
        auto archive = ZipArchive::open(file_);
        if (!archive) return tl::unexpected(archive.error());
        const auto* pickle = rootPickle(*archive);
        if (!pickle)
            return wrong(archive->find("model.json") || hasModelJson(*archive)
                             ? "it is TorchScript of before PyTorch 1.4, which keeps no data.pkl; load it with "
                               "torch.jit.load and "
                               "save it anew"
                             : "it is a ZIP archive without one FOLDER/data.pkl, so no PyTorch checkpoint");
        const std::string root = pickle->name.substr(0, pickle->name.find('/') + 1);
        if (const auto* order = archive->find(root + "byteorder")) {
            const auto text = archive->contents(*order, 16);
            if (!text) return tl::unexpected(text.error());
            if (memberText(*text) != "little")
                return wrong(fmt::format("its numbers are {}-endian; only little-endian ones are read",
                                         escapeForPeople(memberText(*text), 16)));
        }
        auto stored = archive->checkStored();
        if (!stored) return tl::unexpected(stored.error());
        damaged_ = std::move(stored->damaged);
        if (auto added = addState(*archive, *pickle, root + "data/", ""); !added) return added;
        if (const auto* constants = archive->find(root + "constants.pkl"))
            if (auto added = addState(*archive, *constants, root + "constants/", "constants"); !added) return added;
        if (auto done = finish(); !done) return done;
        if (stored->left > 0) model_.warnings.push_back(uncheckedText(path_, stored->left));
        return {};
    }

    Result<void> addLegacy() {
        auto read = readTorchLegacy(*file_, stem_, model_);
        if (file_->faulted())
            if (auto same = file_->unchanged(); !same) return same;
        if (!read) return wrong(read.error().message);
        for (auto& left = read->state.tensors; !left.empty(); left.pop_front()) {
            auto& tensor = left.front();
            if (!tensor.unread.empty()) {
                leave(tensor);
                continue;
            }
            const auto& storage = read->state.storages.find(tensor.storage)->second;
            const Place place{file_, read->places.find(tensor.storage)->second, storage.bytes, false};
            if (auto added = add(tensor, place); !added) return added;
        }
        metadata_.merge(read->state.metadata);
        note(read->state.notes);
        return finish();
    }

private:
    /// Where a storage is: `bytes` bytes at `begin` of a file, or of memory that was inflated from it.
    struct Place {
        std::shared_ptr<MappedFile> file;
        std::uint64_t begin = 0, bytes = 0;
        bool isMemory = false;
        std::string unread = {}; ///< why its bytes cannot be read, as the end of a sentence; "" if they can be
    };

    tl::unexpected<Error> wrong(std::string_view what) const {
        return fail(fmt::format("{}: {}.", shown_, what), path_);
    }

    static bool isIn(std::string_view name, std::string_view file) {
        return name.size() > file.size() && name.ends_with(file) && name.find('/') == name.size() - file.size();
    }
    static const ZipMember* rootPickle(const ZipArchive& archive) {
        const ZipMember* found = nullptr;
        for (const auto& member : archive.members())
            if (isIn(member.name, "/data.pkl")) {
                if (found) return nullptr;
                found = &member;
            }
        return found;
    }
    static bool hasModelJson(const ZipArchive& archive) {
        return std::any_of(archive.members().begin(), archive.members().end(),
                           [](const ZipMember& member) { return isIn(member.name, "/model.json"); });
    }

    Result<void> addState(const ZipArchive& archive, const ZipMember& member, const std::string& folder,
                          const std::string& prefix) {
        const auto bytes = archive.contents(member, kMostPickle);
        if (!bytes) return tl::unexpected(bytes.error());
        PickleLimits limits;
        limits.memory = torchPickleMemory(bytes->size());
        const auto pickle = Pickle::read(*bytes, limits);
        if (!pickle) return archive.wrong(member, "is no pickle that can be read: " + pickle.error().message);
        if (pickle->length() != bytes->size()) return archive.wrong(member, "goes on after its pickle");
        ListBudget budget(model_, file_->size() + (member.isDeflated ? bytes->size() : 0),
                          bytes->size() + pickle->memory() + archive.memory());
        auto state = readTorchState(*pickle, stem_, prefix, &budget);
        if (!state) return archive.wrong(member, "is no pickle of tensors: " + state.error().message);

        std::map<std::string, Place, std::less<>> places;
        std::vector<const ZipMember*> packed;
        std::vector<std::string> packedKeys;
        for (const auto& [key, storage] : state->storages) {
            const auto* data = archive.find(folder + key);
            if (!data) {
                places[key].unread =
                    fmt::format("its storage {} is missing (member {})", quotedName(key), quotedName(folder + key));
                continue;
            }
            if (data->bytes != storage.bytes) {
                places[key].unread = fmt::format("its storage, member {}, has {} bytes, where the pickle says {}",
                                                 quotedName(data->name), data->bytes, storage.bytes);
                continue;
            }
            places[key] = {file_, data->offset, storage.bytes, false};
            if (damaged_.contains(data)) places[key].unread = damagedText(*data);
            if (!data->isDeflated) continue;
            packed.push_back(data);
            packedKeys.push_back(key);
        }
        if (!packed.empty()) {
            const auto inflated = archive.inflate(packed);
            if (!inflated) return tl::unexpected(inflated.error());
            for (std::size_t i = 0; i < packed.size(); ++i) {
                places[packedKeys[i]] = {inflated->memory, inflated->offsets[i], packed[i]->bytes, true};
                if (inflated->damaged.contains(packed[i])) places[packedKeys[i]].unread = damagedText(*packed[i]);
            }
        }
        for (; !state->tensors.empty(); state->tensors.pop_front()) {
            TorchTensor& tensor = state->tensors.front();
            const Place place = tensor.unread.empty() ? places[tensor.storage] : Place();
            if (tensor.unread.empty()) tensor.unread = place.unread;
            if (!tensor.unread.empty())
                leave(tensor);
            else if (auto added = add(tensor, place); !added)
                return added;
        }
        metadata_.merge(state->metadata);
        note(state->notes);
        return {};
    }

    static std::string damagedText(const ZipMember& member) {
        return fmt::format("its storage, member {}, is damaged: its checksum (CRC-32) differs, or it does not inflate",
                           quotedName(member.name));
    }

    /// Lists a tensor that cannot be read.
    void leave(TorchTensor& torch) {
        TensorInfo tensor;
        tensor.name = std::move(torch.name);
        tensor.file = number_;
        markUnread(tensor);
        if (unread_.count() == 0) firstUnread_ = fmt::format("tensor {}: {}", quotedName(tensor.name), torch.unread);
        unread_.add(tensor.name, std::move(torch.unread));
        model_.tensors.push_back(std::move(tensor));
    }

    Result<void> add(TorchTensor& torch, const Place& place) {
        StridedLayout layout{torch.dtype, torch.shape, torch.strides, 0};
        const auto extent = layout.extent();
        if (!extent) return wrong(fmt::format("tensor {}: {}", quotedName(torch.name), extent.error().message));
        const auto item = std::uint64_t(info(torch.dtype).bits) / 8;
        std::uint64_t begin = 0;
        if (__builtin_mul_overflow(torch.offset, item, &begin) ||
            (*extent > 0 && (begin > place.bytes || *extent > place.bytes - begin))) {
            torch.unread =
                fmt::format("its {} does not fit into its storage of {} bytes", shapeText(layout.shape), place.bytes);
            leave(torch);
            return {};
        }
        layout.offset = place.begin + (*extent > 0 ? begin : 0);
        TensorInfo tensor;
        tensor.name = std::move(torch.name);
        tensor.file = number_;
        if (auto placed = placeStrided(tensor, place.file, std::move(layout), place.isMemory); !placed)
            return wrong(fmt::format("tensor {}: {}", quotedName(tensor.name), placed.error().message));
        model_.tensors.push_back(std::move(tensor));
        return {};
    }

    void note(const std::vector<std::string>& notes) {
        for (const auto& text : notes) model_.warnings.push_back(fmt::format("{}: {}.", shown_, text));
    }
    Result<void> finish() {
        if (unread_.count() > 0 && unread_.count() == model_.tensors.size() - before_) return wrong(firstUnread_);
        std::vector<std::string> said;
        unread_.say(said);
        note(said);
        model_.files.push_back({path_, file_->size(), file_, std::move(metadata_)});
        return {};
    }

    Model& model_;
    const std::shared_ptr<MappedFile> file_;
    const std::string path_, shown_, stem_;
    const std::uint32_t number_;
    const std::size_t before_; ///< tensors that the model had from other files
    ZipArchive::Damaged damaged_;
    UnreadTensors unread_;
    std::string firstUnread_;
    std::map<std::string, std::string> metadata_;
};

} // namespace

bool looksLikePytorch(std::span<const std::byte> head) {
    const auto text = memberText(head);
    if (text.starts_with("PK\3\4") && text.size() > 30) {
        const std::size_t length = std::size_t(head[26]) | std::size_t(head[27]) << 8;
        const auto name = text.substr(30, length);
        const auto slash = name.find('/');
        if (slash == name.npos) return false;
        const auto rest = name.substr(slash + 1);
        for (const std::string_view known : {"data.pkl", "version", "byteorder", "constants.pkl", ".format_version",
                                             ".storage_alignment", "model.json"})
            if (rest == known) return true;
        return rest.starts_with("data/") || rest.starts_with("code/") || rest.starts_with("constants/") ||
               rest.starts_with(".data/");
    }
    return isTorchLegacy(head);
}

Result<void> addPytorch(Model& model, const std::string& path, Result<std::shared_ptr<MappedFile>> opened) {
    if (!opened) return tl::unexpected(opened.error());
    const MappedFile& file = **opened;
    const auto refused = [&](std::string_view is) { return fail(fmt::format("{} {}.", shownPath(path), is), path, 0); };
    if (const auto is = notWhole(file.size(), path); !is.empty()) return refused(is);
    std::vector<std::byte> head(std::min<std::size_t>(file.size(), 4096));
    file.readInto(0, head);
    Loader loader(model, *opened);
    if (memberText(head).starts_with("PK\3\4")) return loader.addZip();
    if (isTorchLegacy(head)) return loader.addLegacy();
    const auto is = foreignFile(head);
    return refused(is.empty() ? "is no PyTorch checkpoint" : is);
}

Result<std::shared_ptr<Model>> openPytorch(const std::string& path) {
    auto model = newModel(path, "pytorch");
    if (auto added = addPytorch(*model, path, MappedFile::open(path)); !added) return tl::unexpected(added.error());
    sortByName(*model);
    dropDuplicates(*model);
    return model;
}

} // namespace qs
