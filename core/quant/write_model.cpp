// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/write_model.h"

#include "core/base/text.h"
#include "core/model/atomic_file.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/model/packed_type.h"
#include "core/quant/quantizer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

namespace qs {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kCertificate = "certificate.json";
constexpr std::size_t kCopyPiece = std::size_t(4) << 20;

Result<void> noCollision(const std::vector<OutputShard>& shards) {
    std::set<std::string_view> names;
    for (const auto& shard : shards)
        for (const auto& tensor : shard.tensors)
            if (!names.insert(tensor.name).second)
                return fail(fmt::format(
                    "two output tensors would both be called '{}': rename the one in the input or leave it out",
                    escapeForPeople(tensor.name)));
    return {};
}

std::uint64_t dataBytes(const OutputShard& shard) {
    std::uint64_t bytes = 0;
    for (const auto& tensor : shard.tensors) bytes += bytesOf(tensor);
    return bytes;
}

bool isIndex(const std::string& name) {
    return name.ends_with(".json") &&
           (name.find(".safetensors.index.") != std::string::npos || name.ends_with(".bin.index.json"));
}

/// Read, not mapped: nothing here is looked at, and the file may be of any kind and size.
Result<void> copyFile(const std::string& from, const std::string& to, const Job& job) {
    std::ifstream in(from, std::ios::binary);
    const auto cannot = [&] {
        return fail(fmt::format("{} cannot be copied: {}", escapeForPeople(from, 200), std::strerror(errno)), from);
    };
    if (!in) return cannot();
    std::error_code failed;
    const auto mode = fs::status(from, failed).permissions();
    auto out = AtomicFile::create(to);
    if (!out) return tl::unexpected(out.error());
    std::string buffer(kCopyPiece, '\0');
    while (in) {
        if (job.cancelled()) return cancelledError();
        in.read(buffer.data(), std::streamsize(buffer.size()));
        if (in.bad()) return cannot();
        if (auto written = out->write(std::string_view(buffer).substr(0, std::size_t(in.gcount()))); !written)
            return written;
    }
    if (auto committed = out->commit(job); !committed) return committed;
    if (!failed) fs::permissions(to, mode, failed);
    return {};
}

/// config.json without what it says of a quantization that the output no longer has; its other lines in their order.
Result<void> writePlainConfig(const std::string& from, const std::string& to, const Job& job) {
    std::ifstream in(from, std::ios::binary);
    auto config = nlohmann::ordered_json::parse(in, nullptr, false);
    if (!config.is_object()) return copyFile(from, to, job); // nobody reads that one either way
    for (const char* key : {"quantization_config", "compression_config", "quantization"}) config.erase(key);
    return writeWholeFile(to, config.dump(2) + "\n");
}

/// Everything of the source folder that is not a shard, an index or hidden; symbolic links become what they point to.
/// Neither is the output, which may lie in it, nor what other runs are writing there; nor what is said of the source
/// alone: how it is quantized, when the output says that, and the certificate of its bytes.
Result<std::vector<std::string>> copyUntouched(const Model& model, const fs::path& into, const fs::path& output,
                                               bool configures, const Job& job) {
    std::vector<std::string> copied;
    std::error_code failed;
    const bool isDecoded = std::any_of(model.tensors.begin(), model.tensors.end(), [](const TensorInfo& tensor) {
        return tensor.derived && !tensor.derived->fields().empty();
    });
    for (fs::recursive_directory_iterator it(model.folder, failed), end; !failed && it != end; it.increment(failed)) {
        if (job.cancelled()) return cancelledError();
        const std::string name = it->path().filename().string();
        const fs::path relative = it->path().lexically_relative(model.folder);
        std::error_code ignored;
        const bool isOutput = it->is_directory(ignored) && (fs::equivalent(it->path(), output, ignored) ||
                                                            fs::exists(it->path() / kWritingMarker, ignored));
        if (name.starts_with(".") || isOutput) {
            it.disable_recursion_pending();
            continue;
        }
        if (!it->is_regular_file(ignored)) continue;
        const bool top = !relative.has_parent_path();
        if (top && (isIndex(name) || name.ends_with(".safetensors"))) continue;
        if (std::any_of(model.files.begin(), model.files.end(),
                        [&](const ModelFile& file) { return file.path == it->path(); }))
            continue; // of another format: its tensors are in the new files
        if (top && isDecoded && (name == "quantize_config.json" || name == "quant_config.json")) continue;
        if (top && ((configures && name == "config.json") || name == kCertificate)) continue;
        fs::create_directories((into / relative).parent_path(), ignored);
        const auto write = top && isDecoded && name == "config.json" ? writePlainConfig : copyFile;
        if (auto done = write(it->path().string(), (into / relative).string(), job); !done)
            return tl::unexpected(done.error());
        copied.push_back(relative.string());
    }
    if (failed)
        return fail(fmt::format("{} cannot be listed: {}", escapeForPeople(model.folder, 200), failed.message()),
                    model.folder);
    return copied;
}

/// The name of the index in the source, or what transformers looks for; "" when one file needs none.
std::string indexName(const Model& model) {
    std::string found;
    std::error_code failed;
    const fs::path folder = model.folder.empty() && !model.files.empty()
                                ? fs::path(model.files.front().path).parent_path()
                                : fs::path(model.folder);
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string name = it->path().filename().string();
        if (!name.ends_with(".bin.index.json") && isIndex(name) &&
            (found.empty() || name == "model.safetensors.index.json" ||
             (found != "model.safetensors.index.json" && name < found)))
            found = name;
    }
    // One file needs no index, unless its folder had one: its name may be one that loaders do not look for.
    if (model.files.size() < 2 && (model.folder.empty() || found.empty())) return {};
    return found.empty() ? "model.safetensors.index.json" : found;
}

/// config.json of the source with our entries in it, or with nothing else where the source has none.
Result<void> writeConfig(const Model& model, const fs::path& into, const std::string& entries) {
    const fs::path path = fs::path(model.folder) / "config.json";
    nlohmann::ordered_json config = nlohmann::ordered_json::object();
    if (!model.folder.empty() && fs::exists(path)) {
        std::ifstream in(path, std::ios::binary);
        std::string text(std::istreambuf_iterator<char>(in), {});
        config = nlohmann::ordered_json::parse(text, nullptr, false);
        if (!in || !config.is_object())
            return fail(fmt::format("{} is not a JSON object, so that it cannot say how the weights are quantized; "
                                    "nothing was written.",
                                    escapeForPeople(path.string(), 200)),
                        path.string());
    }
    for (const char* key : {"quantization_config", "compression_config", "quantization"}) config.erase(key);
    config.update(nlohmann::ordered_json::parse(entries));
    return writeWholeFile((into / "config.json").string(), config.dump(2) + "\n");
}

Result<WrittenFiles> writeFolder(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                 const Job& job, const Finish& finish) {
    auto folder = AtomicFolder::create(output, &model);
    if (!folder) return tl::unexpected(folder.error());
    const fs::path partial = folder->partialPath();
    WrittenFiles written;
    nlohmann::ordered_json weightMap = nlohmann::ordered_json::object();
    std::map<std::string, std::string> where;
    std::uint64_t total = 0;
    for (auto& shard : shards) {
        total += dataBytes(shard);
        for (const auto& tensor : shard.tensors) where[tensor.name] = shard.fileName;
        const auto bytes = writeSafetensors((partial / shard.fileName).string(), std::move(shard.tensors),
                                            std::move(shard.metadata), &model, job);
        if (!bytes) return tl::unexpected(bytes.error());
        written.bytes += *bytes;
        written.paths.push_back((fs::path(output) / shard.fileName).string());
    }
    if (const std::string name = indexName(model); !name.empty()) {
        for (const auto& [tensor, file] : where) weightMap[tensor] = file;
        nlohmann::ordered_json index;
        index["metadata"]["total_size"] = total;
        index["weight_map"] = std::move(weightMap);
        if (auto ok = writeWholeFile((partial / name).string(), index.dump(2) + "\n"); !ok)
            return tl::unexpected(ok.error());
        written.paths.push_back((fs::path(output) / name).string());
    }
    const bool configures = !finish.config.empty();
    if (!model.folder.empty()) {
        const auto copied = copyUntouched(model, partial, output, configures, job);
        if (!copied) return tl::unexpected(copied.error());
        for (const auto& name : *copied) written.paths.push_back((fs::path(output) / name).string());
    }
    if (configures) {
        if (auto ok = writeConfig(model, partial, finish.config); !ok) return tl::unexpected(ok.error());
        written.paths.push_back((fs::path(output) / "config.json").string());
    }
    if (finish.prove)
        if (auto good = finish.prove(partial.string()); !good) return tl::unexpected(good.error());
    if (job.cancelled()) return cancelledError();
    if (auto committed = folder->commit(); !committed) return tl::unexpected(committed.error());
    return written;
}

/// What blocks of codes stand for: the file that is written has no name for their type.
Result<void> writeValues(const TensorView& view, const TensorToWrite::Sink& sink) {
    std::vector<float> values(std::min<std::uint64_t>(view.info->elements, kCopyPiece / sizeof(float)));
    for (std::uint64_t at = 0; at < view.info->elements; at += values.size()) {
        const auto n = std::size_t(std::min<std::uint64_t>(values.size(), view.info->elements - at));
        loadF32(view, at, n, values.data());
        if (auto written = sink(std::as_bytes(std::span(values).first(n))); !written) return written;
    }
    return {};
}

} // namespace

std::string certificatePathFor(const std::string& output) {
    const auto ending = fileEnding(output);
    if (ending.empty()) return (fs::path(output) / kCertificate).string();
    return output.substr(0, output.size() - ending.size()) + "." + std::string(kCertificate);
}

Result<void> removeCertificate(const std::string& output) {
    const std::string path = certificatePathFor(output);
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return fail(fmt::format("{} cannot be replaced: its certificate {} cannot be removed: {}.",
                            escapeForPeople(output, 200), escapeForPeople(path, 200), std::strerror(errno)),
                path);
}

std::uint64_t bytesOf(const TensorToWrite& tensor) {
    std::uint64_t elements = 1;
    for (const auto dim : tensor.shape) elements *= std::uint64_t(dim);
    if (tensor.packed) return elements / tensor.packed->elements * tensor.packed->bytes;
    return elements * std::uint64_t(info(tensor.dtype).bits) / 8;
}

Result<TensorToWrite> copyOf(const Model& model, const TensorInfo& tensor) {
    auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    if (tensor.packed && !tensor.packed->decode)
        return fail(fmt::format("tensor '{}' is {}, which this program lists but does not decode: it cannot be "
                                "written to safetensors",
                                escapeForPeople(tensor.name), tensor.typeId()));
    if (tensor.packed)
        return TensorToWrite{tensor.name, tensor.dtype, tensor.shape,
                             [view = *view](const TensorToWrite::Sink& sink) { return writeValues(view, sink); }};
    return bytewiseCopyOf(model, tensor);
}

Result<TensorToWrite> bytewiseCopyOf(const Model& model, const TensorInfo& tensor) {
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
    if (auto ok = noCollision(shards); !ok) return tl::unexpected(ok.error());
    if (!output.ends_with(".safetensors")) return writeFolder(model, std::move(shards), output, job, finish);
    OutputShard all;
    for (auto& shard : shards) {
        std::move(shard.tensors.begin(), shard.tensors.end(), std::back_inserter(all.tensors));
        all.metadata.merge(shard.metadata);
    }
    const auto alone = [&](const std::string&) { return removeCertificate(output); };
    const auto bytes = writeSafetensors(output, std::move(all.tensors), std::move(all.metadata), &model, job,
                                        finish.prove ? finish.prove : alone);
    if (!bytes) return tl::unexpected(bytes.error());
    return WrittenFiles{{output}, *bytes, 0, 0};
}

} // namespace qs
