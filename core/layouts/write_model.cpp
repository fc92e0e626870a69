// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/write_model.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/layouts/certificate_path.h"
#include "core/layouts/copy_folder.h"
#include "core/layouts/slabs.h"
#include "core/layouts/stored.h"
#include "core/model/conventions/convention.h"
#include "core/model/derived_tensor.h"
#include "core/model/gguf/gguf_write.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/model/output/atomic_file.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

namespace qs {
namespace {

namespace fs = std::filesystem;
/// Keys, or what keys begin with, that say how a file stores its tensors.
constexpr std::string_view kAboutStorage[] = {
    kConfigKey, "general.alignment", "general.file_type", "general.quantization_version", kGgufMark, "quantize.",
    "split."};
constexpr std::size_t kCopyPiece = std::size_t(4) << 20;

/// Where a tensor is in a list of shards.
struct PlaceInShards {
    std::size_t shard, tensor;
};
/// Passes the tensors of all shards to `take`, by name. In each shard they are sorted by name.
Result<void> eachByName(const std::vector<OutputShard>& shards,
                        const std::function<Result<void>(const PlaceInShards&)>& take) {
    const auto after = [&](const PlaceInShards& a, const PlaceInShards& b) {
        return shards[a.shard].tensors.compareNames(a.tensor, shards[b.shard].tensors, b.tensor) > 0;
    };
    std::priority_queue<PlaceInShards, std::vector<PlaceInShards>, decltype(after)> next(after);
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (!shards[i].tensors.empty()) next.push({i, 0});
    while (!next.empty()) {
        const PlaceInShards first = next.top();
        next.pop();
        if (auto done = take(first); !done) return done;
        if (first.tensor + 1 < shards[first.shard].tensors.size()) next.push({first.shard, first.tensor + 1});
    }
    return {};
}

Result<void> noCollision(const std::vector<OutputShard>& shards) {
    std::optional<PlaceInShards> last;
    return eachByName(shards, [&](const PlaceInShards& one) -> Result<void> {
        const TensorsToWrite& tensors = shards[one.shard].tensors;
        const bool isTwice = last && shards[last->shard].tensors.compareNames(last->tensor, tensors, one.tensor) == 0;
        last = one;
        if (!isTwice) return {};
        return fail(
            fmt::format("two output tensors would both be called '{}': rename the one in the input or leave it out",
                        escapeForPeople(tensors.nameOf(one.tensor))));
    });
}

/// The name of the source's index, or the one that transformers looks for; "" if one file needs no index.
std::string indexName(const Model& model) {
    std::string found;
    std::error_code failed;
    const fs::path folder = model.folder.empty() && !model.files.empty()
                                ? fs::path(model.files.front().path).parent_path()
                                : fs::path(model.folder);
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string name = it->path().filename().string();
        if (!name.ends_with(".bin.index.json") && isIndexName(name) &&
            (found.empty() || name == "model.safetensors.index.json" ||
             (found != "model.safetensors.index.json" && name < found)))
            found = name;
    }
    // One file needs no index, unless its folder had one: loaders may not find the file by its name.
    if (model.files.size() < 2 && (model.folder.empty() || found.empty())) return {};
    return found.empty() ? "model.safetensors.index.json" : found;
}

/// Passes the JSON of the index to `take` in pieces of about 1 MiB: it may have a million names.
Result<void> eachIndexPiece(const std::vector<OutputShard>& shards,
                            const std::function<Result<void>(const std::string&)>& take) {
    constexpr std::size_t most = std::size_t(1) << 20;
    std::uint64_t total = 0;
    for (const auto& shard : shards) total += shard.tensors.bytes();
    const auto quoted = [](std::string_view text) { return nlohmann::json(text).dump(); };
    std::string text =
        fmt::format("{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{", total);
    bool isFirst = true;
    const auto all = eachByName(shards, [&](const PlaceInShards& one) -> Result<void> {
        const OutputShard& shard = shards[one.shard];
        text += fmt::format("{}\n    {}: {}", std::exchange(isFirst, false) ? "" : ",",
                            quoted(shard.tensors.nameOf(one.tensor)), quoted(shard.fileName));
        if (text.size() < most) return {};
        auto done = take(text);
        text.clear();
        return done;
    });
    if (!all) return all;
    text += isFirst ? "}\n}\n" : "\n  }\n}\n";
    return take(text);
}

Result<void> checkIndex(const std::vector<OutputShard>& shards, const std::string& output) {
    std::size_t length = 0;
    return eachIndexPiece(shards, [&](const std::string& piece) -> Result<void> {
        if ((length += piece.size()) <= kMostIndexBytes) return {};
        return fail(fmt::format("{}: an index of more than {} bytes would not open again. Quantize fewer tensors, or "
                                "choose a layout with fewer fields per tensor, such as plain.",
                                shownPath(output), kMostIndexBytes),
                    output);
    });
}

Result<void> writeIndex(const std::string& path, const std::vector<OutputShard>& shards) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    auto written = eachIndexPiece(shards, [&](const std::string& piece) { return file->write(piece); });
    return written ? file->commit() : written;
}

/// The paths of the staged files of all shards; none if the folder is not to be written now.
Result<std::vector<std::string>> stageAll(const Model& model, const std::vector<OutputShard>& shards,
                                          const Finish& finish, const Job& job) {
    std::vector<FileToStage> files;
    for (const OutputShard& shard : shards)
        files.push_back({shard.fileName, shard.tensors.bytes(), [&](const std::string& path) -> Result<void> {
                             const auto bytes = writeSafetensors(path, shard.tensors, shard.metadata, &model, job);
                             return bytes ? Result<void>() : tl::unexpected(bytes.error());
                         }});
    return finish.stage(files);
}

/// Gives a staged file its name in the folder. Returns its size in bytes.
Result<std::uint64_t> takeStaged(const std::string& staged, const fs::path& to) {
    std::error_code failed;
    fs::create_hard_link(staged, to, failed);
    if (failed) failed.clear(), fs::copy_file(staged, to, failed); // another file system
    const auto bytes = failed ? 0 : fs::file_size(to, failed);
    if (failed) return fail(fmt::format("{} cannot be taken over: {}.", shownPath(staged), failed.message()), staged);
    return std::uint64_t(bytes);
}

/// A truncated source reads as zeros.
Result<void> sourcesUnchanged(const Model& model) {
    for (const auto& source : model.files)
        if (source.mapping)
            if (auto same = source.mapping->unchanged(); !same) return same;
    return {};
}

Result<WrittenFiles> writeFolder(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                 const Job& job, const Finish& finish) {
    // First, because hours of work may follow: an error here must come before them.
    const std::string index = indexName(model);
    if (!index.empty())
        if (auto fits = checkIndex(shards, output); !fits) return tl::unexpected(fits.error());
    const bool configures = !finish.config.empty();
    nlohmann::ordered_json config;
    if (configures) {
        auto source = sourceConfig(model);
        if (!source) return tl::unexpected(source.error());
        config = std::move(*source);
        config.update(nlohmann::ordered_json::parse(finish.config));
    }
    WrittenFiles written;
    std::vector<std::string> staged;
    if (finish.stage) {
        auto all = stageAll(model, shards, finish, job);
        if (!all) return tl::unexpected(all.error());
        staged = std::move(*all);
        written.isWhole = !staged.empty();
        if (!written.isWhole) return written;
    }
    auto folder = AtomicFolder::create(output, &model);
    if (!folder) return tl::unexpected(folder.error());
    const fs::path partial = folder->partialPath();
    if (!index.empty()) // while the names are there
        if (auto done = writeIndex((partial / index).string(), shards); !done) return tl::unexpected(done.error());
    for (std::size_t i = 0; i < shards.size(); ++i) {
        OutputShard& shard = shards[i];
        const auto bytes = staged.empty()
                               ? writeSafetensors((partial / shard.fileName).string(), std::move(shard.tensors),
                                                  std::move(shard.metadata), nullptr, job)
                               : takeStaged(staged[i], partial / shard.fileName);
        if (!bytes) return tl::unexpected(bytes.error());
        written.bytes += *bytes;
        written.paths.push_back((fs::path(output) / shard.fileName).string());
    }
    // Once for all shards: looking at every source after each of them would take the square of their number.
    if (auto same = sourcesUnchanged(model); !same) return tl::unexpected(same.error());
    if (!index.empty()) written.paths.push_back((fs::path(output) / index).string());
    if (!model.folder.empty()) {
        const auto copied = copyUntouched(model, partial, output, {configures, finish.copyAll}, written.leftOut, job);
        if (!copied) return tl::unexpected(copied.error());
        if (contains(*copied, kModelCard))
            written.remarks.push_back(
                fmt::format("{} is the model card of the original: say in it what these weights are.", kModelCard));
        for (const auto& name : *copied) written.paths.push_back((fs::path(output) / name).string());
    }
    if (configures) {
        if (auto ok = writeWholeFile((partial / "config.json").string(), config.dump(2) + "\n"); !ok)
            return tl::unexpected(ok.error());
        written.paths.push_back((fs::path(output) / "config.json").string());
    }
    if (finish.prove)
        if (auto good = finish.prove(partial.string(), written.leftOut); !good) return tl::unexpected(good.error());
    if (job.cancelled()) return cancelledError();
    if (auto committed = folder->commit(); !committed) return tl::unexpected(committed.error());
    return written;
}

} // namespace

Result<void> writeValues(const TensorView& view, DType dtype, const TensorToWrite::Sink& sink) {
    std::vector<float> values(std::min<std::uint64_t>(view.info->elements, kCopyPiece / sizeof(float)));
    std::vector<std::byte> bytes(values.size() * std::size_t(info(dtype).bits) / 8);
    for (std::uint64_t at = 0; at < view.info->elements; at += values.size()) {
        const auto n = std::size_t(std::min<std::uint64_t>(values.size(), view.info->elements - at));
        loadF32(view, at, n, values.data());
        appendAs(dtype, values.data(), n, bytes.data());
        if (auto written = sink(std::span(bytes).first(n * std::size_t(info(dtype).bits) / 8)); !written)
            return written;
    }
    return {};
}

Naming Finish::naming(const std::string& output) const {
    Naming naming;
    if (prove) naming.check = [this](const std::string& path) { return prove(path, {}); };
    naming.before = before ? before : [output] { return removeCertificate(output); };
    naming.after = after;
    return naming;
}

std::map<std::string, std::string> metadataToCopy(const ModelFile& file) {
    auto out = file.metadata;
    out.erase(kDecodedMark);
    std::erase_if(out, [](const auto& entry) {
        return std::ranges::any_of(kAboutStorage, [&](std::string_view key) {
            return key.ends_with('.') ? entry.first.starts_with(key) : entry.first == key;
        });
    });
    return out;
}

std::unique_ptr<const Model> readableOf(const Model& model) {
    if (std::ranges::none_of(model.tensors, &TensorInfo::isUnread)) return nullptr;
    auto readable = std::make_unique<Model>(model);
    std::erase_if(readable->tensors, [](const TensorInfo& tensor) { return tensor.isUnread(); });
    return readable;
}

std::string shardName(const ModelFile& file) {
    std::string name = std::filesystem::path(file.path).filename().replace_extension(".safetensors").string();
    if (name.starts_with("pytorch_model") && file.path.ends_with(".bin")) name.erase(0, 8); // where loaders look
    return name;
}

void forgetDecoded(const Model& model, std::map<std::string, std::string>& metadata) {
    const auto removed = std::erase_if(metadata, [&](const auto& entry) {
        const TensorInfo* tensor = model.find(entry.first);
        return tensor && tensor->derived;
    });
    if (removed > 0) metadata.erase("tensor_names"); // torchao's list of them
}

Result<TensorToWrite> copyOf(const Model& model, const TensorInfo& tensor) {
    auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    if (tensor.packed && !tensor.packed->decode)
        return fail(fmt::format("tensor '{}' is {}, which this program lists but does not decode: it cannot be "
                                "written to safetensors",
                                escapeForPeople(tensor.name), tensor.typeId()));
    if (tensor.packed) // the output format has no name for the type of the blocks
        return TensorToWrite{tensor.name, tensor.dtype, tensor.shape, [view = *view](const TensorToWrite::Sink& sink) {
                                 return writeValues(view, DType::F32, sink);
                             }};
    return bytewiseCopyOf(model, tensor);
}

Result<TensorToWrite> bytewiseCopyOf(const Model& model, const TensorInfo& tensor) {
    if (tensor.packed && tensor.packed->bytes == 0)
        return fail(fmt::format("tensor '{}' is {}, which this program does not know: it cannot be copied",
                                escapeForPeople(tensor.name, 160), tensor.typeId()));
    auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    return TensorToWrite{tensor.name, tensor.dtype, tensor.shape,
                         [view = *view](const TensorToWrite::Sink& sink) -> Result<void> {
                             std::vector<std::byte> scratch;
                             for (std::size_t at = 0; at < view.info->bytes; at += kCopyPiece) {
                                 const auto piece =
                                     view.read(at, std::min<std::size_t>(kCopyPiece, view.info->bytes - at), scratch);
                                 if (auto written = sink(piece); !written) return written;
                                 if (view.file) view.file->dropPages(view.info->offset + at, piece.size());
                             }
                             // What could not be decoded was read as zeros.
                             return view.info->derived ? view.info->derived->unchanged() : Result<void>();
                         },
                         tensor.packed};
}

Result<WrittenFiles> writeModel(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                const Job& job, const Finish& finish) {
    for (OutputShard& shard : shards) shard.tensors.sortByName();
    if (auto ok = noCollision(shards); !ok) return tl::unexpected(ok.error());
    if (!output.ends_with(".safetensors")) return writeFolder(model, std::move(shards), output, job, finish);
    OutputShard all = inOne(std::move(shards));
    const auto bytes =
        writeSafetensors(output, std::move(all.tensors), std::move(all.metadata), &model, job, finish.naming(output));
    if (!bytes) return tl::unexpected(bytes.error());
    return WrittenFiles{{output}, *bytes, 0, 0};
}

OutputShard inOne(std::vector<OutputShard> shards) {
    OutputShard all;
    for (OutputShard& shard : shards) {
        all.tensors.append(shard.tensors);
        all.metadata.merge(shard.metadata);
    }
    return all;
}

} // namespace qs
