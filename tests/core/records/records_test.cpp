// SPDX-License-Identifier: GPL-3.0-or-later
// Records of units: their bytes, their files, and how units are dealt out.
#include "core/records/input_hash.h"
#include "core/records/unit_run.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <sys/stat.h>

namespace {

enum class Colour : std::uint8_t { Red, Green };
constexpr Colour lastOf(Colour) { return Colour::Green; }

struct Inner {
    double value = 0;
    std::vector<float> list;
    bool operator==(const Inner&) const = default;
};
template<class Archive, qs::archive::Of<Inner> T> void fieldsOf(Archive& archive, T& inner) {
    archive(inner.value, inner.list);
}

struct Everything {
    bool flag = false;
    std::int64_t count = 0;
    Colour colour = Colour::Red;
    std::string text;
    std::vector<std::string> texts;
    std::vector<Inner> inners;
    std::optional<double> some, none;
    std::array<std::uint64_t, 2> pair{};
    std::vector<std::pair<std::uint32_t, std::uint64_t>> pairs;
    bool operator==(const Everything&) const = default;
};
template<class Archive, qs::archive::Of<Everything> T> void fieldsOf(Archive& archive, T& e) {
    archive(e.flag, e.count, e.colour, e.text, e.texts, e.inners, e.some, e.none, e.pair, e.pairs);
}

Everything example() {
    return {true,
            -7,
            Colour::Green,
            std::string("a\0b", 3),
            {"", "x"},
            {{0.1, {1, 2}}, {-0.0, {}}},
            std::numeric_limits<double>::infinity(),
            {},
            {1, ~std::uint64_t(0)},
            {{3, 4}}};
}

qs::RecordsOrigin origin() { return {{"analyze", "model with space"}, "about\n"}; }

std::string text(const QString& path) { return path.toStdString(); }

/// The first record of a key.
std::optional<std::string> first(const qs::RecordFiles& files, const std::string& key) {
    std::optional<std::string> out;
    files.find(key, [&](const std::string& bytes) {
        out = bytes;
        return true;
    });
    return out;
}

} // namespace

class TestRecords : public QObject {
    Q_OBJECT
    static qs::Result<std::unique_ptr<qs::UnitRun>> opened(const QTemporaryDir& dir, qs::Shard shard,
                                                           bool isMerge = false) {
        qs::UnitRun::Settings settings;
        settings.origin = origin(), settings.shard = shard, settings.isMerge = isMerge;
        if (isMerge)
            settings.places = {text(dir.path())};
        else
            settings.folder = text(dir.path());
        return qs::UnitRun::open(std::move(settings));
    }
    /// Goes through 10 units. Returns the squares of those that are there.
    static std::vector<double> squares(qs::UnitRun& run) {
        std::vector<double> out;
        run.begin(10);
        for (int i = 0; i < 10; ++i) {
            const auto unit = run.unit<double>(
                [&] { return qs::Result<std::string>(std::to_string(i)); }, "unit " + std::to_string(i), 1,
                [&]() -> qs::Result<double> { return std::sqrt(double(i)); }, [&](double read) { return read >= 0; });
            if (unit && *unit) out.push_back(**unit);
        }
        return out;
    }
    static QStringList files(const QTemporaryDir& dir) {
        return QDir(dir.path()).entryList({QStringLiteral("*.records")});
    }

private Q_SLOTS:
    void valuesComeBack() {
        const std::string bytes = qs::archive::bytesOf(example());
        const auto back = qs::archive::valueOf<Everything>(bytes);
        QVERIFY(back && *back == example() && std::signbit(back->inners[1].value));
        // No part of the bytes, and no more bytes, are a value.
        for (std::size_t n = 0; n < bytes.size(); ++n)
            QVERIFY(!qs::archive::valueOf<Everything>(std::string_view(bytes).substr(0, n)));
        QVERIFY(!qs::archive::valueOf<Everything>(bytes + "x"));
    }
    void wrongBytesTakeNoMemory() {
        std::mt19937 random(1);
        const std::string good = qs::archive::bytesOf(example());
        for (int round = 0; round < 2000; ++round) {
            std::string bytes = good;
            for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = char(random());
            (void)qs::archive::valueOf<Everything>(bytes); // a length of 2^63 must not be allocated
        }
        const std::uint64_t huge = std::uint64_t(1) << 62;
        QVERIFY(!qs::archive::valueOf<std::vector<double>>(qs::archive::bytesOf(huge)));
    }
    void shardsAreRead() {
        const auto shard = qs::parseShard("2/4");
        QVERIFY(shard && shard->index == 1 && shard->count == 4);
        QCOMPARE(shard->text(), std::string("2 of 4"));
        for (const char* wrong : {"", "2", "0/4", "5/4", "2/4x", "/4", "2/", "-1/4", "1/99999999999", "a/b"})
            QVERIFY2(!qs::parseShard(wrong), wrong);
    }
    void recordsAreForgotten() {
        const QTemporaryDir dir;
        const auto add = [&](const char* about) {
            auto files = qs::RecordFiles::open({}, text(dir.path()), {{}, about});
            return files && files->add("a", "1") && files->write();
        };
        QVERIFY(add("one") && add("two"));
        auto one = qs::RecordFiles::open({}, text(dir.path()), {{}, "one"});
        QVERIFY(one && one->size() == 1 && one->add("b", "2") && one->add("c", "3"));
        QVERIFY(one->forget());
        QVERIFY(!first(*one, "a") && !first(*one, "c") && one->size() == 0);
        QCOMPARE(files(dir).size(), 1); // of the other
        QVERIFY(one->add("a", "4") && one->write());
        QCOMPARE(first(*one, "a"), std::optional<std::string>("4"));
    }
    void oldRecordsAreDeleted() {
        namespace fs = std::filesystem;
        const QTemporaryDir dir;
        const auto now = fs::file_time_type::clock::now();
        const auto hours = [&](int count) { return now - std::chrono::hours(count); };
        const auto write = [&](const char* about, int age) {
            const QStringList before = files(dir);
            auto records = qs::RecordFiles::open({}, text(dir.path()), {{}, about});
            if (!records || !records->add("a", std::string(1000, 'x')) || !records->write()) return QString();
            for (const QString& name : files(dir))
                if (!before.contains(name)) {
                    fs::last_write_time(text(dir.filePath(name)), hours(age));
                    return name;
                }
            return QString();
        };
        const QString oldest = write("a", 9), old = write("b", 8), young = write("c", 1), youngest = write("d", 0);
        QVERIFY(!oldest.isEmpty() && !old.isEmpty() && !young.isEmpty() && !youngest.isEmpty());
        const QString wrong = QStringLiteral("wrong.records"); // it may be what a failing disk has left of one
        QFile other(dir.filePath(QStringLiteral("a.txt"))), wrongFile(dir.filePath(wrong));
        QVERIFY(other.open(QIODevice::WriteOnly) && wrongFile.open(QIODevice::WriteOnly));
        const auto kept = [&](std::uint64_t most, int age) {
            qs::RecordFiles::trim(text(dir.path()), most, hours(age));
            QStringList names = files(dir);
            names.sort();
            return names;
        };
        const auto sorted = [](QStringList names) {
            names.sort();
            return names;
        };
        QCOMPARE(kept(1 << 20, 24), sorted({oldest, old, young, youngest, wrong}));
        QCOMPARE(kept(3500, 24), sorted({old, young, youngest, wrong}));
        QCOMPARE(kept(3500, 5), sorted({young, youngest, wrong}));
        QCOMPARE(kept(1500, 5), sorted({youngest, wrong}));
        QVERIFY(other.exists());
        QVERIFY(qs::RecordFiles::open({}, text(dir.path()), {{}, "d"})); // what is no file of records is no hindrance
        qs::RecordFiles::trim(text(dir.filePath(QStringLiteral("none"))), 0, now); // no folder: nothing to do
    }
    void everyUnitHasOneShard() {
        std::mt19937 random(2);
        for (const std::size_t count : {1u, 2u, 3u, 7u, 100u}) {
            std::vector<double> weights;
            for (int i = 0; i < 50; ++i) weights.push_back(i % 7 == 0 ? 0 : double(random() % 1000));
            double total = 0, largest = 0;
            for (const double w : weights) total += w, largest = std::max(largest, w);
            std::vector<int> owners(weights.size(), 0);
            for (std::size_t i = 0; i < count; ++i) {
                qs::ShardDealer dealer({i, count}, total);
                double own = 0;
                for (std::size_t u = 0; u < weights.size(); ++u)
                    if (dealer.takes(weights[u])) ++owners[u], own += weights[u];
                QVERIFY(std::abs(own - total / double(count)) <= largest + 1e-9);
            }
            QVERIFY(std::all_of(owners.begin(), owners.end(), [](int n) { return n == 1; }));
        }
        qs::ShardDealer nothing({0, 3}, 0); // units without weight belong to the first shard
        QVERIFY(nothing.takes(0));
    }
    void resultsDoNotDependOnShards() {
        const QTemporaryDir alone;
        const auto whole = opened(alone, {});
        QVERIFY(whole);
        const auto expected = squares(**whole);
        QCOMPARE(expected.size(), std::size_t(10));
        for (const std::size_t count : {1u, 3u, 10u, 12u}) {
            const QTemporaryDir dir;
            for (std::size_t i = count; i-- > 0;) {
                auto run = opened(dir, {i, count});
                QVERIFY(run);
                squares(**run);
                const auto done = (*run)->finish();
                QVERIFY(done && *done == (*run)->isWhole());
            }
            auto merge = opened(dir, {}, true);
            QVERIFY(merge && squares(**merge) == expected);
            QCOMPARE((*merge)->computed(), std::size_t(0));
            const auto done = (*merge)->finish();
            QVERIFY(done && *done);
        }
    }
    void missingUnitsAreNamed() {
        const QTemporaryDir dir;
        auto first = opened(dir, {0, 2});
        QVERIFY(first);
        squares(**first);
        QVERIFY((*first)->finish());
        QCOMPARE((*first)->shardText(),
                 std::string("Shard 1 of 2: 5 units computed, 0 were there, 5 are of other shards."));
        auto merge = opened(dir, {}, true);
        QVERIFY(merge);
        squares(**merge);
        const auto done = (*merge)->finish();
        QVERIFY(!done);
        QVERIFY2(done.error().message.find("5 of 10 units are missing: unit 5; unit 6; unit 7; and 2 more.") == 0,
                 done.error().message.c_str());
        auto again = opened(dir, {}); // computes the rest alone
        QVERIFY(again && squares(**again).size() == 10);
        QCOMPARE((*again)->found(), std::size_t(5));
        QCOMPARE((*again)->computed(), std::size_t(5));
    }
    void partsAskForTheirOwnUnits() {
        const QTemporaryDir dir;
        {
            auto first = opened(dir, {0, 2});
            QVERIFY(first);
            squares(**first);
        }
        qs::UnitRun::Settings settings;
        settings.origin = origin(), settings.folder = text(dir.path()), settings.shard = {1, 2}, settings.isPart = true;
        auto second = qs::UnitRun::open(settings);
        QVERIFY(second);
        std::vector<int> asked;
        (*second)->begin(4);
        for (int i = 0; i < 4; ++i)
            QVERIFY((*second)->unit<double>(
                [&]() -> qs::Result<std::string> {
                    asked.push_back(i);
                    return std::to_string(i);
                },
                "unit", 1, [] { return qs::Result<double>(1.0); }, [](double) { return true; }));
        QVERIFY((asked == std::vector<int>{2, 3}));
        QCOMPARE((*second)->leftOut(), std::size_t(2));
        auto whole = qs::UnitRun::open(settings); // a computation that depends on the other parts
        QVERIFY(whole);
        (*whole)->needOthers();
        QCOMPARE(squares(**whole).size(), std::size_t(10));
    }
    void recordsOfAnotherInputAreNotUsed() {
        const QTemporaryDir dir;
        {
            auto run = opened(dir, {});
            QVERIFY(run && squares(**run).size() == 10);
        }
        qs::UnitRun::Settings settings;
        settings.origin = {origin().command, "about another input\n"}, settings.folder = text(dir.path());
        auto run = qs::UnitRun::open(std::move(settings));
        QVERIFY(run);
        squares(**run);
        QCOMPARE((*run)->found(), std::size_t(0));
    }
    void changedFilesLoseOnlyWhatWasChanged() {
        const QTemporaryDir dir;
        {
            auto run = opened(dir, {});
            QVERIFY(run);
            squares(**run);
            QVERIFY((*run)->finish());
        }
        QVERIFY(!files(dir).isEmpty());
        QString largest;
        for (const QString& name : files(dir))
            if (largest.isEmpty() || QFileInfo(dir.filePath(name)).size() > QFileInfo(dir.filePath(largest)).size())
                largest = name;
        QFile file(dir.filePath(largest));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray good = file.readAll();
        file.close();
        const auto foundWith = [&](const QByteArray& bytes) {
            QFile changed(dir.filePath(largest));
            if (!changed.open(QIODevice::WriteOnly) || changed.write(bytes) != bytes.size()) return std::size_t(99);
            changed.close();
            auto merge = opened(dir, {}, true);
            if (!merge) return std::size_t(98);
            squares(**merge);
            return (*merge)->found();
        };
        QCOMPARE(foundWith(good), std::size_t(10));
        QVERIFY(foundWith(good.chopped(1)) < 10); // cut: the last record is not complete
        QByteArray flipped = good;
        flipped[flipped.size() - 1] = char(flipped[flipped.size() - 1] ^ 1);
        QVERIFY(foundWith(flipped) < 10);
        QCOMPARE(foundWith(good + "some bytes more"), std::size_t(10));
    }
    void aBadRecordHidesNoGoodOne() {
        const QTemporaryDir dir;
        const auto keepBad = [&](const std::string& bytes) {
            auto files = qs::RecordFiles::open({}, text(dir.path()), origin());
            return files && files->add("3", bytes) && files->write();
        };
        QVERIFY(keepBad("no number") && keepBad("nor this one"));
        {
            auto run = opened(dir, {});
            QVERIFY(run && squares(**run).size() == 10);
            QCOMPARE((*run)->computed(), std::size_t(10)); // the bad one is none
            QVERIFY((*run)->finish());
        }
        QVERIFY(keepBad("behind the good one") && keepBad(qs::archive::bytesOf(-1.0)) &&
                keepBad("x")); // -1 does not fit
        auto merge = opened(dir, {}, true);
        QVERIFY(merge && (*merge)->records() == 10);
        QCOMPARE(squares(**merge).size(), std::size_t(10));
        const auto done = (*merge)->finish();
        QVERIFY(done && *done);
    }
    void unknownValuesOfAnEnumAreRefused() {
        QVERIFY(qs::archive::valueOf<Colour>("\1") == Colour::Green);
        QVERIFY(!qs::archive::valueOf<Colour>("\2") && !qs::archive::valueOf<Colour>("\xff"));
    }
    void otherFilesAreRefused() {
        const QTemporaryDir dir;
        const auto refused = [&](const QString& path) {
            const auto origins = qs::RecordFiles::originsIn({text(path)});
            return !origins && !origins.error().message.empty();
        };
        QVERIFY(refused(dir.path())); // an empty folder
        QVERIFY(refused(dir.filePath(QStringLiteral("none.records"))));
        QFile file(dir.filePath(QStringLiteral("x.records")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("QSRECORD\xff\xff\xff\xff\xff\xff\xff\xff");
        file.close();
        QVERIFY(refused(file.fileName()));
        const QString fifo = dir.filePath(QStringLiteral("f.records"));
        QCOMPARE(::mkfifo(fifo.toLocal8Bit().constData(), 0600), 0);
        QVERIFY(refused(fifo)); // and nobody waits for it
    }
    void originsAreListedOnce() {
        const QTemporaryDir dir;
        for (std::size_t i = 0; i < 3; ++i) {
            auto run = opened(dir, {i, 3});
            QVERIFY(run);
            squares(**run);
        }
        const auto origins = qs::RecordFiles::originsIn({text(dir.path())});
        QVERIFY(origins);
        QCOMPARE(origins->size(), std::size_t(1));
        QVERIFY(origins->front() == origin());
    }
};

QS_TEST(TestRecords)
#include "records_test.moc"
