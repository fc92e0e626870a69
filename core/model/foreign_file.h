// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Recognises files that users open by mistake, so that the message names the problem and not "broken JSON". A function
// that returns a string returns the end of a sentence that starts with the path, or "" if it finds nothing.

#include "core/model/mapped_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// For an unfinished download (known by its name or by a file beside it) and for an empty file. `size` in bytes.
std::string notWhole(std::uint64_t size, const std::string& path);

/// MappedFile::open() of a file that notWhole() finds nothing against; else the Error has its words.
Result<std::shared_ptr<MappedFile>> openWhole(const std::string& path);

/// For files and folders whose first bytes are like those of another format, recognised by name: "is a TensorFlow
/// SavedModel, ...".
std::string foreignName(const std::string& path);

/// For files that no format of the registry opens: "is a web page (HTML), not the file itself". `head`: the first bytes
/// of the file, up to 4096.
std::string foreignFile(std::span<const std::byte> head);

/// For a text that is stored in place of the file: a Git LFS pointer, or an error page of a server. `head`: the first
/// bytes of a file that has no magic number, such as raw values.
std::string placeholder(std::span<const std::byte> head);

/// For a file that must be safetensors because another file refers to it as such: notWhole() or foreignFile().
std::string notSafetensors(std::span<const std::byte> head, std::uint64_t size, const std::string& path);

} // namespace qs
