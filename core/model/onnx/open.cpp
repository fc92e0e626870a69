// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/mapped_file.h"
#include "core/model/onnx/onnx.h"
#include "core/model/onnx/quantized.h"
#include "core/model/output/confined_folder.h"
#include "core/model/unread.h"

#include <fmt/format.h>
#include <map>
#include <optional>

namespace qs {
namespace {

ReadBytes reading(std::shared_ptr<MappedFile> file) {
    return [file = std::move(file)](std::uint64_t at, std::span<std::byte> into) { file->readInto(at, into); };
}

class OnnxOpening {
public:
    explicit OnnxOpening(const std::string& path) : model(newModel(path, "onnx")), folder_(folderOf(model->path)) {}
    std::shared_ptr<Model> model;

    Result<void> open(const std::string& path) {
        auto mapping = openWhole(path);
        if (!mapping) return tl::unexpected(mapping.error());
        const auto& file = *mapping;
        auto parsed = onnx::parse(file->size(), reading(file), path);
        if (file->faulted()) return file->unchanged();
        if (!parsed) return tl::unexpected(parsed.error());
        model->files.push_back({file->path(), file->size(), file, std::move(parsed->metadata)});
        for (const auto& unread : parsed->unread)
            model->warnings.push_back(fmt::format("{}: {}.", shownPath(path), unread));
        model->tensors.reserve(parsed->tensors.size());
        outputLast_ = std::move(parsed->outputLast);
        for (; !parsed->tensors.empty(); parsed->tensors.pop_front())
            if (auto added = add(parsed->tensors.front()); !added) return added;
        for (; !parsed->unreadable.empty(); parsed->unreadable.pop_front()) leave(parsed->unreadable.front());
        if (firstUnread_ && unread_.count() == model->tensors.size()) return tl::unexpected(*firstUnread_);
        std::vector<std::string> said;
        unread_.say(said);
        for (const auto& sentence : said) model->warnings.push_back(fmt::format("{}: {}.", shownPath(path), sentence));
        if (missing_ > 0)
            model->warnings.push_back(fmt::format("{}: the files of {} tensors are missing; the first, {}, is in {}.",
                                                  shownPath(path), missing_, firstMissing_, firstLocation_));
        nameApart(*model);
        onnx::addQuantizedLayers(*model, parsed->dequantized, parsed->packed, parsed->scales);
        return {};
    }

private:
    static std::string folderOf(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

    Result<void> add(onnx::Tensor& tensor) {
        const auto wrong = [&](const std::string& what) { return wrongTensor(tensor.name, what, tensor.at); };
        std::uint32_t file = 0;
        std::uint64_t offset = tensor.offset.value_or(0);
        if (const auto& outside = tensor.external) {
            const auto number = fileOf(outside->location);
            if (!number) return wrong(number.error().message);
            if (*number < 0) {
                if (missing_++ == 0)
                    firstMissing_ = quotedName(tensor.name), firstLocation_ = quotedName(outside->location);
                if (model->missing.tensors++ == 0) model->missing.first = tensor.name;
                return {};
            }
            file = std::uint32_t(*number);
            offset = outside->offset;
            const std::uint64_t size = model->files[file].size;
            if (offset > size || tensor.rawBytes() > size - offset) {
                leave({std::move(tensor.name),
                       fmt::format("its {} bytes from byte {} on end after {}, which has {}", tensor.rawBytes(), offset,
                                   quotedName(outside->location), size),
                       std::move(tensor.shape), tensor.at});
                return {};
            }
        }
        TensorInfo info;
        info.dtype = tensor.type->dtype;
        info.elements = tensor.elements;
        info.bytes = tensor.elements * std::uint64_t(qs::info(info.dtype).bits) / 8;
        info.file = file;
        if (tensor.values || tensor.type->bits < 8) {
            const auto& mapping = model->files[file].mapping;
            info.derived = std::make_shared<OnnxValues>(reading(mapping), mapping, tensor, offset);
        } else
            info.offset = offset;
        info.name = std::move(tensor.name);
        info.shape = std::move(tensor.shape);
        info.outputLast = info.shape.size() >= 2 && outputLast_.contains(info.name);
        model->tensors.push_back(std::move(info));
        return {};
    }

    tl::unexpected<Error> wrongTensor(const std::string& name, const std::string& what, std::uint64_t at) const {
        return fail(fmt::format("{}: tensor {}: {} (byte {} of an ONNX model).", shownPath(model->path),
                                quotedName(name), what, at),
                    model->path, static_cast<long long>(at));
    }

    /// Lists a tensor that cannot be read.
    void leave(onnx::Unreadable tensor) {
        TensorInfo info;
        info.name = std::move(tensor.name);
        info.shape = std::move(tensor.shape);
        markUnread(info);
        if (!firstUnread_) firstUnread_ = wrongTensor(info.name, tensor.why, tensor.at).value();
        unread_.add(info.name, std::move(tensor.why));
        model->tensors.push_back(std::move(info));
    }

    /// Opens an external file once and returns its index in Model::files, or -1 if it does not exist. The error is the
    /// end of a sentence.
    Result<int> fileOf(const std::string& location) {
        if (const auto known = files_.find(location); known != files_.end()) return known->second;
        auto opened = folder_.open(location);
        if (!opened) {
            auto message = opened.error().message;
            if (message.ends_with('.')) message.pop_back();
            return fail(std::move(message));
        }
        if (!*opened) {
            model->missing.files.push_back(location);
            return files_[location] = -1;
        }
        std::vector<std::byte> head(std::min<std::size_t>((*opened)->size(), 64));
        (*opened)->readInto(0, head);
        if (const auto is = placeholder(head); !is.empty()) return fail(fmt::format("{} {}", quotedName(location), is));
        files_[location] = int(model->files.size());
        model->files.push_back({(*opened)->path(), (*opened)->size(), *opened, {}});
        return files_[location];
    }

    ConfinedFolder folder_;
    std::set<std::string> outputLast_;
    std::map<std::string, int> files_;
    std::size_t missing_ = 0;
    UnreadTensors unread_;
    std::optional<Error> firstUnread_;
    std::string firstMissing_, firstLocation_;
};

} // namespace

Result<std::shared_ptr<Model>> openOnnx(const std::string& path) {
    OnnxOpening opening(path);
    if (auto opened = opening.open(path); !opened) return tl::unexpected(opened.error());
    return std::move(opening.model);
}

} // namespace qs
