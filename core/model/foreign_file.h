// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files that people open by mistake, told apart by their first bytes, so that the answer is not "broken JSON". Each
// answer is the end of a sentence that begins with the path; "" when nothing speaks against the file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// A download that has not ended, by its name or by what lies beside it; an empty file.
std::string notWhole(std::uint64_t size, const std::string& path);

/// What a file or a folder is by its name and by the names in it, where its first bytes are like those of another format:
/// "is a TensorFlow SavedModel, ...".
std::string foreignName(const std::string& path);

/// What a file is that no format of the registry opens: "is a web page (HTML), not the file itself". `head`: the first
/// bytes, up to 4096.
std::string foreignFile(std::span<const std::byte> head);

/// What lies in the place of a file: a pointer to it, or a page of the server that should have sent it. `head`: the first
/// bytes of a file without a format of its own, as raw values are.
std::string placeholder(std::span<const std::byte> head);

/// What foreignFile() says of a file that has to be safetensors because another file says so.
std::string notSafetensors(std::span<const std::byte> head, std::uint64_t size, const std::string& path);

} // namespace qs
