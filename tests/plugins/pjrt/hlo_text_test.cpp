// SPDX-License-Identifier: GPL-3.0-or-later
// An optimized HLO program, built byte by byte, must give the text that XLA prints for it.
#include "plugins/pjrt/hlo_text.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <initializer_list>

using qs::pjrt::hloText;

namespace {

std::string varint(std::uint64_t value) {
    std::string out;
    for (; value > 127; value >>= 7) out += char((value & 127) | 128);
    return out + char(value);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(unsigned field, const std::string& text) {
    return varint(field << 3 | 2) + varint(text.size()) + text;
}
std::string packed(unsigned field, std::initializer_list<std::uint64_t> values) {
    std::string all;
    for (const auto value : values) all += varint(value);
    return bytes(field, all);
}
std::string shape(unsigned type, std::initializer_list<std::uint64_t> dims) {
    return number(2, type) + packed(3, dims) + (dims.size() > 1 ? bytes(5, packed(1, {1, 0})) : std::string());
}
std::string instruction(unsigned id, const char* name, const char* opcode, const std::string& type,
                        const std::string& more) {
    return bytes(2, bytes(1, name) + bytes(2, opcode) + bytes(3, type) + number(35, id) + more);
}

/// y = x W^T with s8 weights, a constant, and a fused sum.
std::string module() {
    const std::string two("\0\0\0\x40", 4); // 2.0 in f32
    const std::string fused = bytes(1, "sum") + instruction(1, "p", "parameter", shape(11, {4, 8}), number(9, 0)) +
                              instruction(2, "s", "negate", shape(11, {4, 8}), packed(36, {1})) + number(5, 7) +
                              number(6, 2);
    const std::string dot = packed(1, {1}) + packed(2, {1});
    const std::string main =
        bytes(1, "main") + instruction(1, "x", "parameter", shape(11, {4, 16}), number(9, 0)) +
        instruction(2, "w", "parameter", shape(2, {8, 16}), number(9, 1)) +
        instruction(3, "c", "constant", shape(11, {}), bytes(8, bytes(1, shape(11, {})) + bytes(8, two))) +
        instruction(4, "many", "constant", shape(11, {3}), bytes(8, bytes(1, shape(11, {3})))) +
        instruction(5, "y", "dot", shape(11, {4, 8}), number(36, 1) + number(36, 2) + bytes(30, dot)) +
        instruction(6, "f", "fusion", shape(11, {4, 8}), packed(36, {5}) + bytes(11, "kLoop") + packed(38, {7})) +
        instruction(9, "all", "tuple", number(2, 13) + bytes(4, shape(11, {4, 8})) + bytes(4, shape(16, {})),
                    packed(36, {6, 3})) +
        number(5, 8) + number(6, 9);
    return bytes(1, "product") + bytes(3, fused) + bytes(3, main) + number(6, 8);
}

constexpr const char* kText = R"(HloModule product

%sum {
  %p = f32[4,8]{1,0} parameter(0)
  ROOT %s = f32[4,8]{1,0} negate(%p)
}

ENTRY %main {
  %x = f32[4,16]{1,0} parameter(0)
  %w = s8[8,16]{1,0} parameter(1)
  %c = f32[] constant(2)
  %many = f32[3] constant({...})
  %y = f32[4,8]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  %f = f32[4,8]{1,0} fusion(%y), kind=kLoop, calls=%sum
  ROOT %all = (f32[4,8]{1,0}, bf16[]) tuple(%f, %c)
}
)";

} // namespace

class HloTextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void instructionsALine() {
        QCOMPARE(QString::fromStdString(hloText(module())), QString::fromLatin1(kText));
        QCOMPARE(hloText(bytes(1, module()) + bytes(2, "configuration")), hloText(module()));
    }

    /// Plugins may return anything, also truncated data.
    void whatIsNoModule() {
        for (const char* text : {"", "proto", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0a\x7f"})
            QCOMPARE(hloText(text), std::string());
        const std::string whole = bytes(1, module());
        for (std::size_t size = 0; size < whole.size(); ++size) QCOMPARE(hloText(whole.substr(0, size)), std::string());
        std::string deep = shape(11, {});
        for (int i = 0; i < 100; ++i) deep = number(2, 13) + bytes(4, deep);
        const std::string nested = bytes(1, "m") + instruction(1, "t", "tuple", deep, {});
        QVERIFY(!hloText(bytes(1, "deep") + bytes(3, nested)).empty());
    }
};

QS_TEST(HloTextTest)
#include "hlo_text_test.moc"
