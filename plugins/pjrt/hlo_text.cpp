// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/hlo_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace qs::pjrt {
namespace {

constexpr int kMostDepth = 16; ///< most levels of tuples within tuples

/// One field of a protocol buffers message.
struct Field {
    std::uint32_t number = 0, type = 0; ///< type 0: integer in `value`; 1, 5: fixed number and 2: data, both in `bytes`
    std::uint64_t value = 0;
    std::string_view bytes;
};

std::optional<std::uint64_t> takeVarint(std::string_view& in) {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(in.front());
        in.remove_prefix(1);
        out |= std::uint64_t(byte & 127) << shift;
        if (byte < 128) return out;
    }
    return std::nullopt;
}

/// All fields in order; nullopt if the bytes are not a message.
std::optional<std::vector<Field>> fieldsOf(std::string_view in) {
    std::vector<Field> out;
    while (!in.empty()) {
        const auto key = takeVarint(in);
        if (!key || *key >> 3 == 0 || *key >> 3 > 1u << 29) return std::nullopt;
        Field field{std::uint32_t(*key >> 3), std::uint32_t(*key & 7), 0, {}};
        std::size_t size = field.type == 1 ? 8 : 4;
        if (field.type == 0) {
            const auto value = takeVarint(in);
            if (!value) return std::nullopt;
            field.value = *value, size = 0;
        } else if (field.type == 2) {
            const auto length = takeVarint(in);
            if (!length || *length > in.size()) return std::nullopt;
            size = std::size_t(*length);
        } else if (field.type != 1 && field.type != 5)
            return std::nullopt;
        if (size > in.size()) return std::nullopt;
        field.bytes = in.substr(0, size);
        in.remove_prefix(size);
        out.push_back(field);
    }
    return out;
}

/// A message. Its fields are found by number.
class Message {
public:
    explicit Message(std::string_view bytes) : fields_(fieldsOf(bytes).value_or(std::vector<Field>())) {}
    std::string_view text(std::uint32_t number) const {
        const Field* found = last(number, 2);
        return found ? found->bytes : std::string_view();
    }
    std::optional<std::int64_t> number(std::uint32_t number) const {
        const Field* found = last(number, 0);
        return found ? std::optional(std::int64_t(found->value)) : std::nullopt;
    }
    std::vector<std::string_view> all(std::uint32_t number) const {
        std::vector<std::string_view> out;
        for (const Field& field : fields_)
            if (field.number == number && field.type == 2) out.push_back(field.bytes);
        return out;
    }
    /// The numbers of a repeated field, which may be packed.
    std::vector<std::int64_t> numbers(std::uint32_t number) const {
        std::vector<std::int64_t> out;
        for (const Field& field : fields_) {
            if (field.number != number) continue;
            if (field.type == 0) out.push_back(std::int64_t(field.value));
            std::string_view rest = field.type == 2 ? field.bytes : std::string_view();
            while (!rest.empty()) {
                const auto value = takeVarint(rest);
                if (!value) break;
                out.push_back(std::int64_t(*value));
            }
        }
        return out;
    }

private:
    const Field* last(std::uint32_t number, std::uint32_t type) const {
        const Field* found = nullptr;
        for (const Field& field : fields_)
            if (field.number == number && field.type == type) found = &field;
        return found;
    }
    std::vector<Field> fields_;
};

std::string joined(const std::vector<std::int64_t>& numbers) {
    std::string out;
    for (const std::int64_t n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
    return out;
}

/// The name of an xla.PrimitiveType. Its numbers differ from those of PJRT's element types.
std::string typeName(std::int64_t type) {
    constexpr std::array<const char*, 30> kNames = {
        "invalid",  "pred", "s8",  "s16",           "s32",        "s64",        "u8",   "u16",   "u32",    "u64",
        "f16",      "f32",  "f64", "tuple",         "opaque",     "c64",        "bf16", "token", "c128",   "f8e5m2",
        "f8e4m3fn", "s4",   "u4",  "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",   "u2",    "f8e4m3", "f8e3m4"};
    return type >= 0 && type < std::int64_t(kNames.size()) ? kNames[std::size_t(type)] : "type" + std::to_string(type);
}

/// The text of a shape: "f32[4,8]{1,0}", "(f32[4], s32[])".
std::string shapeText(std::string_view bytes, int depth = 0) {
    const Message shape(bytes);
    const auto parts = shape.all(4);
    if (shape.number(2) == 13 && depth < kMostDepth) {
        std::string out;
        for (const auto part : parts) out += (out.empty() ? "" : ", ") + shapeText(part, depth + 1);
        return "(" + out + ")";
    }
    const auto order = Message(shape.text(5)).numbers(1);
    return typeName(shape.number(2).value_or(0)) + "[" + joined(shape.numbers(3)) + "]" +
           (order.empty() ? "" : "{" + joined(order) + "}");
}

template<class Number> std::string shortest(Number value) {
    std::array<char, 40> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// The value of a constant with one element of a common type; for others XLA's text {...}.
std::string literalText(std::string_view bytes) {
    const Message literal(bytes);
    for (const std::int64_t dim : Message(literal.text(1)).numbers(3))
        if (dim != 1) return "{...}";
    if (const auto floats = literal.text(8); floats.size() == 4) {
        float value = 0;
        std::memcpy(&value, floats.data(), 4);
        return shortest(value);
    }
    for (const std::uint32_t field : {4u, 5u, 6u, 7u}) // the fields for s32, s64, u32 and u64
        if (const auto values = literal.numbers(field); values.size() == 1) return shortest(values[0]);
    if (const auto values = literal.text(2); values.size() == 1) return values[0] != 0 ? "true" : "false";
    if (const auto values = literal.text(3); values.size() == 1) return shortest(int(std::uint8_t(values[0])));
    if (const auto values = literal.text(15); values.size() == 1) return shortest(int(std::int8_t(values[0])));
    if (const auto values = literal.text(13); values.size() == 2) {
        std::uint16_t half = 0;
        std::memcpy(&half, values.data(), 2);
        return shortest(std::bit_cast<float>(std::uint32_t(half) << 16));
    }
    return "{...}";
}

struct Names {
    std::map<std::int64_t, std::string> instructions, computations;
    static std::string of(const std::map<std::int64_t, std::string>& names, std::int64_t id) {
        const auto found = names.find(id);
        return "%" + (found == names.end() ? std::to_string(id) : found->second);
    }
};

std::string dotText(const Message& dot) {
    std::string out;
    constexpr std::array<std::pair<std::uint32_t, const char*>, 4> kSides = {
        {{3, "lhs_batch_dims"}, {1, "lhs_contracting_dims"}, {4, "rhs_batch_dims"}, {2, "rhs_contracting_dims"}}};
    for (const auto& [field, name] : kSides)
        if (const auto dims = dot.numbers(field); !dims.empty())
            out += std::string(", ") + name + "={" + joined(dims) + "}";
    return out;
}

/// The attributes of an instruction, which follow its operands.
std::string attributesText(const Message& instruction, std::string_view opcode, const Names& names) {
    std::string out;
    const auto add = [&](const char* key, std::string_view value) {
        (out += ", ").append(key).append("=").append(value);
    };
    if (const auto dims = instruction.numbers(14); !dims.empty()) add("dimensions", "{" + joined(dims) + "}");
    if (opcode == "get-tuple-element") add("index", std::to_string(instruction.number(13).value_or(0)));
    if (const auto dot = instruction.text(30); !dot.empty()) out += dotText(Message(dot));
    if (const auto sizes = instruction.numbers(34); !sizes.empty()) add("slice_sizes", "{" + joined(sizes) + "}");
    std::string slices;
    for (const auto part : instruction.all(17)) {
        const Message slice(part);
        const std::int64_t step = slice.number(3).value_or(1);
        slices += (slices.empty() ? "[" : ", [") + std::to_string(slice.number(1).value_or(0)) + ":" +
                  std::to_string(slice.number(2).value_or(0)) + (step == 1 ? "" : ":" + std::to_string(step)) + "]";
    }
    if (!slices.empty()) add("slice", "{" + slices + "}");
    if (const auto direction = instruction.text(63); !direction.empty()) add("direction", direction);
    if (const auto kind = instruction.text(11); !kind.empty()) add("kind", kind);
    if (const auto target = instruction.text(28); !target.empty())
        add("custom_call_target", "\"" + std::string(target) + "\"");
    std::string called;
    for (const std::int64_t id : instruction.numbers(38))
        called += (called.empty() ? "" : ", ") + Names::of(names.computations, id);
    if (!called.empty()) add(opcode == "fusion" ? "calls" : "to_apply", called);
    return out;
}

std::string instructionText(const Message& instruction, bool root, const Names& names) {
    const std::string_view opcode = instruction.text(2);
    std::string operands;
    if (opcode == "parameter") operands = std::to_string(instruction.number(9).value_or(0));
    if (opcode == "constant") operands = literalText(instruction.text(8));
    for (const std::int64_t id : instruction.numbers(36))
        operands += (operands.empty() ? "" : ", ") + Names::of(names.instructions, id);
    return std::string(root ? "  ROOT %" : "  %") + std::string(instruction.text(1)) + " = " +
           shapeText(instruction.text(3)) + " " + std::string(opcode) + "(" + operands + ")" +
           attributesText(instruction, opcode, names) + "\n";
}

std::string moduleText(const Message& module) {
    Names names;
    std::vector<Message> computations;
    for (const auto bytes : module.all(3)) {
        const Message& computation = computations.emplace_back(bytes);
        names.computations[computation.number(5).value_or(0)] = computation.text(1);
    }
    if (computations.empty() || module.text(1).empty()) return {};
    std::string out = "HloModule " + std::string(module.text(1)) + "\n";
    for (const Message& computation : computations) {
        const bool entry = computation.number(5) == module.number(6);
        names.instructions.clear(); // ids are unique only within a computation
        for (const auto part : computation.all(2)) {
            const Message instruction(part);
            names.instructions[instruction.number(35).value_or(0)] = instruction.text(1);
        }
        out += std::string("\n") + (entry ? "ENTRY %" : "%") + std::string(computation.text(1)) + " {\n";
        for (const auto part : computation.all(2)) {
            const Message instruction(part);
            out += instructionText(instruction, instruction.number(35) == computation.number(6), names);
        }
        out += "}\n";
    }
    return out;
}

} // namespace

std::string hloText(std::string_view serialized) {
    const auto fields = fieldsOf(serialized);
    if (!fields || fields->empty()) return {};
    const Message outer(serialized);
    std::string text = moduleText(Message(outer.text(1))); // a message that holds the module and a configuration
    return text.empty() ? moduleText(outer) : text;
}

} // namespace qs::pjrt
