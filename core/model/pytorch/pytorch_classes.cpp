// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pytorch_classes.h"

#include <initializer_list>
#include <utility>

namespace qs {
namespace {

struct Named {
    const char* name;
    DType dtype;
};
// Storage classes in the modules torch, torch.cuda and torch.storage. The quantized ones hold plain integers.
constexpr Named kStorages[] = {
    {"FloatStorage", DType::F32},     {"DoubleStorage", DType::F64},       {"HalfStorage", DType::F16},
    {"BFloat16Storage", DType::BF16}, {"LongStorage", DType::I64},         {"IntStorage", DType::I32},
    {"ShortStorage", DType::I16},     {"CharStorage", DType::I8},          {"ByteStorage", DType::U8},
    {"BoolStorage", DType::Bool},     {"ComplexFloatStorage", DType::C64}, {"QInt8Storage", DType::I8},
    {"QUInt8Storage", DType::U8},     {"QInt32Storage", DType::I32},       {"UntypedStorage", DType::U8}};
// Storage classes with elements that cannot be shown. Their sizes in bytes are needed to find the storages after them.
constexpr std::pair<const char*, unsigned> kUnshown[] = {
    {"ComplexDoubleStorage", 16}, {"QUInt4x2Storage", 1}, {"QUInt2x4Storage", 1}};
constexpr Named kTypes[] = {{"float32", DType::F32},
                            {"float64", DType::F64},
                            {"float16", DType::F16},
                            {"bfloat16", DType::BF16},
                            {"int64", DType::I64},
                            {"int32", DType::I32},
                            {"int16", DType::I16},
                            {"int8", DType::I8},
                            {"uint8", DType::U8},
                            {"uint16", DType::U16},
                            {"uint32", DType::U32},
                            {"uint64", DType::U64},
                            {"bool", DType::Bool},
                            {"complex64", DType::C64},
                            {"float8_e4m3fn", DType::F8_E4M3},
                            {"float8_e5m2", DType::F8_E5M2},
                            {"float8_e4m3fnuz", DType::F8_E4M3FNUZ},
                            {"float8_e5m2fnuz", DType::F8_E5M2FNUZ},
                            {"float8_e8m0fnu", DType::F8_E8M0}};

bool startsAndEnds(std::string_view name, std::string_view begin, std::string_view end) {
    return name.size() == begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
}

template<class Rows>
auto* rowOf(const Rows& rows, std::string_view className, std::initializer_list<std::string_view> modules) {
    const auto nameOf = [](const auto& row) -> std::string_view {
        if constexpr (requires { row.name; })
            return row.name;
        else
            return row.first;
    };
    for (const auto& row : rows)
        for (const auto module : modules)
            if (startsAndEnds(className, module, nameOf(row))) return &row;
    return decltype(&rows[0])(nullptr);
}

} // namespace

std::optional<TorchElement> torchElement(std::string_view storageClass) {
    const std::initializer_list<std::string_view> modules = {"torch.", "torch.cuda.", "torch.storage."};
    if (const auto* row = rowOf(kStorages, storageClass, modules))
        return TorchElement{row->dtype, unsigned(info(row->dtype).bits) / 8};
    if (const auto* row = rowOf(kUnshown, storageClass, modules)) return TorchElement{std::nullopt, row->second};
    return std::nullopt;
}

std::optional<DType> torchType(std::string_view name) {
    const auto* row = rowOf(kTypes, name, {"torch."});
    return row ? std::optional(row->dtype) : std::nullopt;
}

bool isPlainClass(std::string_view name) {
    for (const std::string_view known :
         {"torch.Size", "torch.device", "_codecs.encode", "builtins.set", "builtins.complex", "builtins.bytearray",
          "__builtin__.set", "__builtin__.complex", "__builtin__.bytearray"})
        if (name == known) return true;
    return torchType(name).has_value();
}

bool isDictionaryClass(std::string_view name) {
    return name == "collections.OrderedDict" || name == "collections.Counter" || name == "collections.defaultdict";
}

} // namespace qs
