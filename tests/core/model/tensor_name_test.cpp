// SPDX-License-Identifier: GPL-3.0-or-later
// Names of tensors: texts in shared chunks.
#include "core/model/tensor_name.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

using namespace qs;

class TensorNameTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readLikeAText() {
        const TensorName name = "blk.3.attn_q.weight";
        QCOMPARE(sizeof name, sizeof(void*));
        QVERIFY(name == "blk.3.attn_q.weight" && name == std::string("blk.3.attn_q.weight") && name != "blk.3");
        QVERIFY(name < TensorName("blk.4") && name > std::string_view("blk.2"));
        QVERIFY(name.starts_with("blk.") && name.ends_with(".weight") && name.find(".attn") == 5);
        QCOMPARE(name.rfind(".3"), std::size_t(3));
        QCOMPARE(name.substr(6, 6), std::string("attn_q"));
        QCOMPARE(name + ".scale", std::string("blk.3.attn_q.weight.scale"));
        QCOMPARE(std::string("model.") + name, std::string("model.blk.3.attn_q.weight"));
        QCOMPARE(fmt::format("{:>21}", name), std::string("  blk.3.attn_q.weight"));
        QCOMPARE(std::string(name.c_str()), name.text());
        const std::string text = name;
        QVERIFY(text == name);
    }
    void empty() {
        const TensorName none, same = "";
        QVERIFY(none.empty() && same.empty() && none == same && none == "" && none.size() == 0);
        QVERIFY(none.begin() == none.end() && std::string(none.c_str()).empty());
    }
    /// Lengths around those that need more bytes for the length, or a chunk of their own.
    void everyLength() {
        for (const std::size_t n : {1, 7, 253, 254, 255, 256, 8000, 8190, 8200, 65000, 65470, 65536, 300000}) {
            std::string text(n, 'a');
            for (std::size_t i = 0; i < n; ++i) text[i] = char('a' + i % 26);
            const TensorName name = text, copy = name;
            QVERIFY2(name == text && copy == text && name.size() == n, qPrintable(QString::number(n)));
            QCOMPARE(name.c_str()[n], '\0');
        }
        const std::string withNull("a\0b", 3);
        QVERIFY(TensorName(withNull) == withNull);
    }
    void copiesOutliveTheFirst() {
        TensorName kept;
        {
            const TensorName first = "model.layers.0.mlp.up_proj.weight";
            kept = first;
            QVERIFY(kept.c_str() == first.c_str()); // one text
        }
        TensorName moved = std::move(kept);
        QVERIFY(moved == "model.layers.0.mlp.up_proj.weight");
        moved = moved; // NOLINT(clang-diagnostic-self-assign-overloaded): it must be harmless
        QVERIFY(moved == "model.layers.0.mlp.up_proj.weight");
        moved = "other";
        QVERIFY(moved == "other");
    }
    /// Names that one thread makes, that others copy, and that are destroyed after their thread.
    void threads() {
        std::vector<TensorName> names;
        std::thread([&] {
            for (int i = 0; i < 20'000; ++i) names.emplace_back(fmt::format("layers.{}.weight", i));
        }).join();
        std::vector<std::thread> team;
        for (int t = 0; t < 3; ++t)
            team.emplace_back([&] {
                for (int round = 0; round < 3; ++round) {
                    const std::vector<TensorName> copies = names;
                    std::vector<TensorName> own;
                    for (const auto& name : copies) own.emplace_back(name + ".scale");
                }
            });
        for (auto& thread : team) thread.join();
        for (int i = 0; i < 20'000; ++i) QVERIFY(names[std::size_t(i)] == fmt::format("layers.{}.weight", i));
    }
    /// Every second of many names goes, so chunks are emptied and left half empty.
    void manyThatGo() {
        std::vector<TensorName> names;
        for (int i = 0; i < 50'000; ++i) names.emplace_back(fmt::format("experts.{}.w", i));
        for (std::size_t i = 0; i < names.size(); i += 2) names[i] = {};
        for (std::size_t i = 0; i < 10'000; ++i) names[i] = {};
        for (std::size_t i = 10'001; i < names.size(); i += 2) QVERIFY(names[i] == fmt::format("experts.{}.w", i));
    }
};

QS_TEST(TensorNameTest)
#include "tensor_name_test.moc"
