// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of file formats that open. Adding one: a row here and a loader.

#include "core/model/model.h"

#include <span>
#include <string_view>

namespace qs {

struct FileFormat {
    const char* id;
    const char* title;
    const char* patterns; ///< for the open dialog, and where bytes say nothing: "*.safetensors"; "" for folders
    /// True when the first bytes (up to 4096) say that this format should open the file, whatever its name. Cheap.
    /// Of a folder `head` is names in it, one a line: those that begin with a dot or an underscore or end in .json or .ocdbt.
    bool (*sniff)(std::span<const std::byte> head, bool isFolder);
    Result<std::shared_ptr<Model>> (*open)(const std::string& path);
};
std::span<const FileFormat> fileFormats();

const FileFormat* formatOfBytes(std::span<const std::byte> head, bool isFolder); ///< null: none knows them
const FileFormat* formatOfName(std::string_view path);                           ///< by patterns

/// "GGUF": the title of the format that a model was opened as.
std::string titleOfFormat(const Model& model);
/// What the files of a model say of themselves, as text; where parts of one model say different things, the first.
std::map<std::string, std::string> metadataOf(const Model& model);

} // namespace qs
