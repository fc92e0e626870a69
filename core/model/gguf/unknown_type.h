// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Types of elements that this program does not know. A tensor of such a type is listed under the name of the type. Its dtype
// is U8, its PackedType has no decoder and 0 bytes, and its row says how many bytes its data has.

#include "core/model/gguf/packed_type.h"

#include <cstdint>
#include <string_view>

namespace qs {

/// The row of a type that a file calls `id`; the same name gives the same row. After some 200 names all share the last one.
const PackedType* unknownType(std::string_view id);
const PackedType* unknownType(std::uint32_t ggmlNumber); ///< called "GGML_TYPE_36"

} // namespace qs
