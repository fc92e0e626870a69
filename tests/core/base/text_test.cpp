// SPDX-License-Identifier: GPL-3.0-or-later
// Text shown to users: hostile names, and the format of numbers.
#include "core/base/byte_count.h"
#include "core/base/text.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QtTest>

#include <array>
#include <limits>

using namespace qs;
using namespace std::string_literals;

class TextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void escapes_data();
    void escapes();
    void elidesTheMiddle();
    void neverSplitsACharacter();
    void aMegabyteIsNotRead();
    void shapes();
    void bytes();
    void byteCounts();
    void fixed();
    void significant();
    void durations();
    void sentences();

private:
    static QString shown(const std::string& s) { return QString::fromStdString(s); }
};

void TextTest::escapes_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* tag, const std::string& text, const QString& expected) {
        QTest::newRow(tag) << QByteArray(text.data(), qsizetype(text.size())) << expected;
    };
    row("plain", "model.layers.3.w", QStringLiteral("model.layers.3.w"));
    row("empty", "", QString());
    row("letters of the world", "\xc3\xa9\xd7\x90\xe4\xb8\xad\xf0\x9f\x99\x82", QStringLiteral("éא中🙂"));
    row("escape sequence", "\x1b[31m", QStringLiteral("\\u{1b}[31m"));
    row("line ends", "a\r\nb\t", QStringLiteral("a\\u{d}\\u{a}b\\u{9}"));
    row("NUL", "a\0b"s, QStringLiteral("a\\u{0}b"));
    row("DEL and C1", "\x7f\xc2\x85", QStringLiteral("\\u{7f}\\u{85}"));
    row("right-to-left override", "a\xe2\x80\xaegpj", QStringLiteral("a\\u{202e}gpj"));
    row("isolates", "\xe2\x81\xa6x\xe2\x81\xa9", QStringLiteral("\\u{2066}x\\u{2069}"));
    row("direction marks", "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", QStringLiteral("\\u{61c}\\u{200e}\\u{200f}"));
    row("separators", "\xe2\x80\xa8\xe2\x80\xa9", QStringLiteral("\\u{2028}\\u{2029}"));
    row("byte order mark", "\xef\xbb\xbfw", QStringLiteral("\\u{feff}w"));
    row("noncharacter", "\xf0\x9f\xbf\xbf", QStringLiteral("\\u{1ffff}"));
    row("lone byte", "a\xff", QStringLiteral("a\\xff"));
    row("lone continuation", "\x80z", QStringLiteral("\\x80z"));
    row("cut short", "w\xe2\x82", QStringLiteral("w\\xe2\\x82"));
    row("overlong slash", "\xc0\xaf", QStringLiteral("\\xc0\\xaf"));
    row("surrogate", "\xed\xa0\x80", QStringLiteral("\\xed\\xa0\\x80"));
    row("beyond Unicode", "\xf4\x90\x80\x80", QStringLiteral("\\xf4\\x90\\x80\\x80"));
}

void TextTest::escapes() {
    QFETCH(QByteArray, text);
    QFETCH(QString, expected);
    QCOMPARE(shown(escapeForPeople({text.data(), std::size_t(text.size())})), expected);
}

void TextTest::elidesTheMiddle() {
    const std::string exact(120, 'x');
    QCOMPARE(escapeForPeople(exact), exact);
    const std::string longer = "first" + std::string(200, '.') + "last";
    const QString out = shown(escapeForPeople(longer));
    QCOMPARE(out.size(), 120);
    QVERIFY(out.startsWith(QStringLiteral("first")) && out.endsWith(QStringLiteral("last")));
    QCOMPARE(out.count(QChar(0x2026)), 1);
    for (const std::size_t most : {0u, 1u, 2u, 3u, 7u, 100u})
        for (const std::size_t size : {0u, 1u, 2u, 8u, 101u, 5000u})
            QVERIFY2(shown(escapeForPeople(std::string(size, 'y'), most)).size() <=
                         qsizetype(std::max<std::size_t>(1, most)),
                     qPrintable(QStringLiteral("%1 of %2").arg(size).arg(most)));
}

void TextTest::neverSplitsACharacter() {
    for (int shift = 0; shift < 4; ++shift) {
        std::string name(std::size_t(shift), 'a');
        for (int i = 0; i < 2000; ++i) name += "\xf0\x9f\x99\x82";
        const QString out = shown(escapeForPeople(name));
        QVERIFY(!out.contains(QLatin1Char('\\')) && !out.contains(QChar::ReplacementCharacter));
        QCOMPARE(out.toUcs4().size(), 120);
    }
}

void TextTest::aMegabyteIsNotRead() {
    for (const char fill : {'n', '\x1b', '\xff', '\x80'}) {
        const std::string name(1 << 20, fill);
        QElapsedTimer timer;
        timer.start();
        std::size_t size = 0;
        for (int i = 0; i < 100; ++i) size = escapeForPeople(name).size();
        QVERIFY2(timer.elapsed() < 1000, qPrintable(QString::number(timer.elapsed()))); // the 100 MB are not scanned
        QVERIFY(size > 100 && size <= 8 * 120);
    }
}

void TextTest::shapes() {
    const std::array<std::int64_t, 10> dims{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const std::span all(dims);
    QCOMPARE(shapeText(all.first(0)), "[]"s);
    QCOMPARE(shapeText(all.first(2)), "[1, 2]"s);
    QCOMPARE(shapeText(all.first(8)), "[1, 2, 3, 4, 5, 6, 7, 8]"s);
    QCOMPARE(shapeText(all), "[1, 2, 3, 4, 5, 6, … 4 more]"s);
    QCOMPARE(shapeTimes(all.first(0)), "scalar"s);
    QCOMPARE(shapeTimes(all.first(2)), "1 × 2"s);
}

void TextTest::bytes() {
    QCOMPARE(bytesText(0), "0 B"s);
    QCOMPARE(bytesText(1023), "1023 B"s);
    QCOMPARE(bytesText(1024), "1.00 KiB"s);
    QCOMPARE(bytesText((1 << 20) - 1), "1.00 MiB"s); // not "1024.00 KiB"
    QCOMPARE(bytesText(3575644), "3.41 MiB"s);
    QCOMPARE(bytesText(std::uint64_t(5) << 40), "5.00 TiB"s);
    QCOMPARE(bytesText(std::numeric_limits<std::uint64_t>::max()), "16.00 EiB"s);
}

void TextTest::byteCounts() {
    const std::pair<const char*, std::uint64_t> right[] = {{"0", 0},
                                                           {"65536", 65536},
                                                           {"7B", 7},
                                                           {"512MiB", 512u << 20},
                                                           {"512M", 512u << 20},
                                                           {"1.5 GiB", 3ull << 29},
                                                           {"2GB", 2000000000},
                                                           {"1k", 1024}};
    for (const auto& [text, bytes] : right) {
        const auto parsed = parseByteCount(text);
        QVERIFY2(parsed && *parsed == bytes, text);
    }
    for (const char* text : {"", "GiB", "-1", "nan", "inf", "1e30", "1 Q", "1GiBs", "1  GiB", "0x10"})
        QVERIFY2(!parseByteCount(text), text);
}

void TextTest::fixed() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    QCOMPARE(fixedText(4.5, 4), "4.5000"s);
    QCOMPARE(fixedText(-0.0, 2), "0.00"s);
    QCOMPARE(fixedText(-0.001, 2), "0.00"s); // rounds to zero: no sign
    QCOMPARE(fixedText(-0.4, 0), "0"s);
    QCOMPARE(fixedText(-0.01, 2), "-0.01"s);
    QCOMPARE(fixedText(inf, 2), "inf"s);
    QCOMPARE(fixedText(-inf, 2), "-inf"s);
    QCOMPARE(fixedText(std::numeric_limits<double>::quiet_NaN(), 2), "nan"s);
}

void TextTest::significant() {
    QCOMPARE(significantText(0), "0"s);
    QCOMPARE(significantText(-0.0), "0"s);
    QCOMPARE(significantText(0.0381, 3), "0.0381"s);
    QCOMPARE(significantText(1.24e-7), "1.24e-07"s);
    QCOMPARE(significantText(123.456), "123.5"s);
    QCOMPARE(significantText(-123.456), "-123.5"s);
    QCOMPARE(significantText(123456), "123456"s);
    QCOMPARE(significantText(2.5e9), "2.50e+09"s);
    QCOMPARE(significantText(9.99999), "10.00"s); // rounding adds a digit before the point
    QCOMPARE(significantText(0.999999), "1.000"s);
    QCOMPARE(significantText(1000), "1000"s);
    QCOMPARE(significantText(std::numeric_limits<double>::quiet_NaN()), "nan"s);
    QCOMPARE(significantText(-std::numeric_limits<double>::infinity()), "-inf"s);
    QVERIFY(!significantText(std::numeric_limits<double>::denorm_min()).starts_with("0"));
}

void TextTest::durations() {
    QCOMPARE(durationText(0), "0.0 s"s);
    QCOMPARE(durationText(0.44), "0.4 s"s);
    QCOMPARE(durationText(59.94), "59.9 s"s);
    QCOMPARE(durationText(59.97), "1 min 0 s"s); // not "60.0 s"
    QCOMPARE(durationText(125), "2 min 5 s"s);
    QCOMPARE(durationText(3599.6), "1 h 0 min"s);
    QCOMPARE(durationText(7260), "2 h 1 min"s);
    for (const double none :
         {-1.0, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        QCOMPARE(durationText(none), "unknown"s);
}

void TextTest::sentences() {
    QCOMPARE(oneSentence("two\nlines\tand\rmore"), "two lines and more"s);
    QCOMPARE(oneSentence("\x1b[0m\x7f"), "\\x1b[0m\\x7f"s);
    QCOMPARE(oneSentence(std::string(500, 'x')), std::string(500, 'x'));
    for (int shift = 0; shift < 4; ++shift) {
        std::string message(std::size_t(shift), 'a');
        for (int i = 0; i < 400; ++i) message += "\xf0\x9f\x99\x82";
        const std::string out = oneSentence(message + "end.");
        QVERIFY2(out.size() <= 500 && out.size() > 450, qPrintable(QString::number(out.size())));
        QVERIFY(out.ends_with("end."));
        QVERIFY(!shown(out).contains(QChar::ReplacementCharacter)); // no character was split
    }
    QVERIFY(oneSentence(std::string(1 << 20, '\x01')).size() <= 500);
}

QS_TEST(TextTest)
#include "text_test.moc"
