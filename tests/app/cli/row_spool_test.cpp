// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of a long table in a temporary file: in the order of their keys, whatever order they come in.
#include "app/cli/row_spool.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;
using qs::cli::RowSpool;

namespace {

std::vector<Value> row(int number) {
    return {std::int64_t(number), "row " + std::to_string(number), number % 3 == 0, Value(), number / 4.0};
}

/// The numbers of all rows, each of which must be as it was written.
QList<int> read(RowSpool& spool) {
    QList<int> out;
    for (std::size_t i = 0; i < spool.size(); ++i) {
        const auto cells = spool.row(i);
        const int number = cells.empty() ? -1 : int(std::get<std::int64_t>(cells.front()));
        out.push_back(cells == row(number) ? number : -1);
    }
    return out;
}

} // namespace

class RowSpoolTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void inOrder() {
        RowSpool spool;
        for (const int n : {3, 5, 5, 8}) QVERIFY(spool.add(std::uint64_t(n), row(n)));
        spool.sort();
        const QList<int> wanted{3, 5, 5, 8};
        QCOMPARE(read(spool), wanted);
        QCOMPARE(read(spool), wanted); // again from the first
        QCOMPARE(spool.rows(1, 2).size(), std::size_t(2));
    }
    /// A row that comes too late makes the spool find the places of all rows before it.
    void someComeLate() {
        RowSpool spool;
        for (const int n : {10, 20, 30, 15, 40, 5}) QVERIFY(spool.add(std::uint64_t(n), row(n)));
        spool.sort();
        const QList<int> wanted{5, 10, 15, 20, 30, 40};
        QCOMPARE(read(spool), wanted);
        QCOMPARE(read(spool), wanted);
        const auto some = spool.rows(2, 2);
        QVERIFY(some.size() == 2 && some[0] == row(15) && some[1] == row(20));
    }
    void equalKeysKeepTheirOrder() {
        RowSpool spool;
        for (const int n : {7, 8, 1, 2, 3}) QVERIFY(spool.add(std::uint64_t(n < 5 ? 4 : 9), row(n)));
        spool.sort();
        const QList<int> wanted{1, 2, 3, 7, 8};
        QCOMPARE(read(spool), wanted);
    }
    void withoutKeys() {
        RowSpool spool;
        for (const int n : {9, 1, 4}) QVERIFY(spool.add(row(n)));
        const QList<int> wanted{9, 1, 4};
        QCOMPARE(read(spool), wanted);
    }
};

QS_TEST(RowSpoolTest)
#include "row_spool_test.moc"
