// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/prepare.h"

#include <cstring>

namespace qs::pjrt {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Fault{QS_INVALID_ARGUMENT, text}; }

std::int64_t elementsOf(const qs_tensor& t) {
    if (t.rank > 4) refuse("a tensor has rank " + std::to_string(t.rank) + ", more than 4");
    std::int64_t count = 1;
    for (std::uint32_t i = 0; i < t.rank; ++i)
        if (t.dims[i] < 0 || __builtin_mul_overflow(count, t.dims[i], &count))
            refuse(std::string("the dims of the ") + t.role + " tensor are no sizes");
    return count;
}

/// The data of a tensor, whose size has been checked.
struct Stored {
    std::span<const std::byte> bytes;
    std::int64_t elements = 0, elementBytes = 0;
};
Stored stored(const qs_tensor* t, const char* role, std::size_t elementBytes) {
    if (t == nullptr) refuse(std::string("there is no tensor \"") + role + "\"");
    Stored s{{}, elementsOf(*t), std::int64_t(elementBytes)};
    if (t->data == nullptr || t->bytes != std::uint64_t(s.elements) * elementBytes)
        refuse(std::string("the ") + role + " tensor has " + std::to_string(t->bytes) +
               " bytes where its dims and dtype say " + std::to_string(std::uint64_t(s.elements) * elementBytes));
    s.bytes = {static_cast<const std::byte*>(t->data), std::size_t(t->bytes)};
    return s;
}

/// The type of the program's argument that holds the codes.
ElementType codeTypeFor(const Weight& w, const Variant& v, const qs_tensor* t) {
    if (w.perByte > 1) return ElementType::U8;
    if (v.decode == Decode::Convert && w.isTable())
        return w.format == "fp8_e4m3" ? ElementType::F8E4M3FN : ElementType::F8E5M2;
    if (w.isTable()) return ElementType::U8;
    if (w.meaning == CodeMeaning::Float) return elementTypeOf(w.format.c_str());
    const auto given = t == nullptr || t->dtype == nullptr ? ElementType::S8 : elementTypeOf(t->dtype);
    return given == ElementType::U8 ? ElementType::U8 : ElementType::S8;
}

/// The codes to upload. They lie in the host's memory if their layout fits, else repacked in `moved`.
const std::byte* codesOf(const Weight& w, const Geometry& g, ElementType type, const qs_tensor* t,
                         std::vector<std::byte>& moved) {
    const auto size = elementBytes(type);
    if (t != nullptr && (t->dtype == nullptr || elementBytes(elementTypeOf(t->dtype)) != size))
        refuse(std::string("weights of type ") + (t->dtype ? t->dtype : "NULL") + " do not hold " + w.format);
    const auto s = stored(t, "weight", size);
    const auto multiple = std::max<std::int64_t>(1, w.rowMultiple);
    const auto padded = (w.columns + multiple - 1) / multiple * multiple;
    const auto expected = (padded + w.perByte - 1) / w.perByte;
    const auto rowElements = w.rows > 0 ? s.elements / w.rows : 0;
    if (s.elements % w.rows != 0 || rowElements != expected)
        refuse("the weight tensor has " + std::to_string(s.elements) + " elements where " + std::to_string(w.rows) +
               " rows of " + std::to_string(expected) + " were expected");
    if (w.order == CodeOrder::Planar && padded != w.columns)
        refuse("planar rows are padded, so their planes cannot be found");
    if (g.order == w.order && g.rows == w.rows && rowElements == g.rowBytes) return s.bytes.data();
    moved = repackCodes(w, g, s.bytes, rowElements * std::int64_t(size), std::int64_t(size));
    return moved.data();
}

std::vector<float> scalesOf(const Weight& w, const Geometry& g, const qs_tensor* t) {
    const auto s = stored(t, "scale", scaleBytes(w.scaleType));
    if (std::uint64_t(s.elements) != w.scaleCount)
        refuse("there are " + std::to_string(s.elements) + " scales where " + std::to_string(w.scaleCount) +
               " were expected");
    return repackScales(w, g, s.bytes);
}

} // namespace

const qs_tensor* findTensor(std::span<const qs_tensor* const> tensors, const char* role) {
    for (const auto* t : tensors)
        if (t != nullptr && t->role != nullptr && std::strcmp(t->role, role) == 0) return t;
    return nullptr;
}

ElementType elementTypeOf(const char* dtype) {
    struct Row {
        const char* name;
        ElementType type;
    };
    static constexpr Row kRows[] = {
        {"f32", ElementType::F32},
        {"bf16", ElementType::BF16},
        {"f16", ElementType::F16},
        {"i8", ElementType::S8},
        {"u8", ElementType::U8},
        {"i32", ElementType::S32},
        {"fp8_e4m3", ElementType::F8E4M3FN},
        {"fp8_e5m2", ElementType::F8E5M2},
        {"fp8_e4m3fnuz", ElementType::U8},
        {"fp8_e5m2fnuz", ElementType::U8},
        {"e8m0", ElementType::U8},
    };
    for (const auto& row : kRows)
        if (dtype != nullptr && std::strcmp(dtype, row.name) == 0) return row.type;
    return ElementType::Invalid;
}

static void demand(const qs_tensor* t, const char* role, const ArraySpec& spec, const void* memory) {
    if (t == nullptr) refuse(std::string("there is no tensor \"") + role + "\"");
    std::int64_t elements = 1;
    for (const auto dim : spec.dims) elements *= dim;
    if (elementTypeOf(t->dtype) != spec.type || elementsOf(*t) != elements || t->bytes != spec.bytes() ||
        memory == nullptr)
        refuse(std::string("the ") + role + " tensor must have " + std::to_string(elements) + " elements of " +
               elementName(spec.type) + ", " + std::to_string(spec.bytes()) + " bytes");
}
void demandInput(const qs_tensor* t, const char* role, const ArraySpec& spec) {
    demand(t, role, spec, t == nullptr ? nullptr : t->data);
}
void demandOutput(const qs_tensor* t, const char* role, const ArraySpec& spec) {
    demand(t, role, spec, t == nullptr ? nullptr : t->out);
}

Prepared prepare(Client& client, const Operands& operands, const Variant& variant,
                 std::span<const qs_tensor* const> tensors) {
    Prepared p;
    p.operands = operands;
    const auto& w = p.operands.weight;
    if (findTensor(tensors, "scale2") != nullptr || findTensor(tensors, "zero") != nullptr)
        throw Fault{QS_UNIMPLEMENTED, "second-level scales and zero points are not supported"};
    const auto* weight = findTensor(tensors, "weight");
    const bool hasWeight = operands.op != Op::QuantizeAct;
    const auto geometry = hasWeight ? geometryFor(w, variant.planes) : Geometry{};
    const auto type = hasWeight ? codeTypeFor(w, variant, weight) : ElementType::Invalid;

    auto start = nowNs();
    std::vector<std::byte> moved;
    const std::byte* codes = nullptr;
    std::vector<float> scales;
    const qs_tensor* bias = findTensor(tensors, "bias");
    if (hasWeight && !client.compileOnly()) {
        codes = codesOf(w, geometry, type, weight, moved);
        if (w.share != ScaleShare::None) scales = scalesOf(w, geometry, findTensor(tensors, "scale"));
        if (operands.bias) demandInput(bias, "bias", {ElementType::F32, {operands.n}});
    }
    p.repackMs = millisecondsSince(start);

    p.kernel = std::make_unique<Kernel>(client, emit(p.operands, variant, geometry, type));
    if (client.compileOnly()) return p;
    start = nowNs();
    const float most = 127;
    for (const auto& argument : p.kernel->program().arguments) switch (argument.role) {
        case Role::Act:
        case Role::ActScale: break;
        case Role::ActMax: p.kernel->uploadConstant(&most); break;
        case Role::Codes: p.kernel->uploadConstant(codes); break;
        case Role::Scale: p.kernel->uploadConstant(scales.data()); break;
        case Role::Table: p.kernel->uploadConstant(w.levels.data()); break;
        case Role::Bias: p.kernel->uploadConstant(bias->data); break;
        }
    p.uploadMs = millisecondsSince(start);
    return p;
}

} // namespace qs::pjrt
