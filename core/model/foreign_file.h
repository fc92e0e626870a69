// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files that people open by mistake, told apart by their first bytes, so that the answer is not "broken JSON".

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// What the file is, as the end of a sentence that begins with its path: "is a GGUF file, which this version does not
/// open"; "" when nothing speaks against safetensors or JSON. `head`: the first bytes, up to 4096.
std::string foreignFile(std::span<const std::byte> head, std::uint64_t size, std::string_view path);

} // namespace qs
