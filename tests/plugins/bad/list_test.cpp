// SPDX-License-Identifier: GPL-3.0-or-later
// Command `backends` with faulty plugins. Each must give a row, and the others must still be listed. Tested in the
// library and in the program.
#include "bad_source.h"

#include "core/bench/backend/backend_list.h"
#include "core/bench/backend/source_named.h"
#include "plugins/elf/elf_library.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <thread>

using namespace qs;
using namespace qs::test;

namespace {
bool elfDefines(const std::string& path, const std::string& symbol) { return readElfLibrary(path).defines(symbol); }

const std::pair<const char*, const char*> kExpected[] = {
    {"bad", "available"},           {"bad_crash", "crashed"},         {"bad_hang", "hung"},
    {"bad_abort", "crashed"},       {"bad_exit", "crashed"},          {"bad_noise", "available"},
    {"bad_wire", "crashed"},        {"bad_state", "crashed"},         {"bad_query", "crashed"},
    {"bad_load", "crashed"},        {"bad_table_null", "declined"},   {"bad_table_major", "declined"},
    {"bad_table_tiny", "crashed"},  {"bad_table_huge", "crashed"},    {"bad_table_old", "available"},
    {"bad_table_id", "crashed"},    {"bad_table_symbol", "declined"}, {"bad_table_library", "unavailable"},
    {"bad_table_ours", "declined"}, {"nowhere", "unavailable"},
};
std::string pathOf(const char* library) { return wholePath(q(QS_BAD_DIR "/") + q(library) + q(".so")).toStdString(); }
} // namespace

class TestList : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void shippedAreAlwaysRows() {
        const auto sources = backendSources({});
        QCOMPARE(sources.size(), std::size_t(4));
        const char* ids[] = {"cpu", "openblas", "cuda", "pjrt"};
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(q(sources[i].id), q(ids[i]));
            QVERIFY(sources[i].shipped);
        }
        QVERIFY(sources[0].built && sources[0].path.empty());
    }
    void pjrtPluginFromTheEnvironment() {
        const auto pathOption = [] {
            const auto sources = backendSources({});
            for (const auto& [key, value] : sources.back().options)
                if (key == "path") return value;
            return std::string();
        };
        qputenv("TPU_LIBRARY_PATH", "/opt/libtpu.so");
        QCOMPARE(q(pathOption()), q("/opt/libtpu.so"));
        qputenv("QUANTSCOPE_PJRT_PLUGIN", "/opt/first.so");
        QCOMPARE(q(pathOption()), q("/opt/first.so"));
        const auto named = backendSources({}, {{"path", "/opt/mine.so"}});
        QCOMPARE(named.back().options.size(), std::size_t(1));
        qunsetenv("TPU_LIBRARY_PATH");
        qunsetenv("QUANTSCOPE_PJRT_PLUGIN");
        QCOMPARE(q(pathOption()), QString());
    }
    /// Exported symbols are found by the ELF symbol table, not by a search in the bytes of the file.
    void definedSymbols() {
        const std::string query = "quantscope_backend_query";
        QVERIFY(elfDefines(pathOf("bad"), query));
        QVERIFY(elfDefines(pathOf("bad_query"), query)); // this library uses the older hash table
        for (const char* none : {"quantscope_backend_quer", "quantscope_backend_query2", "backend_query", "memcpy", ""})
            QVERIFY2(!elfDefines(pathOf("bad"), none) && !elfDefines(pathOf("bad_query"), none), none);
        QVERIFY(!elfDefines("/dev/zero", query) && !elfDefines("/", query) && !elfDefines("/nowhere", query));
        QTemporaryDir folder;
        const QString large = folder.filePath(q("large.so"));
        QVERIFY(QFile::copy(q(pathOf("bad_query")), large));
        QFile file(large);
        QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner));
        QVERIFY(file.open(QIODevice::ReadWrite) && file.resize(300 << 20) && file.seek(200 << 20));
        QVERIFY(file.write(QByteArray("\0GetPjrtApi\0", 12)) == 12 && file.flush());
        const auto bytesRead = [] { // bytes read by this process so far
            QFile io(q("/proc/self/io"));
            return io.open(QIODevice::ReadOnly) ? io.readAll().split('\n')[0].split(' ').last().toLongLong() : -1;
        };
        const auto before = bytesRead();
        QVERIFY(!isPjrtPlugin(large.toStdString())); // a text in the file is not a symbol
        QVERIFY(elfDefines(large.toStdString(), query));
        QVERIFY2(before > 0 && bytesRead() - before < 100'000, qPrintable(QString::number(bytesRead() - before)));
    }
    /// A truncated or overwritten file must give an answer, without a read beyond its end.
    void hostileTables() {
        QTemporaryDir folder;
        const QString path = folder.filePath(q("hostile.so"));
        const auto answer = [&] { return elfDefines(path.toStdString(), "quantscope_backend_query"); };
        for (const char* library : {"bad", "bad_query"}) {
            QFile file(q(pathOf(library))), out(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QByteArray whole = file.readAll();
            QVERIFY(out.open(QIODevice::ReadWrite | QIODevice::Truncate | QIODevice::Unbuffered));
            QVERIFY(out.write(whole) == whole.size() && answer());
            quint64 sections = 0; // e_shoff: offset of the section headers
            memcpy(&sections, whole.constData() + 40, 8);
            int kept = 0, tried = 0;
            for (const char fill : {'\0', '\x7f', '\xff'})
                for (const quint64 begin : {quint64(0), sections})
                    for (quint64 at = begin; at < std::min(begin + 2048, quint64(whole.size()) - 4); at += 4) {
                        QVERIFY(out.seek(qint64(at)) && out.write(QByteArray(4, fill)) == 4);
                        kept += answer();
                        ++tried;
                        QVERIFY(out.seek(qint64(at)) && out.write(whole.constData() + at, 4) == 4);
                    }
            QVERIFY(kept > 0 && kept < tried); // some overwritten bytes are not read at all
            QVERIFY(answer());
            for (int part = 15; part >= 0; --part) QVERIFY(out.resize(whole.size() * part / 16) && !answer());
        }
    }
    /// A backend with options is listed beside the plain one.
    void sourcesWithOptions() {
        const auto sources = backendSources({});
        const auto own = sourceWithOptions("openblas:coretype=default", sources);
        QVERIFY(own && own->shipped && own->path == sources[1].path);
        QCOMPARE(q(own->base), q("openblas"));
        QCOMPARE(q(*own->option("coretype")), q("default"));
        const auto tpu = sourceWithOptions("pjrt:topology=v6e:1x1,chips_per_host_bounds=1,1,1,path=/a=b,c", sources);
        QVERIFY(tpu);
        QCOMPARE(q(*tpu->option("topology")), q("v6e:1x1"));
        QCOMPARE(q(*tpu->option("chips_per_host_bounds")), q("1,1,1"));
        QCOMPARE(q(*tpu->option("path")), q("/a=b,c"));
        for (const char* none : {"openblas", "openblas:", "openblas:coretype", "tpu:a=b", "openblas:=x", ""})
            QVERIFY2(!sourceWithOptions(none, sources), none);
    }
    /// A PJRT plugin is not a backend: the backend pjrt uses it. --plugin wins over the environment. A second plugin
    /// gives a second source.
    void pjrtPluginsByPath() {
        const QString fake = wholePath(q(QS_BAD_DIR "/fake_pjrt.so"));
        if (!QFile::exists(fake)) QSKIP("this build has no pjrt backend");
        QVERIFY(isPjrtPlugin(fake.toStdString()));
        QVERIFY(!isPjrtPlugin(pathOf("bad")) && !isPjrtPlugin("/etc/passwd") && !isPjrtPlugin("/nowhere"));
        for (const auto& source : backendSources({}))
            QVERIFY(!isPjrtPlugin(source.path)); // pjrt.so contains the symbol's
                                                 // name, but does not export it
        qputenv("QUANTSCOPE_PJRT_PLUGIN", "/opt/first.so");
        const std::vector<std::string> named = {fake.toStdString()};
        auto sources = backendSources(named);
        qunsetenv("QUANTSCOPE_PJRT_PLUGIN");
        QCOMPARE(sources.size(), std::size_t(4));
        QVERIFY(sources[3].named && sources[3].shipped && !sources[0].named);
        QCOMPARE(q(*sources[3].option("path")), fake);
        QTemporaryDir dir;
        const QString second = dir.filePath(q("second.so"));
        QVERIFY(QFile::copy(fake, second));
        const std::vector<std::string> both = {fake.toStdString(), second.toStdString()};
        sources = backendSources(both);
        QCOMPARE(sources.size(), std::size_t(5));
        QCOMPARE(q(sources[4].id), q("pjrt:path=") + second);
        QCOMPARE(q(*sources[3].option("path")), fake);
    }
    void everyPluginIsARow() {
        std::vector<BackendSource> sources;
        for (const auto& [library, status] : kExpected) sources.push_back(badSource({}, library));
        std::vector<std::vector<BackendRow>> rows(sources.size());
        const auto here = std::this_thread::get_id();
        Deadlines deadlines = patient();
        deadlines.probe = 4;
        const auto listed = listBackends(
            sources, {},
            [&](const BackendRow& row) {
                QCOMPARE(std::this_thread::get_id(), here);
                rows[row.source].push_back(row);
            },
            deadlines);
        QVERIFY(listed);
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const bool available = q(kExpected[i].second) == q("available");
            QVERIFY2(!rows[i].empty(), kExpected[i].first);
            QCOMPARE(rows[i].size(), std::size_t(available ? 2 : 1)); // the plugin has two devices
            const auto& row = rows[i].front();
            QVERIFY2(q(rowStateText(row.status)) == q(kExpected[i].second), row.reason.c_str());
            QCOMPARE(row.device.has_value(), available);
            QCOMPARE(row.reason.empty(), available);
            QVERIFY(row.path.find(kExpected[i].first) != std::string::npos);
            if (!available) QCOMPARE(q(row.backend), q(kExpected[i].first) + q(".so"));
        }
        QVERIFY(q(rows[2].front().reason).startsWith(q("hung in probe for 4 s")));
    }
    /// One that hangs is named while the others are known.
    void waitedForAreNamed() {
        const std::vector<BackendSource> sources = {badSource("open:hang"), badSource({}, "bad_crash")};
        Deadlines deadlines = patient();
        deadlines.open = deadlines.longestOpen = 6;
        std::size_t rows = 0, says = 0;
        QVERIFY(listBackends(
            sources, {}, [&](const BackendRow&) { ++rows; }, deadlines,
            [&](const std::string& ids) {
                QVERIFY2(ids.starts_with("bad.so"), ids.c_str()); // on a busy machine the other may follow
                ++says;
            }));
        QCOMPARE(rows, std::size_t(2));
        QCOMPARE(says, std::size_t(1));
    }
    /// A plugin that fails is the reason why its id is not known.
    void idsOfPlugins() {
        const auto refusal = [](const char* id, const char* library) {
            const auto sources = backendSources(std::vector{pathOf(library)});
            releaseQuarantine(sources.back()); // set by the cases before
            const auto found = sourceNamed(id, sources);
            return found ? q("found ") + q(found->id) : q(found.error().message);
        };
        QCOMPARE(refusal("bad", "bad"), q("found bad"));
        QCOMPARE(refusal("bad.so", "bad"), q("found bad.so"));
        QVERIFY2(refusal("mine", "bad_crash").contains(q("bad_crash.so: crashed in probe (SIGSEGV)")),
                 qPrintable(refusal("mine", "bad_crash")));
        QVERIFY2(
            refusal("mine", "bad_table_ours").contains(q("calls itself 'cpu', which is a backend of this program")),
            qPrintable(refusal("mine", "bad_table_ours")));
        QTemporaryDir dir; // a file may be called as a backend
        const QString file = dir.filePath(q("cpu"));
        QVERIFY(QFile::copy(q(pathOf("bad")), file));
        const auto sources = backendSources(std::vector{file.toStdString()});
        QCOMPARE(q(sources.back().id), file);
    }
    void needsConfig() {
        std::vector<BackendRow> rows;
        const auto source = badSource("probe:needs_config");
        QVERIFY(listBackends(
            {&source, 1}, {}, [&](const BackendRow& row) { rows.push_back(row); }, patient()));
        QCOMPARE(rows.size(), std::size_t(1));
        QCOMPARE(rows[0].status, RowState::NeedsConfig);
    }
    void failuresAfterTheProbe_data() {
        QTest::addColumn<QString>("status");
        QTest::newRow("open:unavailable") << q("unavailable");
        QTest::newRow("open:failed") << q("unavailable");
        QTest::newRow("open:crash") << q("crashed");
        QTest::newRow("devices:none") << q("unavailable");
        QTest::newRow("devices:crash") << q("crashed");
        QTest::newRow("describe:failed") << q("available");
        QTest::newRow("describe:json") << q("crashed");
    }
    void failuresAfterTheProbe() {
        QFETCH(QString, status);
        std::vector<BackendRow> rows;
        const auto source = badSource(QTest::currentDataTag());
        QVERIFY(listBackends(
            {&source, 1}, {}, [&](const BackendRow& row) { rows.push_back(row); }, patient()));
        QVERIFY(!rows.empty());
        QCOMPARE(q(rowStateText(rows[0].status)), status);
        QCOMPARE(rows[0].reason.empty(), status == q("available"));
        QCOMPARE(q(rows[0].version), q("1.0"));
    }
    void cancelled() {
        const Job job;
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            job.cancel();
        });
        const auto source = badSource({}, "bad_hang");
        const auto start = std::chrono::steady_clock::now();
        const auto listed = listBackends(
            {&source, 1}, job, [](const BackendRow&) { QFAIL("nothing is known"); }, patient());
        later.join();
        QVERIFY(!listed && listed.error().cancelled);
        QVERIFY(secondsSince(start) < 10);
    }
    void theProgram() {
        QTemporaryDir dir;
        QStringList arguments{q("backends"), q("--json"), dir.filePath(q("out.json"))};
        qsizetype named = 0; // a missing plugin is a wrong request; thatIsNotThere() tests it
        for (const auto& [library, status] : kExpected) {
            if (!QFile::exists(q(pathOf(library)))) continue;
            arguments << q("--plugin") << q(pathOf(library));
            ++named;
        }
        QCOMPARE(named, qsizetype(std::size(kExpected) - 1));
        if (!QFile::exists(q(QS_BIN_DIR "/quantscope-cli"))) QSKIP("built without the programs");
        QProcess cli;
        cli.start(q(QS_BIN_DIR "/quantscope-cli"), arguments);
        QVERIFY(cli.waitForFinished(60'000));
        QCOMPARE(cli.exitStatus(), QProcess::NormalExit);
        QCOMPARE(cli.readAllStandardError(), QByteArray());
        QCOMPARE(cli.exitCode(), 0);
        const auto table = cli.readAllStandardOutput();
        QVERIFY(!table.contains('\x1b') && table.contains("SIGSEGV") && table.contains("not measured") == false);
        QFile json(dir.filePath(q("out.json")));
        QVERIFY(json.open(QIODevice::ReadOnly));
        const auto rows = QJsonDocument::fromJson(json.readAll()).object()[q("rows")].toArray();
        QStringList seen;
        for (const auto& value : rows) {
            const auto row = value.toObject();
            const auto status = row[q("status")].toString();
            QVERIFY(status == q("available") || !row[q("reason")].toString().isEmpty());
            if (row[q("shipped")].toBool()) seen << row[q("backend")].toString();
            for (const auto& [library, expected] : kExpected)
                if (row[q("path")].toString() == q(pathOf(library))) {
                    QCOMPARE(status, q(expected));
                    seen << q(library);
                }
        }
        seen.removeDuplicates();
        QCOMPARE(seen.size(), named + 4);
    }
    void thatIsNotThere() {
        if (!QFile::exists(q(QS_BIN_DIR "/quantscope-cli"))) QSKIP("built without the programs");
        QProcess cli;
        cli.start(q(QS_BIN_DIR "/quantscope-cli"),
                  {q("backends"), q("--plugin"), q(pathOf("bad")), q("--plugin"), q(pathOf("nowhere"))});
        QVERIFY(cli.waitForFinished(60'000));
        QCOMPARE(cli.exitCode(), 1);
        const auto said = cli.readAllStandardError();
        QVERIFY2(said.contains("nowhere.so") && said.count('\n') == 1, said.constData());
        QCOMPARE(cli.readAllStandardOutput(), QByteArray());
    }
};

QS_TEST(TestList)
#include "list_test.moc"
