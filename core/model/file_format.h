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
    const char* patterns; ///< for the open dialog: "*.safetensors"
    /// True when the first bytes (up to 4096) and the name say that this format should try. Cheap.
    bool (*sniff)(std::span<const std::byte> head, std::string_view path, bool isFolder);
    Result<std::shared_ptr<Model>> (*open)(const std::string& path);
};
std::span<const FileFormat> fileFormats();

} // namespace qs
