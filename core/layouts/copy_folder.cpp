// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/copy_folder.h"

#include "core/base/text.h"
#include "core/model/companion.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_format.h"
#include "core/model/npy/npy.h"
#include "core/model/output/atomic_file.h"
#include "core/model/output/confined_folder.h"
#include "core/model/zarr/zarr.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kFolderPiece = std::size_t(4) << 20;
constexpr const char* kConfigName = "config.json";

bool isAllZero(std::span<const std::byte> bytes) {
    return bytes.empty() ||
           (bytes.front() == std::byte(0) && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

/// Pieces of zeros stay holes, so that a sparse file stays one.
Result<void> copyOpened(const MappedFile& from, const std::string& to, const Job& job) {
    auto out = AtomicFile::create(to);
    if (!out) return tl::unexpected(out.error());
    std::vector<std::byte> buffer;
    for (std::size_t at = 0; at < from.size(); at += kFolderPiece) {
        if (job.cancelled()) return cancelledError();
        const auto piece = from.read(at, std::min(kFolderPiece, from.size() - at), buffer);
        const auto end = at + piece.size();
        auto done = end < from.size() && isAllZero(piece) ? out->moveTo(end) : out->write(piece);
        if (!done) return done;
    }
    // What could not be read is zeros.
    if (from.faulted())
        if (auto same = from.unchanged(); !same) return same;
    return out->commit(job);
}

/// Without what it says of a quantization that the output no longer has.
void eraseQuantization(nlohmann::ordered_json& config) {
    for (const char* key : {"quantization_config", "compression_config", "quantization"}) config.erase(key);
}

Result<void> writePlainConfig(const MappedFile& from, const std::string& to, const Job& job) {
    const auto text = textOf(from);
    auto config = text ? readOrderedJsonTree(*text) : tl::unexpected(text.error());
    if (!config || !config->is_object()) return copyOpened(from, to, job); // such a file has no settings to change
    eraseQuantization(*config);
    return writeWholeFile(to, config->dump(2) + "\n");
}

const char* kindOfEntry(fs::file_type type) {
    switch (type) {
    case fs::file_type::fifo: return "it is a pipe";
    case fs::file_type::socket: return "it is a socket";
    default: return "it is a device";
    }
}

/// The file of an entry; null where it is not copied, with the reason in `why`.
Result<std::shared_ptr<MappedFile>> sourceOfEntry(const ConfinedFolder& folder, const fs::directory_entry& entry,
                                                  const std::string& name, std::string& why) {
    std::error_code failed;
    const auto type = entry.symlink_status(failed).type();
    const bool isLink = type == fs::file_type::symlink;
    if (!isLink && type != fs::file_type::regular) {
        why = kindOfEntry(type);
        return std::shared_ptr<MappedFile>();
    }
    if (isLink && fs::is_directory(entry.path(), failed)) {
        why = "it is a symlink to a folder";
        return std::shared_ptr<MappedFile>();
    }
    auto opened = folder.tryOpen(name, FileAccess::Pread);
    if (opened && *opened) return std::move(*opened);
    if (!isLink && !opened)
        return fail(
            fmt::format("{} cannot be copied: {}.", escapeForPeople(entry.path().string(), 200), opened.error()),
            entry.path().string());
    if (isLink || !opened) why = opened ? "it is a symlink to nothing" : opened.error();
    return std::shared_ptr<MappedFile>();
}

constexpr const char* kOtherWeights = "it holds weights that were not quantized";

/// Why a file beside the weights is not copied; "" if it is. Tensors outside of an ONNX file have no mark of their own:
/// "model.onnx_data".
std::string whyLeftOut(const MappedFile& file, const std::string& name) {
    using Holds = FileFormat::Holds;
    constexpr std::size_t kHead = 16384, kSniffed = 4096;
    std::vector<std::byte> buffer;
    const auto head = file.read(0, std::min(kHead, file.size()), buffer);
    const FileFormat* format = formatOfBytes(head.first(std::min(kSniffed, head.size())), false);
    if (!format) return name.find(".onnx") != std::string::npos && name.ends_with("data") ? kOtherWeights : "";
    if (format->holds == Holds::Figures) return "it was measured on the weights of the source";
    if (format->holds != Holds::Array) return kOtherWeights;
    const auto header = parseNpyHeader(head, file.size());
    return header && info(header->dtype).quantizable ? kOtherWeights : "";
}

/// The paths of files without a mark of their own that hold tensors of other models in a folder, which name them.
std::set<std::string> partsOfOthers(const std::string& folder) {
    std::set<std::string> out;
    std::error_code failed;
    for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        const FileFormat* format = formatOfName(it->path().filename().string());
        std::error_code ignored;
        if (!format || format->holds != FileFormat::Holds::Parts || !it->is_regular_file(ignored)) continue;
        if (const auto model = format->open(it->path().string()))
            for (const ModelFile& file : (*model)->files) out.insert(fs::path(file.path).lexically_normal().string());
    }
    return out;
}

/// Whether a folder is a checkpoint of zarr or Orbax, whose chunks have no mark of their own.
bool isFolderOfArrays(const fs::path& folder) {
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        if (looksLikeZarr(it->path().filename().string())) return true;
    return false;
}

} // namespace

bool isIndexName(const std::string& name) {
    return name.ends_with(".json") &&
           (name.find(".safetensors.index.") != std::string::npos || name.ends_with(".bin.index.json"));
}

Result<nlohmann::ordered_json> sourceConfig(const Model& model) {
    if (model.folder.empty()) return nlohmann::ordered_json::object();
    const std::string path = (fs::path(model.folder) / kConfigName).string();
    const auto cannot = [&](const std::string& why) {
        return fail(fmt::format("{} {}, so that it cannot say how the weights are quantized; nothing was written.",
                                shownPath(path), why),
                    path);
    };
    const auto file = ConfinedFolder(model.folder).tryOpen(kConfigName, FileAccess::Pread);
    if (!file) return cannot("is not read (" + file.error() + ")");
    if (!*file) return nlohmann::ordered_json::object();
    const auto text = textOf(**file);
    if (!text) return tl::unexpected(text.error());
    auto config = readOrderedJsonTree(*text);
    if (!config) return cannot(config.error().sentence());
    if (!config->is_object()) return cannot("is not a JSON object");
    eraseQuantization(*config);
    return config;
}

Result<std::vector<std::string>> copyUntouched(const Model& model, const fs::path& into, const fs::path& output,
                                               CopyRules rules, std::vector<LeftOut>& leftOut, const Job& job) {
    std::vector<std::string> copied;
    std::error_code failed;
    const ConfinedFolder folder(model.folder);
    // Layers that are not decoded still need the settings that describe them.
    const bool isDecoded = model.undecoded.empty() && std::ranges::any_of(model.tensors, [](const TensorInfo& tensor) {
                               return tensor.derived && !tensor.derived->fields().empty();
                           });
    std::set<std::string> own;
    for (const ModelFile& file : model.files) own.insert(fs::path(file.path).lexically_normal().string());
    const auto others = rules.all ? std::set<std::string>() : partsOfOthers(model.folder);
    for (fs::recursive_directory_iterator it(model.folder, failed), end; !failed && it != end; it.increment(failed)) {
        if (job.cancelled()) return cancelledError();
        const std::string name = it->path().filename().string();
        const fs::path relative = it->path().lexically_relative(model.folder);
        std::error_code ignored;
        const bool isFolder = it->symlink_status(ignored).type() == fs::file_type::directory;
        const bool isOutput = isFolder && (fs::equivalent(it->path(), output, ignored) ||
                                           fs::exists(it->path() / kWritingMarker, ignored));
        if (name.starts_with(".") || isOutput) {
            it.disable_recursion_pending();
            continue;
        }
        if (isFolder) {
            if (!rules.all && isFolderOfArrays(it->path())) {
                leftOut.push_back({relative.string(), kOtherWeights});
                it.disable_recursion_pending();
            }
            continue;
        }
        const bool top = !relative.has_parent_path();
        if (top && isIndexName(name)) continue;
        if (own.contains(it->path().lexically_normal().string()))
            continue; // of another format: its tensors are in the new files
        if (top && isDecoded && (name == "quantize_config.json" || name == "quant_config.json")) continue;
        if (top && ((rules.configures && name == kConfigName) || name.ends_with("certificate.json"))) continue;
        std::string why;
        const auto source = sourceOfEntry(folder, *it, relative.string(), why);
        if (!source) return tl::unexpected(source.error());
        if (!*source) {
            if (!why.empty()) leftOut.push_back({relative.string(), why});
            continue;
        }
        if (!rules.all)
            if (why = others.contains(it->path().lexically_normal().string()) ? kOtherWeights
                                                                              : whyLeftOut(**source, name);
                !why.empty()) {
                leftOut.push_back({relative.string(), why});
                continue;
            }
        if (fs::exists(into / relative, ignored)) {
            leftOut.push_back({relative.string(), "its name is that of a file that was written"});
            continue;
        }
        const auto mode = fs::status(it->path(), failed).permissions();
        fs::create_directories((into / relative).parent_path(), ignored);
        const std::string to = (into / relative).string();
        const auto write = top && isDecoded && name == kConfigName ? writePlainConfig : copyOpened;
        if (auto done = write(**source, to, job); !done) return tl::unexpected(done.error());
        if (!failed) fs::permissions(to, mode & fs::perms::all, ignored);
        failed.clear();
        copied.push_back(relative.string());
    }
    if (failed)
        return fail(fmt::format("{} cannot be listed: {}", shownPath(model.folder), failed.message()), model.folder);
    std::ranges::sort(leftOut, [](const LeftOut& a, const LeftOut& b) { return a.name < b.name; });
    return copied;
}

} // namespace qs
