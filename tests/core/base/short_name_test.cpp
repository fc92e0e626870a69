// SPDX-License-Identifier: GPL-3.0-or-later
// Short names of tensors: the numbers of layers and experts must stay.
#include "core/base/short_name.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;

class ShortNameTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void within_data();
    void within();
    void numbersStay();
    void hostile();
    void shared();
    void oneNameEach();
    void briefIsNeverEmpty();

private:
    static QString text(std::string_view s) { return QString::fromUtf8(s.data(), qsizetype(s.size())); }
    static SharedParts of(const std::vector<std::string>& names) {
        return {names.size(), [&](std::size_t i) -> std::string_view { return names[i]; }};
    }
};

void ShortNameTest::within_data() {
    QTest::addColumn<int>("chars");
    QTest::addColumn<QString>("shown");
    const auto row = [](int chars, const char* shown) {
        QTest::addRow("%d", chars) << chars << QString::fromUtf8(shown);
    };
    row(60, "model.layers.12.mlp.experts.103.down_proj.weight");
    row(47, "model.layers.12.mlp.experts.103.down_proj");
    row(40, "…layers.12.mlp.experts.103.down_proj");
    row(35, "…12.mlp.experts.103.down_proj");
    row(28, "…12.…experts.103.down_proj");
    row(25, "…12.…103.down_proj");
    row(17, "…12.…103.down_…oj");
    row(13, "…12.…103.do…j");
}

void ShortNameTest::within() {
    QFETCH(int, chars);
    QFETCH(QString, shown);
    QCOMPARE(text(nameWithin("model.layers.12.mlp.experts.103.down_proj.weight", std::size_t(chars))), shown);
}

void ShortNameTest::numbersStay() {
    for (const char* name :
         {"model.layers.12.mlp.experts.103.down_proj.weight", "params/layers/12/experts/103/wo/kernel",
          "encoder.block.12.layer.103.DenseReluDense.wi.weight"})
        for (std::size_t chars = 16; chars < 60; ++chars) {
            const QString shown = text(nameWithin(name, chars));
            QVERIFY2(shown.size() <= qsizetype(chars), qPrintable(shown));
            QVERIFY2(shown.contains(u"12") && shown.contains(u"103"), qPrintable(shown));
        }
}

void ShortNameTest::hostile() {
    const std::string many(100'000, '.'), digits(100'000, '7');
    for (const std::string& name : {many, digits, digits + "." + digits, std::string(), std::string("."),
                                    std::string("ä.ö.ü"), "a." + std::string(100'000, 'x') + ".weight"})
        for (std::size_t chars = 1; chars < 40; ++chars)
            QVERIFY(text(nameWithin(name, chars)).size() <= qsizetype(chars));
}

void ShortNameTest::shared() {
    std::vector<std::string> names = {"lm_head.weight", "model.embed_tokens.weight", "model.norm.weight"};
    for (int layer = 0; layer < 4; ++layer)
        for (const char* role : {"mlp.down_proj.weight", "self_attn.q_proj.weight", "self_attn.q_proj.bias"})
            names.push_back("model.layers." + std::to_string(layer) + "." + role);
    const auto shared = of(names);
    QCOMPARE(text(shared.brief("model.layers.3.mlp.down_proj.weight")), QStringLiteral("3.mlp.down_proj"));
    QCOMPARE(text(shared.brief("model.embed_tokens.weight")), QStringLiteral("embed_tokens"));
    QCOMPARE(text(shared.brief("lm_head.weight")), QStringLiteral("lm_head"));
    QCOMPARE(text(shared.brief("model.layers.3.self_attn.q_proj.bias")), QStringLiteral("3.self_attn.q_proj.bias"));
    QCOMPARE(text(shared.sentence()), QStringLiteral("Names are without \"model.layers.\" and \".weight\"."));
    // The number of the only layer is not part of the common prefix.
    QCOMPARE(text(of({"h.0.a.weight", "h.0.b.weight"}).brief("h.0.a.weight")), QStringLiteral("0.a"));
    QCOMPARE(text(of({"w"}).brief("w")), QStringLiteral("w"));
    QCOMPARE(text(of({"a", "b"}).sentence()), QString());
}

void ShortNameTest::oneNameEach() {
    const std::vector<std::string> names = {"m.a.weight", "m.a", "m.b.weight", "m.c.weight", "a"};
    const auto shared = of(names);
    std::set<std::string_view> brief;
    for (const auto& name : names) brief.insert(shared.brief(name));
    QCOMPARE(brief.size(), names.size());
    QCOMPARE(text(shared.brief("m.b.weight")), QStringLiteral("b"));
}

void ShortNameTest::briefIsNeverEmpty() {
    for (const std::vector<std::string>& names : {std::vector<std::string>{"a.b.weight", "a.b.bias"},
                                                  {"weight", "weight"},
                                                  {"a.", "a."},
                                                  {"", ""},
                                                  {"x.weight", ".weight"}})
        for (const auto shared = of(names); const auto& name : names)
            QCOMPARE(shared.brief(name).empty(), name.empty());
}

QS_TEST(ShortNameTest)
#include "short_name_test.moc"
