// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/file_format.h"

#include "core/model/safetensors.h"

#include <array>

namespace qs {
namespace {

std::string_view textOf(std::span<const std::byte> head) {
    return {reinterpret_cast<const char*>(head.data()), head.size()};
}

bool isFolderOfWeights(std::span<const std::byte>, std::string_view, bool isFolder) { return isFolder; }

bool isIndex(std::span<const std::byte> head, std::string_view path, bool isFolder) {
    if (isFolder || !path.ends_with(".json")) return false;
    return path.find(".index.") != std::string_view::npos ||
           textOf(head).find("\"weight_map\"") != std::string_view::npos;
}

bool isSafetensors(std::span<const std::byte> head, std::string_view path, bool isFolder) {
    if (isFolder) return false;
    if (path.ends_with(".safetensors")) return true;
    // A length below the limit of 100 MB has zeros in its upper half; then the header begins.
    if (head.size() < 10) return false;
    for (std::size_t i = 4; i < 8; ++i)
        if (head[i] != std::byte(0)) return false;
    const char first = char(head[8]);
    return first == '{' || first == ' ' || first == '\n' || first == '\r' || first == '\t';
}

constexpr std::array<FileFormat, 3> kFormats = {{
    {"huggingface", "Hugging Face folder", "", isFolderOfWeights, openHuggingFaceFolder},
    {"safetensors-index", "Sharded safetensors", "*.safetensors.index.json", isIndex, openSafetensorsIndex},
    {"safetensors", "safetensors", "*.safetensors", isSafetensors, openSafetensors},
}};

} // namespace

std::span<const FileFormat> fileFormats() { return kFormats; }

} // namespace qs
