// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Element types with the names that safetensors uses, in its order: by increasing alignment. The writer sorts by it.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace qs {

enum class DType : std::uint8_t {
    Bool,
    F4,
    F6_E2M3,
    F6_E3M2,
    U8,
    I8,
    F8_E5M2,
    F8_E4M3,
    F8_E8M0,
    F8_E4M3FNUZ,
    F8_E5M2FNUZ,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64
};

struct DTypeInfo {
    DType dtype;
    const char* id;   ///< name in safetensors files: "BF16"
    int bits;         ///< per element; can be less than 8
    bool quantizable; ///< can be quantized: F64, F32, F16 and BF16
};

/// All element types, in the order of the enum.
std::span<const DTypeInfo> dtypes();
const DTypeInfo& info(DType dtype);
std::optional<DType> dtypeFromId(std::string_view id); ///< case-sensitive; empty if unknown

} // namespace qs
