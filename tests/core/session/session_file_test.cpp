// SPDX-License-Identifier: GPL-3.0-or-later
// Session files: written data is restored, foreign and newer files are refused, and changes of the sources are
// reported.
#include "core/model/hdf5/image.h"
#include "core/model/model.h"
#include "core/model/output/atomic_file.h"
#include "core/session/kept_results.h"
#include "core/session/session_file.h"
#include "core/session/session_wire.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <limits>

using namespace qs;
using namespace qs::test;

namespace {

SessionFile made() {
    SessionFile session;
    session.opened = "/models/tiny";
    session.sources = {{"/models/tiny/a.safetensors", std::string(64, 'a'), 1'000, 5},
                       {"/models/tiny/b \xc3\xa9.safetensors", "", 0, -5}};
    session.recipe = R"({"version":1,"default":"nf4:block=64","rules":[]})";
    session.history = {{"nf4:block=64", "int8", false},
                       {"nf4:block=128", "int8", true, "down_proj=int8\nx=keep", true}};
    session.history[1].levels = {"nf4", {-1, -0.25, 0.5, 1}, "Lloyd-Max"};
    session.history[1].budget = 4.25;
    session.at = 1;
    session.kept = {{"audit", "{\"findings\":[]}"}, {"bench", std::string(100'000, 'x')}};
    session.view = {{"page", "tensor"}, {"tensor", "layers.0.w\n\"x\""}};
    session.results = {{"nf4:block=64", {"a", "b"}, {"nmse", "bpw"}, {0.25, 4.5, std::nan(""), 1e-300}},
                       {"int8", {}, {"nmse"}, {}}};
    return session;
}

} // namespace

class SessionFileTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void comesBack();
    void sameSessionSameBytes();
    void replacesWhole();
    void refused_data();
    void refused();
    void everyTruncationIsRefused();
    void keptNamesHaveOneRule();
    void sourcesThatChanged();
    void benchmarksAreKept();
    void resultsThatLieAreRefused_data();
    void resultsThatLieAreRefused();

private:
    std::string at(const char* name) const { return folder_.filePath(QString::fromLatin1(name)).toStdString(); }
    QByteArray bytesOf(const std::string& path) const {
        QFile file(q(path));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    QTemporaryDir folder_;
};

void SessionFileTest::comesBack() {
    const auto session = made();
    const auto written = writeSession(at("a.qscope"), session);
    QVERIFY2(written, written ? "" : written.error().message.c_str());
    const auto read = readSession(at("a.qscope"));
    QVERIFY2(read, read ? "" : read.error().message.c_str());
    QCOMPARE(q(read->opened), q(session.opened));
    QCOMPARE(read->sources.size(), std::size_t(2));
    for (std::size_t i = 0; i < 2; ++i) {
        QCOMPARE(q(read->sources[i].path), q(session.sources[i].path));
        QCOMPARE(q(read->sources[i].sha256), q(session.sources[i].sha256));
        QCOMPARE(read->sources[i].size, session.sources[i].size);
        QCOMPARE(read->sources[i].mtimeNs, session.sources[i].mtimeNs);
    }
    QCOMPARE(q(read->recipe), q(session.recipe));
    QVERIFY(read->history == session.history);
    QCOMPARE(read->at, session.at);
    QVERIFY(read->view == session.view);
    QVERIFY(read->kept == session.kept);
    QCOMPARE(read->results.size(), std::size_t(2));
    QCOMPARE(q(read->results[0].spec), QStringLiteral("nf4:block=64"));
    QCOMPARE(read->results[0].tensors, session.results[0].tensors);
    QCOMPARE(read->results[0].metrics, session.results[0].metrics);
    const auto& values = read->results[0].values;
    QCOMPARE(values.size(), std::size_t(4));
    QCOMPARE(values[0], 0.25);
    QVERIFY(std::isnan(values[2])); // not measured stays not measured
    QVERIFY(values[3] == 1e-300);
    QVERIFY(read->results[1].values.empty());
    const auto model = openModel(at("a.qscope"));
    QVERIFY(!model && model.error().message.find("is a session of QuantScope") != std::string::npos);
}

/// What can be written can be read, and what could not be read is not written.
void SessionFileTest::keptNamesHaveOneRule() {
    const std::string longest(40, 'a');
    for (const std::string& name : {std::string("evidence-begun"), std::string("-"), longest}) {
        QVERIFY2(isKeptName(name), name.c_str());
        SessionFile session = made();
        session.kept = {{name, "text"}};
        QVERIFY(writeSession(at("names.qscope"), session));
        const auto read = readSession(at("names.qscope"));
        QVERIFY(read && read->kept == session.kept);
    }
    const std::string path = at("refused.qscope");
    for (const std::string& name :
         {std::string(), std::string("Audit"), std::string("lab_2"), std::string("a/b"), longest + "a"}) {
        QVERIFY2(!isKeptName(name), name.c_str());
        SessionFile session = made();
        session.kept = {{name, "text"}};
        const auto written = writeSession(path, session);
        QVERIFY2(!written && written.error().message.find("small letters") != std::string::npos, name.c_str());
        QVERIFY(!QFile::exists(q(path)));
        QVERIFY2(!sessionFromText(sessionText(session)), name.c_str());
    }
}

void SessionFileTest::sameSessionSameBytes() {
    QVERIFY(writeSession(at("one.qscope"), made()));
    QVERIFY(writeSession(at("two.qscope"), made()));
    QVERIFY(!bytesOf(at("one.qscope")).isEmpty());
    QCOMPARE(bytesOf(at("one.qscope")), bytesOf(at("two.qscope")));
}

void SessionFileTest::replacesWhole() {
    QVERIFY(writeSession(at("again.qscope"), made()));
    auto other = made();
    other.view["page"] = "overview";
    QVERIFY(writeSession(at("again.qscope"), other));
    QCOMPARE(q(readSession(at("again.qscope"))->view.at("page")), QStringLiteral("overview"));
    QVERIFY(!writeSession(at("nowhere/x.qscope"), other));
}

void SessionFileTest::refused_data() {
    QTest::addColumn<QString>("says");
    QTest::newRow("later") << QStringLiteral(
        "was saved by a later QuantScope (session version 2; this one reads up to 1)");
    QTest::newRow("no version") << QStringLiteral("names no version of a session");
    QTest::newRow("other HDF5") << QStringLiteral("is not a session of QuantScope");
    QTest::newRow("parts missing") << QStringLiteral("is a damaged session: it has no /recipe");
    QTest::newRow("no JSON") << QStringLiteral("is a damaged session: text that is no JSON object");
    QTest::newRow("step out of range") << QStringLiteral("is a damaged session: 'at' is not a count up to 0");
    QTest::newRow("a text") << QStringLiteral("cannot be read as HDF5");
    QTest::newRow("missing") << QStringLiteral("does not exist");
    QTest::newRow("folder") << QStringLiteral("is a folder, not a regular file");
}

void SessionFileTest::refused() {
    QFETCH(QString, says);
    const QByteArray tag = QTest::currentDataTag();
    const std::string session = R"({"opened":"","sources":[],"history":[],"at":0,"view":{},"results":0})";
    const auto write = [&](const std::map<std::string, std::string>& attributes, const std::vector<Hdf5Text>& texts) {
        const auto image = hdf5Image("made", attributes, texts, {});
        return image && writeWholeFile(at("x.qscope"), *image);
    };
    const std::map<std::string, std::string> one{{"quantscope_session", "1"}};
    QFile::remove(q(at("x.qscope")));
    std::string path = at("x.qscope");
    if (tag == "later") QVERIFY(write({{"quantscope_session", "2"}}, {{"/session", session}}));
    if (tag == "no version") QVERIFY(write({{"quantscope_session", "new"}}, {{"/session", session}}));
    if (tag == "other HDF5") QVERIFY(write({}, {{"/session", session}}));
    if (tag == "parts missing") QVERIFY(write(one, {{"/session", session}}));
    if (tag == "no JSON") QVERIFY(write(one, {{"/session", "[1]"}}));
    if (tag == "step out of range") {
        auto wrong = session;
        wrong.replace(wrong.find("\"at\":0"), 6, "\"at\":7");
        QVERIFY(write(one, {{"/session", wrong}, {"/recipe", "{}"}}));
    }
    if (tag == "a text") QVERIFY(writeWholeFile(path, "Dear diary"));
    if (tag == "missing") path = at("missing.qscope");
    if (tag == "folder") path = folder_.path().toStdString();
    const auto read = readSession(path);
    QVERIFY(!read);
    QVERIFY2(q(read.error().message).contains(says), read.error().message.c_str());
    QVERIFY2(q(read.error().message).contains(q(path)), read.error().message.c_str());
}

void SessionFileTest::everyTruncationIsRefused() {
    QVERIFY(writeSession(at("whole.qscope"), made()));
    const auto whole = bytesOf(at("whole.qscope"));
    for (qsizetype n = 0; n < whole.size(); n += whole.size() / 7) {
        QFile cut(q(at("cut.qscope")));
        QVERIFY(cut.open(QIODevice::WriteOnly) && cut.write(whole.left(n)) == n);
        cut.close();
        QVERIFY2(!readSession(at("cut.qscope")), QByteArray::number(n).constData());
    }
}

void SessionFileTest::benchmarksAreKept() {
    BenchmarkRow row;
    row.question.backend = "cpu", row.question.device = "cpu:0", row.question.spec = "nf4",
    row.question.op = "matmul_t", row.question.act = "f32";
    row.question.m = 1, row.question.n = 4096, row.question.k = 11008, row.question.cache = CacheState::Warm,
    row.verdict.status = RowState::Declined;
    row.verdict.reason = "quotes \" and\nlines \xc3\xa9", row.check.nmse = 1.0 / 3, row.timing.medianNs = 12345.678;
    row.timing.ciNs = Interval{1.5, 2.5}, row.timing.samples = {1, 2, ~std::uint64_t(0)},
    row.timing.roundMedians = {0.1, 1e300};
    row.answer.kernel.weightBytes = -1, row.timing.busy = true, row.answer.artifacts = {{"asm", "nop"}};
    KeptBench bench;
    bench.plan.specs = {{"nf4", *parseSpec("nf4")}};
    bench.plan.shapes = {{1, 4096, 11008, "w"}};
    bench.plan.caches = {CacheState::Warm};
    bench.backends = {"cpu", "openblas"};
    bench.run.roofs = {{"cpu", "cpu:0", "read_bw", 1e10, 7, ""}};
    bench.run.passes.emplace_back().ns = 17;
    bench.run.provenance = {{"clock", "3 GHz"}};
    const auto one = std::make_shared<const std::string>(keptBenchRow(row));
    const auto text = keptBench(bench, {one, one});
    const auto back = benchKept(text, nullptr);
    QVERIFY2(back, back ? "" : back.error().message.c_str());
    QCOMPARE(back->run.rows.size(), std::size_t(2));
    for (const auto& read : back->run.rows) QCOMPARE(q(keptBenchRow(read)), q(*one));
    QVERIFY(back->run.rows[0].verdict.status == RowState::Declined &&
            back->run.rows[0].question.cache == CacheState::Warm);
    QVERIFY(!back->run.rows[0].verdict.speedup && back->run.rows[0].check.nmse == 1.0 / 3);
    QVERIFY(back->backends == bench.backends && back->plan.backends.empty()); // nothing to load comes out of a file
    QVERIFY(back->plan.shapes == bench.plan.shapes && back->plan.caches == bench.plan.caches);
    QCOMPARE(q(back->plan.specs.at(0).first), QStringLiteral("nf4"));
    QVERIFY(!back->complete && back->run.roofs.at(0).samples == 7 && back->run.passes.at(0).ns == 17.0);
    QVERIFY(back->run.provenance == bench.run.provenance);
    for (std::size_t n = 0; n < text.size(); n += text.size() / 9) QVERIFY(!benchKept(text.substr(0, n), nullptr));
}

void SessionFileTest::resultsThatLieAreRefused_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* tag, const char* kind, const char* text) {
        QTest::newRow(tag) << QString::fromLatin1(kind) << QString::fromLatin1(text);
    };
    row("an unknown check", "audit",
        R"({"findings":[{"check":"luck","tensor":"","evidence":""}],"tensors":1,"bytes":1,"seconds":1})");
    row("a count below 0", "audit", R"({"findings":[],"tensors":-1,"bytes":1,"seconds":1})");
    row("a list of numbers", "audit", R"({"findings":[1],"tensors":1,"bytes":1,"seconds":1})");
    row("nested", "audit", R"({"findings":[[[[[[[[[[[]]]]]]]]]]],"tensors":1,"bytes":1,"seconds":1})");
    row("points missing", "sweep",
        R"({"tensors":[],"classes":["all"],"specs":[],"points":[],"seconds":1,"source_bytes":1,"complete":true,"as_source":false})");
    row("no certificate", "export", R"({"layout":"native","path":"p","certificate":"{}"})");
    row("another file", "diff",
        R"({"other":"/nowhere/at/all","paths":[],"sizes":[],"times":[],"rows":[],"bytes":1,"equal_left_out":0,"seconds":1})");
}

void SessionFileTest::resultsThatLieAreRefused() {
    QFETCH(QString, kind);
    QFETCH(QString, text);
    const auto said = [](const auto& result) { return result ? QString() : q(result.error().message); };
    const auto from = text.toStdString();
    const auto model = std::make_shared<Model>();
    const auto why = kind == u"audit"   ? said(auditKept(from))
                     : kind == u"sweep" ? said(sweepKept(from, model))
                     : kind == u"diff"  ? said(diffKept(from, model, {}))
                                        : said(exportKept(from));
    QVERIFY(!why.isEmpty());
}

void SessionFileTest::sourcesThatChanged() {
    const auto original = q(at("model.safetensors"));
    QVERIFY(QFile::copy(QStringLiteral(QS_TEST_DATA "/keras/bf16.weights.h5.safetensors"), original));
    QFile::setPermissions(original, QFile::ReadOwner | QFile::WriteOwner);
    SessionFile session;
    {
        const auto model = openModel(original.toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        const auto sources = sourcesOf(**model, 1 << 20);
        QVERIFY(sources);
        session.sources = *sources;
        const auto unhashed = sourcesOf(**model, 10);
        QVERIFY(unhashed && unhashed->at(0).sha256.empty());
    }
    QCOMPARE(session.sources.size(), std::size_t(1));
    QCOMPARE(session.sources[0].sha256.size(), std::size_t(64));
    const auto sentence = [&] {
        const auto changed = changedSources(session);
        return !changed ? q(changed.error().message) : changed->empty() ? QString() : q(changed->front());
    };
    QCOMPARE(sentence(), QString());

    const QByteArray bytes = bytesOf(at("model.safetensors"));
    const auto put = [&](const QByteArray& with, int secondsLater) {
        QFile file(original);
        if (!file.open(QIODevice::WriteOnly) || file.write(with) != with.size() || !file.flush()) return false;
        return file.setFileTime(QDateTime::currentDateTimeUtc().addSecs(secondsLater), QFile::FileModificationTime);
    };
    QVERIFY(put(bytes, 100)); // same content with a new time
    QCOMPARE(sentence(), QString());
    auto other = bytes;
    other[other.size() - 1] = char(other[other.size() - 1] ^ 1);
    QVERIFY(put(other, 200));
    QVERIFY2(sentence().contains(QStringLiteral("another SHA-256")), qPrintable(sentence()));
    session.sources[0].sha256.clear();
    QVERIFY2(sentence().contains(QStringLiteral("may have changed")), qPrintable(sentence()));
    QVERIFY(put(bytes + "x", 300));
    QVERIFY2(sentence().contains(QStringLiteral("has changed since this session was saved: it had ")),
             qPrintable(sentence()));
    QVERIFY(QFile::remove(original));
    QVERIFY2(sentence().contains(QStringLiteral("is not there")), qPrintable(sentence()));
}

QS_TEST(SessionFileTest)
#include "session_file_test.moc"
