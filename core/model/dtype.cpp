// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/computed_type.h"

#include <array>
#include <cstddef>

namespace qs {
namespace {

constexpr std::array<DTypeInfo, 22> kDTypes = {{
    {DType::Bool, "BOOL", 8, false},
    {DType::F4, "F4", 4, false},
    {DType::F6_E2M3, "F6_E2M3", 6, false},
    {DType::F6_E3M2, "F6_E3M2", 6, false},
    {DType::U8, "U8", 8, false},
    {DType::I8, "I8", 8, false},
    {DType::F8_E5M2, "F8_E5M2", 8, true},
    {DType::F8_E4M3, "F8_E4M3", 8, true},
    {DType::F8_E8M0, "F8_E8M0", 8, false},
    {DType::F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, true},
    {DType::F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, true},
    {DType::I16, "I16", 16, false},
    {DType::U16, "U16", 16, false},
    {DType::F16, "F16", 16, true},
    {DType::BF16, "BF16", 16, true},
    {DType::I32, "I32", 32, false},
    {DType::U32, "U32", 32, false},
    {DType::F32, "F32", 32, true},
    {DType::C64, "C64", 64, false},
    {DType::F64, "F64", 64, true},
    {DType::I64, "I64", 64, false},
    {DType::U64, "U64", 64, false},
}};

constexpr bool rowsMatchTheEnum() {
    for (std::size_t i = 0; i < kDTypes.size(); ++i)
        if (std::size_t(kDTypes[i].dtype) != i) return false;
    return true;
}
static_assert(rowsMatchTheEnum(), "info() indexes the table by the enum");

} // namespace

std::span<const DTypeInfo> dtypes() { return kDTypes; }
const DTypeInfo& info(DType dtype) { return kDTypes[std::size_t(dtype)]; }

DType computedType(DType source) { return info(source).quantizable && info(source).bits == 8 ? DType::BF16 : source; }

std::optional<DType> dtypeFromId(std::string_view id) {
    for (const auto& row : kDTypes)
        if (id == row.id) return row.dtype;
    return std::nullopt;
}

} // namespace qs
