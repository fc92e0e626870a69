// SPDX-License-Identifier: GPL-3.0-or-later
// The list of tensors to write: rows give back what was put in, names are compared in pieces, and a part of a model is
// listed like the whole.
#include "core/model/tensors_to_write.h"

#include "core/model/model.h"
#include "core/model/safetensors/safetensors.h"
#include "tests/core/model/made_file.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <map>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

/// Sources with given names. A field has the name that the list was told.
class NamedSources final : public TensorMaker {
public:
    explicit NamedSources(std::vector<std::string> names) : names_(std::move(names)) {}
    std::string_view nameOf(std::uint32_t source) const override { return names_[source]; }
    Result<TensorToWrite> make(std::uint32_t source, std::uint32_t field) override {
        return TensorToWrite{names_[source] + "#" + std::to_string(field), DType::F32, {1}, {}};
    }
    std::pair<std::string, std::string> metadataOf(std::uint32_t source) const override {
        return {"about." + names_[source], std::to_string(source)};
    }

private:
    std::vector<std::string> names_;
};

int sign(int order) { return (order > 0) - (order < 0); }

std::vector<std::string> namesOf(const TensorsToWrite& list) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < list.size(); ++i) names.push_back(list.nameOf(i));
    return names;
}

} // namespace

class TensorsToWriteTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void namesAreKept() {
        NamedSources maker({"a.weight", "", "b", std::string(70'000, 'x')});
        TensorsToWrite list(maker);
        const std::vector<std::pair<std::uint32_t, std::string>> rows = {
            {0, "a.weight"}, {0, "a.weight.scale"}, {0, "a.codes"},  {0, "other"},
            {1, ""},         {1, "from nothing"},   {2, "\xc3\xa9"}, {3, std::string(70'000, 'x') + ".scale"},
            {3, "x"}};
        for (const auto& [source, name] : rows) list.add(source, 0, name, {DType::U8, {2, 3}});
        QCOMPARE(list.size(), rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            QVERIFY2(list.nameOf(i) == rows[i].second, rows[i].second.c_str());
            for (std::size_t k = 0; k < rows.size(); ++k)
                QCOMPARE(sign(list.compareNames(i, k)), sign(rows[i].second.compare(rows[k].second)));
        }
        QCOMPARE(list.bytesOf(0), std::uint64_t(6));
        QCOMPARE(list.bytes(), 6 * std::uint64_t(rows.size()));
    }

    /// More kinds and endings than neighbours are searched for, in two lists that become one.
    void sortedLikeStrings() {
        std::mt19937 random(7);
        const auto letters = [&] {
            std::string text(random() % 4, 'a');
            for (char& c : text) c = "ab.\xff"[random() % 4];
            return text;
        };
        std::vector<std::string> sources;
        for (int i = 0; i < 400; ++i) sources.push_back(letters());
        NamedSources maker(sources);
        TensorsToWrite list, other(maker), third(maker);
        std::vector<std::string> wanted;
        std::multimap<std::pair<int, std::string>, std::int64_t> byType;
        for (std::uint32_t i = 0; i < 400; ++i) {
            const std::string name = sources[i].substr(0, random() % 3) + letters();
            const TensorsToWrite::Kind kind{i % 3 ? DType::F32 : DType::U8, {std::int64_t(i % 200)}};
            (i % 2 ? other : third).add(i, 0, name, kind);
            wanted.push_back(name);
            byType.emplace(std::pair(-int(kind.dtype), name), std::int64_t(i % 200));
        }
        list.append(other), list.append(third);
        QVERIFY(other.empty() && third.empty());
        list.sortByName();
        std::ranges::sort(wanted);
        QVERIFY(namesOf(list) == wanted);
        list.sortByTypeAndName();
        auto next = byType.begin();
        for (std::size_t i = 0; i < list.size(); ++i, ++next) {
            QCOMPARE(-int(list.kindOf(i).dtype), next->first.first);
            QCOMPARE(list.nameOf(i), next->first.second);
        }
        std::vector<std::uint32_t> backwards(list.size());
        for (std::uint32_t i = 0; i < backwards.size(); ++i) backwards[i] = std::uint32_t(backwards.size()) - 1 - i;
        auto names = namesOf(list);
        std::ranges::reverse(names);
        list.permute(backwards);
        QVERIFY(namesOf(list) == names);
    }

    void tensorsAreMadeWhenTheyAreAskedFor() {
        NamedSources maker({"w"});
        TensorsToWrite list(maker);
        list.add(0, 0, "w.a", {});
        list.add(0, 7, "w.b", {});
        QCOMPARE(list.make(1)->name, std::string("w#7"));
        const auto together = std::make_shared<const ProducedTogether>();
        const TensorsToWrite kept({{"a", DType::U8, {1}, {}, nullptr, nullptr},
                                   {"b", DType::U8, {1}, {}, nullptr, together},
                                   {"c", DType::U8, {1}, {}, nullptr, together}});
        QVERIFY(!kept.kindOf(0).isTogether && kept.kindOf(1).isTogether);
        QVERIFY(kept.groupOf(1) == kept.groupOf(2) && kept.groupOf(0) != kept.groupOf(1));
        QVERIFY(kept.placeInGroup(1) < kept.placeInGroup(2));
        QCOMPARE(kept.make(2)->name, std::string("c"));
    }

    /// In a file they stand among the other metadata, sorted by key. One about the same tensor replaces an older one.
    void descriptionsAreMetadata() {
        NamedSources maker({"b", "a10", "a9"});
        TensorsToWrite list(maker);
        for (const std::uint32_t source : {0u, 1u, 2u}) list.describe(source);
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("m.safetensors")).toStdString();
        QVERIFY(writeSafetensors(path, std::move(list), {{"about.a9", "older"}, {"zoo", "z"}}, nullptr, Job()));
        QFile file(QString::fromStdString(path));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains(R"({"about.a10":"1","about.a9":"2","about.b":"0","format":"pt","zoo":"z"})"));
    }

    /// All parts of a file, of a sharded set and of a folder together are what the whole is.
    void partsOfAModel() {
        const QTemporaryDir folder;
        const auto tensors = [](int first, int last) {
            std::vector<TensorToWrite> list;
            for (int i = first; i < last; ++i)
                list.push_back(made("t" + std::to_string(i), i % 3 ? DType::F32 : DType::U8, {i % 5, 4},
                                    std::vector<std::uint8_t>(std::size_t(i % 5) * 4 * (i % 3 ? 4 : 1))));
            return list;
        };
        const auto path = [&](const char* name) { return folder.filePath(QString::fromLatin1(name)).toStdString(); };
        const std::map<std::string, std::string> about{{"quantscope.t1", "1"}, {"quantscope.t8", "8"}, {"k", "v"}};
        QVERIFY(writeSafetensors(path("model-00001-of-00002.safetensors"), tensors(0, 7), about, nullptr, Job()));
        QVERIFY(writeSafetensors(path("model-00002-of-00002.safetensors"), tensors(7, 20), {}, nullptr, Job()));
        QByteArray index = R"({"metadata":{},"weight_map":{)";
        for (int i = 0; i < 20; ++i)
            index += (i ? ",\"t" : "\"t") + QByteArray::number(i) + "\":\"model-0000" + (i < 7 ? "1" : "2") +
                     "-of-00002.safetensors\"";
        put(folder.path(), QStringLiteral("model.safetensors.index.json"), index + "}}");
        for (const std::string& from : {path("model-00001-of-00002.safetensors"), path("model.safetensors.index.json"),
                                        folder.path().toStdString()}) {
            const auto whole = openModel(from);
            QVERIFY2(whole, from.c_str());
            std::size_t seen = 0;
            for (const bool even : {true, false}) {
                const ModelPart part{[&](std::string_view name) { return (name.back() % 2 == 0) == even; },
                                     [&](std::string_view key) { return key == "quantscope.t1"; }};
                const auto opened = openModel(from, {.part = &part});
                QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
                QVERIFY((*opened)->warnings.empty());
                seen += (*opened)->tensors.size();
                for (const TensorInfo& tensor : (*opened)->tensors) {
                    QVERIFY(part.hasTensor(tensor.name));
                    const TensorInfo* same = (*whole)->find(tensor.name);
                    QVERIFY(same && same->offset == tensor.offset && same->bytes == tensor.bytes &&
                            same->shape == tensor.shape && same->file == tensor.file && same->dtype == tensor.dtype);
                }
                const auto& metadata = (*opened)->files.front().metadata;
                QVERIFY(metadata.size() == 1 && metadata.contains("quantscope.t1"));
            }
            QCOMPARE(seen, (*whole)->tensors.size());
        }
    }

    /// What is wrong outside the part is an error too.
    void partsAreCheckedAsWhole_data() {
        QTest::addColumn<QByteArray>("others");
        QTest::addColumn<QString>("says");
        const auto tensor = [](const char* name, const char* shape, const char* offsets) {
            return QByteArray(",\"") + name + "\":{\"dtype\":\"U8\",\"shape\":" + shape +
                   ",\"data_offsets\":" + offsets + "}";
        };
        QTest::newRow("fine") << tensor("b", "[4]", "[4,8]") + tensor("c", "[8]", "[8,16]") << QString();
        QTest::newRow("gap") << tensor("b", "[3]", "[4,7]") + tensor("c", "[8]", "[8,16]")
                             << QStringLiteral("do not follow each other without gaps");
        QTest::newRow("overlap") << tensor("b", "[5]", "[4,9]") + tensor("c", "[8]", "[8,16]")
                                 << QStringLiteral("do not follow each other without gaps");
        QTest::newRow("gap and overlap of the same size")
            << tensor("b", "[3]", "[4,7]") + tensor("c", "[9]", "[7,16]") + tensor("d", "[4]", "[8,12]")
            << QStringLiteral("do not follow each other without gaps");
        QTest::newRow("short") << tensor("b", "[4]", "[4,8]") << QStringLiteral("do not follow each other");
        QTest::newRow("shape, which leaves the others")
            << tensor("b", "[5]", "[4,8]") + tensor("c", "[8]", "[8,16]") << QString();
        QTest::newRow("elements") << tensor("b", "[9007199254740992,9007199254740992]", "[4,8]") +
                                         tensor("c", "[8]", "[8,16]")
                                  << QStringLiteral("tensor \"b\": the number of elements overflows 64 bits");
        QTest::newRow("reversed") << tensor("b", "[4]", "[8,4]") + tensor("c", "[8]", "[8,16]")
                                  << QStringLiteral("tensor \"b\": data_offsets is reversed");
    }
    void partsAreCheckedAsWhole() {
        QFETCH(QByteArray, others);
        QFETCH(QString, says);
        const QByteArray header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})" + others + "}";
        const QByteArray file = madeFile(header, QByteArray(16, 'x'));
        const auto bytes = std::as_bytes(std::span(file.constData(), std::size_t(file.size())));
        const ModelPart part{[](std::string_view name) { return name == "a"; }, [](std::string_view) { return true; }};
        const auto read = parseSafetensorsHeader(bytes, bytes.size(), "f", nullptr, {}, &part);
        if (says.isEmpty()) {
            QVERIFY2(read, read ? "" : read.error().message.c_str());
            QCOMPARE(read->tensors.size(), std::size_t(1));
            return;
        }
        QVERIFY(!read);
        QVERIFY2(QString::fromStdString(read.error().message).contains(says), read.error().message.c_str());
    }
};

QS_TEST(TensorsToWriteTest)
#include "tensors_to_write_test.moc"
