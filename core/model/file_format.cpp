// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/file_format.h"

#include "core/model/gguf/gguf.h"
#include "core/model/gguf/imatrix.h"
#include "core/model/hdf5/hdf5.h"
#include "core/model/npy/npy.h"
#include "core/model/onnx/onnx.h"
#include "core/model/pytorch/pytorch.h"
#include "core/model/safetensors/safetensors.h"
#include "core/model/tfjs/tfjs.h"
#include "core/model/tflite/tflite.h"
#include "core/model/zarr/zarr.h"

#include <algorithm>
#include <array>

namespace qs {
namespace {

std::string_view headText(std::span<const std::byte> head) {
    return {reinterpret_cast<const char*>(head.data()), head.size()};
}

bool isZarr(std::span<const std::byte> head, bool isFolder) { return isFolder && looksLikeZarr(headText(head)); }

bool isFolderOfWeights(std::span<const std::byte>, bool isFolder) { return isFolder; }

bool isIndex(std::span<const std::byte> head, bool isFolder) {
    const auto text = headText(head);
    const auto begin = text.find_first_not_of(" \t\r\n");
    return !isFolder && begin != std::string_view::npos && text[begin] == '{' &&
           text.find("\"weight_map\"") != std::string_view::npos;
}

/// An index whose shards are HDF5 files of Keras.
bool isKerasIndex(std::span<const std::byte> head, bool isFolder) {
    return isIndex(head, isFolder) && headText(head).find(".weights.h5\"") != std::string_view::npos;
}

bool isSafetensors(std::span<const std::byte> head, bool isFolder) {
    // The header length is at most 100 MB, so its upper four bytes are 0. The JSON header follows the eight bytes.
    if (isFolder || head.size() < 10) return false;
    for (std::size_t i = 4; i < 8; ++i)
        if (head[i] != std::byte(0)) return false;
    const char first = char(head[8]);
    return first == '{' || first == ' ' || first == '\n' || first == '\r' || first == '\t';
}

bool isGguf(std::span<const std::byte> head, bool isFolder) { return !isFolder && headText(head).starts_with("GGUF"); }

bool isNpy(std::span<const std::byte> head, bool isFolder) {
    return !isFolder && headText(head).starts_with("\x93NUMPY");
}

/// Name of the first member of a ZIP archive, which decides between formats stored in ZIP; "" if it is not a ZIP.
std::string_view firstMember(std::span<const std::byte> head) {
    const auto text = headText(head);
    if (!text.starts_with("PK\3\4") || text.size() < 30) return {};
    const std::size_t length = std::size_t(head[26]) | std::size_t(head[27]) << 8;
    return text.substr(30, length);
}

bool isKeras(std::span<const std::byte> head, bool isFolder) {
    const auto first = isFolder ? std::string_view() : firstMember(head);
    return first == "metadata.json" || first == "config.json" || first == "model.weights.h5";
}

bool isNpz(std::span<const std::byte> head, bool isFolder) { return !isFolder && firstMember(head).ends_with(".npy"); }
bool isHdf5(std::span<const std::byte> head, bool isFolder) { return !isFolder && looksLikeHdf5(head); }

bool isPytorch(std::span<const std::byte> head, bool isFolder) { return !isFolder && looksLikePytorch(head); }

bool isTflite(std::span<const std::byte> head, bool isFolder) {
    return !isFolder && head.size() >= 8 && headText(head).substr(4, 4) == "TFL3";
}

bool isOnnx(std::span<const std::byte> head, bool isFolder) { return !isFolder && onnx::looksLikeModel(head); }

bool isTfjs(std::span<const std::byte> head, bool isFolder) { return !isFolder && looksLikeTfjs(headText(head)); }

bool isImatrix(std::span<const std::byte> head, bool isFolder) { return !isFolder && looksLikeImatrix(head); }

constexpr std::array<FileFormat, 15> kFormats = {{
    {"zarr", "Orbax or zarr folder", "", isZarr, openZarr},
    {"huggingface", "Hugging Face folder", "", isFolderOfWeights, openHuggingFaceFolder, openPartOfFolder},
    {"keras-shards", "Sharded Keras", "*.weights.json", isKerasIndex, openKerasShards},
    {"safetensors-index", "Sharded safetensors", "*.safetensors.index.json *.safetensors.index.*.json *.bin.index.json",
     isIndex, openSafetensorsIndex, openPartOfIndex},
    {"safetensors", "safetensors", "*.safetensors", isSafetensors, openSafetensors, openPartOfSafetensors},
    {"gguf", "GGUF", "*.gguf", isGguf, openGguf},
    {"npy", "NumPy array", "*.npy", isNpy, openNpy, nullptr, FileFormat::Holds::Array},
    {"npz", "NumPy archive", "*.npz", isNpz, openNpz},
    {"hdf5", "HDF5 (Keras)", "*.weights.h5 *.h5 *.hdf5", isHdf5, openHdf5},
    {"keras", "Keras", "*.keras", isKeras, openKeras},
    {"pytorch", "PyTorch checkpoint", "*.pt *.pth *.bin *.ckpt", isPytorch, openPytorch},
    {"onnx", "ONNX", "*.onnx", isOnnx, openOnnx, nullptr, FileFormat::Holds::Parts},
    {"tflite", "TensorFlow Lite", "*.tflite", isTflite, openTflite},
    {"tfjs", "TensorFlow.js", "*model.json *weights_manifest.json", isTfjs, openTfjs, nullptr,
     FileFormat::Holds::Parts},
    // Must be last: it has no magic number and accepts many files.
    {"imatrix", "Importance matrix", "*.dat *.imatrix", isImatrix, openImatrix, nullptr, FileFormat::Holds::Figures},
}};

/// Matches patterns such as "*.index.*.json". The texts between stars must occur in this order; the last must end the
/// name.
bool matches(std::string_view pattern, std::string_view name) {
    while (!pattern.empty()) {
        if (pattern.front() != '*') return false; // all patterns start with a star
        const auto next = pattern.find('*', 1);
        const auto piece = pattern.substr(1, next == std::string_view::npos ? next : next - 1);
        if (next == std::string_view::npos) return name.ends_with(piece);
        const auto at = name.find(piece);
        if (at == std::string_view::npos) return false;
        name.remove_prefix(at + piece.size());
        pattern.remove_prefix(next);
    }
    return false;
}

} // namespace

bool looksLikeHdf5(std::span<const std::byte> head) {
    const auto text = headText(head);
    for (const std::size_t at : {0, 512, 1024, 2048})
        if (text.size() > at && text.substr(at).starts_with("\x89HDF\r\n\x1a\n")) return true;
    return false;
}

std::span<const FileFormat> fileFormats() { return kFormats; }

const FileFormat* formatOfBytes(std::span<const std::byte> head, bool isFolder) {
    const auto formats = fileFormats();
    const auto at = std::ranges::find_if(formats, [&](const FileFormat& f) { return f.sniff(head, isFolder); });
    return at == formats.end() ? nullptr : &*at;
}

const FileFormat* formatOfName(std::string_view path) {
    for (const auto& format : fileFormats())
        for (std::string_view left = format.patterns; !left.empty();) {
            const auto space = left.find(' ');
            if (matches(left.substr(0, space), path)) return &format;
            left.remove_prefix(space == std::string_view::npos ? left.size() : space + 1);
        }
    return nullptr;
}

std::string titleOfFormat(const Model& model) {
    for (const auto& format : fileFormats())
        if (model.format == format.id) return format.title;
    return model.format;
}

std::map<std::string, std::string> metadataOf(const Model& model) {
    std::map<std::string, std::string> all;
    for (const auto& file : model.files) all.insert(file.metadata.begin(), file.metadata.end());
    return all;
}

} // namespace qs
