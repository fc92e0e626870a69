// SPDX-License-Identifier: GPL-3.0-or-later
// Effects of tensors in a session file come back as they were, and a damaged text is refused.
#include "core/session/kept_sensitivity.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;

class KeptSensitivityTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void comesBack();
};

void KeptSensitivityTest::comesBack() {
    eval::Sensitivity known;
    eval::SensitivityRow row;
    row.unit = "layers.0.w", row.spec = "nf4:block=64", row.how = "alone", row.layer = 0, row.role = "w";
    row.divergence = eval::Estimate{0.25, 0.01, 0.02}, row.nmse = 0.5, row.tokens = 7;
    known.rows = {row};
    row.isTensor = false, row.unit = "layer 3"; // not of one tensor: not kept
    known.rows.push_back(row);
    known.additivity.push_back({"nf4:block=64", "alone", 1, 0, 0.25, eval::Estimate{0.5, {}, {}}, 0.001, 0.5, ""});
    known.chunks = 3;
    const std::string text = keptSensitivity(known);
    const auto back = sensitivityKept(text);
    QVERIFY2(back, back ? "" : back.error().message.c_str());
    QCOMPARE(back->rows.size(), std::size_t(1));
    QCOMPARE(back->rows[0].unit, known.rows[0].unit);
    QCOMPARE(*back->rows[0].divergence->byChunk, 0.02);
    QVERIFY(!back->rows[0].gain && !back->rows[0].slope);
    QCOMPARE(*back->additivity[0].ratio, 0.5);
    QCOMPARE(back->chunks, std::size_t(3));
    QByteArray older = QByteArray::fromStdString(text);
    QVERIFY(older.contains("\"chunks\":3"));
    const auto before = sensitivityKept(older.replace("\"chunks\":3", "\"chunks\":null").toStdString());
    QVERIFY(before && before->chunks == 0); // an earlier version did not say it
    QCOMPARE(QString::fromStdString(keptSensitivity(*back)), QString::fromStdString(text));
    for (const std::size_t n : {std::size_t(0), text.size() / 2, text.size() - 1})
        QVERIFY(!sensitivityKept(text.substr(0, n)));
    QByteArray lie = QByteArray::fromStdString(text);
    QVERIFY(!sensitivityKept(lie.replace("\"by_chunk\":0.02", "\"by_chunk\":-1").toStdString()));
}

QS_TEST(KeptSensitivityTest)
#include "kept_sensitivity_test.moc"
