// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/nearest_word.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <vector>

using namespace qs;

class NearestWordTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nearest_data();
    void nearest();
};

void NearestWordTest::nearest_data() {
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("found");
    const auto row = [](const char* typed, const char* found) {
        QTest::newRow(typed) << QString::fromLatin1(typed) << QString::fromLatin1(found);
    };
    row("int9", "int8"); // not int2, which also differs by one edit
    row("nf5", "nf4");
    row("fp8_e4m8", "fp8_e4m3");
    row("fp8-E4M3", "fp8_e4m3");
    row("fp8_e4m3fn", "fp8_e4m3"); // the longest word that the text begins with
    row("fp8_e4m3fnuz2", "fp8_e4m3fnuz");
    row("fp8", "fp8_e4m3");  // the first word that begins with the text
    row("e5m2", "fp8_e5m2"); // part of a word
    row("iq4nl", "iq4_nl");
    row("Q4_K_M", "q4_k");
    row("itn8", "int8"); // two letters swapped
    row("xyzzy", "");    // similar to no word
    row("", "");
    row("nothing_of_the_kind", "");
    QTest::newRow("long") << QString(1000000, QLatin1Char('q')) << QString();
}

void NearestWordTest::nearest() {
    static const std::vector<std::string_view> words = {"nf4",      "int8",         "int2",     "fp8_e4m3",
                                                        "fp8_e5m2", "fp8_e4m3fnuz", "q4_0",     "q4_k",
                                                        "iq4_nl",   "iq4_xs",       "codebook", "ternary"};
    QFETCH(QString, typed);
    QFETCH(QString, found);
    const auto at = nearestWord(typed.toStdString(), words);
    QCOMPARE(at ? QString::fromUtf8(words[*at].data(), qsizetype(words[*at].size())) : QString(), found);
    QVERIFY(!nearestWord("nf4", {}));
}

QS_TEST(NearestWordTest)
#include "nearest_word_test.moc"
