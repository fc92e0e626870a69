// SPDX-License-Identifier: GPL-3.0-or-later
// Rows become table cells. A value that was not measured must never be a number.
#include "core/base/column.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <limits>

using namespace qs;
using namespace std::string_literals;

namespace {
constexpr Show kShows[] = {Show::Text,        Show::Name,       Show::Code,    Show::Integer, Show::Bytes, Show::Fixed,
                           Show::Significant, Show::Scientific, Show::Percent, Show::Shape,   Show::Time,  Show::Times};
ColumnInfo column(Show show, int decimals = 2) {
    ColumnInfo info;
    info.id = "x";
    info.title = "X";
    info.show = show;
    info.decimals = decimals;
    return info;
}
} // namespace

class ColumnTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void notMeasuredIsNeverZero() {
        for (const auto show : kShows) {
            const ColumnInfo info = column(show);
            QCOMPARE(isNotMeasured(info, {}), isNumeric(info));
            QCOMPARE(cellText(info, {}), isNumeric(info) ? "not measured"s : "-"s); // words that do not apply
            QVERIFY(!isNotMeasured(info, 0.0));
            ColumnInfo fact = info; // such as the bytes of what is not written
            fact.isMeasured = false;
            QVERIFY(!isNotMeasured(fact, {}));
            QCOMPARE(cellText(fact, {}), "-"s);
        }
    }
    void cells() {
        QCOMPARE(cellText(column(Show::Text), true), "yes"s);
        QCOMPARE(cellText(column(Show::Text), false), "no"s);
        QCOMPARE(cellText(column(Show::Text), "q4_0"s), "q4_0"s);
        QCOMPARE(cellText(column(Show::Shape), "[2, 3]"s), "[2, 3]"s);
        QCOMPARE(cellText(column(Show::Integer), std::int64_t(-3)), "-3"s);
        QCOMPARE(cellText(column(Show::Integer), 41.6), "42"s);
        QCOMPARE(cellText(column(Show::Fixed, 4), 4.5), "4.5000"s);
        QCOMPARE(cellText(column(Show::Fixed), -0.0), "0.00"s);
        QCOMPARE(cellText(column(Show::Percent, 1), 0.125), "12.5 %"s);
        QCOMPARE(cellText(column(Show::Significant, 3), 0.0381), "0.0381"s);
        QCOMPARE(cellText(column(Show::Significant, 0), 0.03812), "0.03812"s);
        // Stored in ns, shown in the unit of the charts.
        QCOMPARE(cellText(column(Show::Time, 4), 512300.0), "512.3"s);
        QCOMPARE(cellText(column(Show::Time, 4), std::int64_t(1500)), "1.500"s);
        QCOMPARE(cellText(column(Show::Times, 4), "[512300,530100]"s), "[512.3,530.1]"s);
        QCOMPARE(cellText(column(Show::Times, 4), "none"s), "none"s);
        // All values of a column have the same notation, for any magnitude.
        QCOMPARE(cellText(column(Show::Scientific, 4), 0.0381), "3.81e-02"s);
        QCOMPARE(cellText(column(Show::Scientific, 4), 1.24e-7), "1.24e-07"s);
        QCOMPARE(cellText(column(Show::Scientific, 4), 0.0), "0"s);
        QCOMPARE(cellText(column(Show::Scientific, 4), std::numeric_limits<double>::quiet_NaN()), "nan"s);
        QCOMPARE(cellText(column(Show::Fixed), std::numeric_limits<double>::infinity()), "inf"s);
    }
    void bytes() {
        QCOMPARE(cellText(column(Show::Bytes), std::int64_t(3575644)), "3.41 MiB"s);
        QCOMPARE(cellText(column(Show::Bytes), 2048.0), "2.00 KiB"s);
        // A difference of sizes may be negative; it must not become 16 EiB.
        QCOMPARE(cellText(column(Show::Bytes), std::int64_t(-2048)), "-2.00 KiB"s);
        QCOMPARE(cellText(column(Show::Bytes), std::numeric_limits<std::int64_t>::min()), "-8.00 EiB"s);
        QCOMPARE(cellText(column(Show::Bytes), -2048.0), "-2.00 KiB"s);
        QCOMPARE(cellText(column(Show::Bytes), std::numeric_limits<double>::quiet_NaN()), "nan"s);
        QCOMPARE(cellText(column(Show::Bytes), std::numeric_limits<double>::infinity()), "inf"s);
    }
    void headers() {
        ColumnInfo info = column(Show::Fixed);
        info.title = "SQNR";
        QCOMPARE(headerText(info), "SQNR"s);
        info.unit = "dB";
        info.better = Direction::HigherIsBetter;
        QCOMPARE(headerText(info), "SQNR dB ↑"s);
        info.better = Direction::LowerIsBetter;
        QCOMPARE(headerText(info), "SQNR dB ↓"s);
    }
    void numeric() {
        for (const auto show : kShows)
            QCOMPARE(isNumeric(column(show)), show != Show::Text && show != Show::Name && show != Show::Code &&
                                                  show != Show::Shape && show != Show::Times);
    }
    void tables() {
        struct Row {
            std::string name;
            Value error;
        };
        Columns<Row> columns(2);
        columns[0].id = "name";
        columns[0].value = [](const Row& row) -> Value { return row.name; };
        columns[1].id = "error";
        columns[1].show = Show::Fixed;
        columns[1].value = [](const Row& row) { return row.error; };
        const Table table = makeTable<Row>("T", columns, {{"a", 0.5}, {"b", {}}});
        QCOMPARE(table.title, "T"s);
        QCOMPARE(table.columns.size(), std::size_t(2));
        QCOMPARE(table.rows.size(), std::size_t(2));
        QCOMPARE(cellText(table.columns[1], table.rows[0][1]), "0.50"s);
        QCOMPARE(cellText(table.columns[1], table.rows[1][1]), "not measured"s);
        QCOMPARE(cellText(table.columns[0], table.rows[1][0]), "b"s);
    }
    void columnsAreChosenById() {
        Columns<int> columns(3);
        for (std::size_t i = 0; i < 3; ++i) columns[i].id = std::string(1, char('a' + i));
        const auto ids = [](const Columns<int>& some) {
            std::string out;
            for (const auto& column : some) out += column.id;
            return out;
        };
        QCOMPARE(ids(columns.pick({"c", "a"})), "ca"s);
        QCOMPARE(ids(columns.without({"b"})), "ac"s);
        QCOMPARE(columns.indexOf("b"), std::size_t(1));
    }
};

QS_TEST(ColumnTest)
#include "column_test.moc"
