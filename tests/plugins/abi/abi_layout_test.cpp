// SPDX-License-Identifier: GPL-3.0-or-later
// The structs of the backend interface must have the layout of layout.inc, in C and in C++, without hidden padding. The
// list must name every field of every struct.
#include "tests/plugins/abi/layout.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QRegularExpression>
#include <QtTest>
#include <span>

namespace {
const qs_layout_row cppRows[] = {
#include "tests/plugins/abi/layout.inc"
};

void check(std::span<const qs_layout_row> rows) {
    if (sizeof(void*) != 8) QSKIP("the committed list is for pointers of 8 bytes");
    for (std::size_t i = 0; i < rows.size();) {
        const qs_layout_row& type = rows[i++];
        QVERIFY2(!type.field, type.type);
        QVERIFY2(type.size == type.wantSize, type.type);
        std::size_t end = 0, fields = 0;
        for (; i < rows.size() && rows[i].field; ++i, ++fields) {
            const qs_layout_row& row = rows[i];
            const QByteArray name = QByteArray(row.type) + '.' + row.field;
            QCOMPARE(std::string(row.type), std::string(type.type));
            QVERIFY2(row.offset == row.wantOffset, name.constData());
            QVERIFY2(row.size == row.wantSize, name.constData());
            QVERIFY2(row.offset == end, (name + " follows a hole or a field that is not listed").constData());
            end = row.offset + row.size;
        }
        QCOMPARE(fields, type.wantOffset);
        QVERIFY2(end == type.size, (QByteArray(type.type) + " ends with a hole or a field not listed").constData());
    }
}
} // namespace

class AbiLayout : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void inCpp() { check(cppRows); }
    void inC() {
        std::size_t count = 0;
        const qs_layout_row* rows = qs_layout_of_c(&count);
        QCOMPARE(count, std::size(cppRows));
        check({rows, count});
    }
    void everyStructIsListed();
    void growingStructsBeginWithTheirSize();
    void everyFieldIsExplained();
};

void AbiLayout::everyStructIsListed() {
    QFile header(QStringLiteral(QS_SOURCE_DIR "/plugins/abi/quantscope_backend.h"));
    QVERIFY(header.open(QIODevice::ReadOnly));
    const QString text = QString::fromUtf8(header.readAll());
    static const QRegularExpression ending(QStringLiteral("^\\} (\\w+);"), QRegularExpression::MultilineOption);
    QStringList declared, listed;
    for (auto it = ending.globalMatch(text); it.hasNext();) declared << it.next().captured(1);
    for (const qs_layout_row& row : cppRows)
        if (!row.field) listed << QString::fromLatin1(row.type);
    QVERIFY(declared.size() > 10);
    QCOMPARE(listed, declared);
    QVERIFY(text.startsWith(QStringLiteral("/* SPDX-License-Identifier: Apache-2.0 */")));
    // The header includes only <stdint.h>.
    QCOMPARE(text.count(QStringLiteral("#include")), 1);
    QVERIFY(text.contains(QStringLiteral("#include <stdint.h>")));
}

void AbiLayout::growingStructsBeginWithTheirSize() {
    for (std::size_t i = 0; i + 1 < std::size(cppRows); ++i) {
        if (cppRows[i].field || std::string(cppRows[i].type) == "qs_kv") continue;
        QCOMPARE(std::string(cppRows[i + 1].field), std::string("struct_size"));
        QCOMPARE(cppRows[i + 1].size, std::size_t(4));
    }
}

/// Each field needs a comment on its line or above: its meaning, owner and unit. Sizes and padding are explained once,
/// at the top.
void AbiLayout::everyFieldIsExplained() {
    QFile header(QStringLiteral(QS_SOURCE_DIR "/plugins/abi/quantscope_backend.h"));
    QVERIFY(header.open(QIODevice::ReadOnly));
    bool inStruct = false, inComment = false, said = false;
    QString field;
    int explained = 0;
    for (const QString& raw : QString::fromUtf8(header.readAll()).split(u'\n')) {
        const QString line = raw.trimmed();
        if (raw.startsWith(QLatin1String("typedef struct {"))) inStruct = true, said = false;
        if (raw.startsWith(u'}')) inStruct = false;
        if (!inStruct || raw.startsWith(QLatin1String("typedef"))) continue;
        if (inComment || (field.isEmpty() && line.startsWith(QLatin1String("/*")))) {
            said = true;
            inComment = !line.endsWith(QLatin1String("*/"));
            continue;
        }
        field += u' ' + line;
        if (!field.contains(u';')) continue; // the declaration of a function continues on the next line
        const bool known = field.contains(QLatin1String(" struct_size;")) || field.contains(QLatin1String(" pad;"));
        QVERIFY2(said || known || field.contains(QLatin1String("/*")), qPrintable(field));
        explained += !known;
        inComment = field.contains(QLatin1String("/*")) && !field.contains(QLatin1String("*/"));
        said = false;
        field.clear();
    }
    QVERIFY(explained > 80);
}

QS_TEST(AbiLayout)
#include "abi_layout_test.moc"
