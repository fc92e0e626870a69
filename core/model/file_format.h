// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of file formats that can be opened. To add one, write a loader and add a row to kFormats.

#include "core/model/model.h"

#include <span>
#include <string_view>

namespace qs {

struct FileFormat {
    /// Unique; stored in Model::format: "safetensors".
    const char* id;
    const char* title;
    /// File names, for the open dialog and for files that no `sniff` accepts: "*.safetensors"; "" for folders.
    const char* patterns;
    /// True if this format should open a file whose first bytes (up to 4096) are `head`. Must be fast. For a folder,
    /// `head` lists names in it, one per line: those that start with "." or "_" or end in .json or .ocdbt.
    bool (*sniff)(std::span<const std::byte> head, bool isFolder);
    Result<std::shared_ptr<Model>> (*open)(const std::string& path);
    /// Lists only some tensors. Null: the format always lists all of them.
    Result<std::shared_ptr<Model>> (*openPart)(const std::string& path, const ModelPart* part) = nullptr;
    /// What a file of it holds that lies beside a model and is not of it.
    enum class Holds {
        Model,   ///< weights
        Parts,   ///< weights, some perhaps in other files, which it names
        Array,   ///< weights, if its values are floats; else inputs: token ids
        Figures, ///< what was measured on the model as it was
    } holds = Holds::Model;
};
/// All formats, in the order in which sniff() is asked.
std::span<const FileFormat> fileFormats();

/// Null if no format accepts the bytes.
const FileFormat* formatOfBytes(std::span<const std::byte> head, bool isFolder);
const FileFormat* formatOfName(std::string_view path); ///< by `patterns`; null if none matches

/// Title of the format that the model was opened as: "GGUF". An unknown id is returned as it is.
std::string titleOfFormat(const Model& model);
/// The metadata of all files of a model. If two files have the same key, the value of the first file is returned.
std::map<std::string, std::string> metadataOf(const Model& model);

} // namespace qs
