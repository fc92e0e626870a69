// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of `quantscope-cli inspect` for hostile files. In every file format there are as many tiny tensors, names,
// dimensions and metadata as the bytes allow. The limit is twice the file size, plus its unpacked size, plus 64 MiB,
// more than for a file with one tensor. The window with a million tensors has the same limit.
#include "core/model/file_format.h"
#include "tests/app/cli/peak.h"
#include "tests/app/cli/worst_files.h"
#include "tests/support/test_program.h"

#include <QDirIterator>
#include <set>

using clitest::header;
using clitest::kMiB;
using clitest::kSanitized;
using clitest::name;
using clitest::number;
using clitest::worsts;

class MemoryTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void everyFormatHasItsWorst();
    void inspect_data();
    void inspect();
    void analyze();
    void longRows();
    void perTensor_data();
    void perTensor();
    void exportInParts();
    void window_data();
    void window();

private:
    QTemporaryDir folder_, many_;
    std::int64_t baseline_ = 0;
};

namespace {

/// Prints the table and writes the JSON; both are discarded.
clitest::Peak peakOf(const QString& path) {
    return clitest::peakOf({clitest::binary().toStdString(), "inspect", path.toStdString(), "--json", "/dev/null"});
}

std::int64_t bytesAt(const QString& path) {
    if (QFileInfo(path).isFile()) return QFileInfo(path).size();
    std::int64_t bytes = 0;
    for (QDirIterator it(path, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories); it.hasNext();) {
        it.next();
        bytes += it.fileInfo().size();
    }
    return bytes;
}

} // namespace

void MemoryTest::initTestCase() {
    const auto one = peakOf(put(folder_.path(), name("one.safetensors"), smallFile()));
    QCOMPARE(one.code, 0);
    baseline_ = one.bytes;
    qInfo("a file of one tensor takes %.1f MiB", double(baseline_) / kMiB);
}

void MemoryTest::everyFormatHasItsWorst() {
    std::set<std::string> tested;
    for (const auto& worst : worsts())
        if (worst.opens) tested.insert(worst.format);
    for (const auto& format : qs::fileFormats()) QVERIFY2(tested.count(format.id), format.id);
}

void MemoryTest::inspect_data() {
    QTest::addColumn<int>("which");
    int which = 0;
    for (const auto& worst : worsts()) QTest::addRow("%s: %s", worst.format, worst.what) << which++;
}

void MemoryTest::inspect() {
    if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
    QFETCH(int, which);
    const auto worst = worsts()[std::size_t(which)];
    QTemporaryDir folder;
    const auto made = worst.make(folder.path());
    const auto bytes = bytesAt(made.path.endsWith(name(".index.json")) ? folder.path() : made.path) + made.unpacked;
    const auto peak = peakOf(made.path);
    QCOMPARE(peak.code, worst.opens ? 0 : 1);
    const auto taken = peak.bytes - baseline_;
    qInfo("%.2f MiB take %.1f MiB", double(bytes) / kMiB, double(taken) / kMiB);
    QVERIFY2(taken <= 2 * bytes + 64 * kMiB, qPrintable(name("%1 bytes over").arg(taken - 2 * bytes - 64 * kMiB)));
}

void MemoryTest::window_data() {
    QTest::addColumn<QByteArray>("prefix");
    QTest::addColumn<QByteArray>("shape");
    QTest::addColumn<int>("tensors");
    QTest::newRow("without elements") << QByteArray() << QByteArray("[0]") << 100'000;
    QTest::newRow("of layers") << QByteArray("model.layers.7.mlp.experts.down_proj.") << QByteArray("[0]") << 100'000;
    QTest::newRow("a million") << QByteArray() << QByteArray("[0]") << 1'000'000;
}

/// One row per tensor and spec, without a histogram for each: 10,000 histograms took 2.6 GiB.
void MemoryTest::analyze() {
    if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
    QTemporaryDir folder;
    constexpr int tensors = 2'100; // more rows than are kept in memory
    QByteArray text = "{", data;
    for (int i = 0; i < tensors; ++i)
        text += (i ? "," : "") + entry(number(i), "F16", "[1,4]",
                                       "[" + QByteArray::number(8 * i) + "," + QByteArray::number(8 * i + 8) + "]");
    const auto path = put(folder.path(), name("many.safetensors"), madeFile(text + "}") + zeros(8 * tensors));
    const std::string file = path.toStdString();
    for (const std::vector<std::string>& arguments : std::initializer_list<std::vector<std::string>>{
             {"analyze", file, "--spec", "int8", "--spec", "nf4:block=4", "--json", "/dev/null"},
             {"audit", file, "--json", "/dev/null"},
             {"diff", file, file, "--json", "/dev/null"}}) {
        std::vector<std::string> call = {clitest::binary().toStdString()};
        call.insert(call.end(), arguments.begin(), arguments.end());
        const auto peak = clitest::peakOf(call);
        QCOMPARE(peak.code, 0);
        const auto taken = peak.bytes - baseline_;
        qInfo("%s of %d tensors takes %.1f MiB", arguments.front().c_str(), tensors, double(taken) / kMiB);
        QVERIFY(taken <= 64 * kMiB);
    }
}

namespace {

constexpr int kSome = 5'000, kMany = 14'000; // more tensors than any command keeps rows for (qs::cli::kRowsKept)

/// A model with names like those of experts in many layers, and different values.
QString experts(const QTemporaryDir& folder, int tensors) {
    const QString path = folder.filePath(name("%1.safetensors").arg(tensors));
    if (QFile::exists(path)) return path;
    QByteArray text = "{", data;
    for (int i = 0; i < tensors; ++i) {
        const auto at = [](int n) { return QByteArray::number(8 * n); };
        const QByteArray called = "model.layers." + QByteArray::number(i / 256) + ".mlp.experts." +
                                  QByteArray::number(i % 256) + ".up_proj.weight";
        text += (i ? "," : "") + entry(called, "F16", "[1,4]", "[" + at(i) + "," + at(i + 1) + "]");
        for (int k = 0; k < 4; ++k) data += le(0x2c00u + std::uint64_t((i * 7 + k * 131) % 2048), 2);
    }
    return put(folder.path(), name("%1.safetensors").arg(tensors), madeFile(text + "}", data));
}

} // namespace

/// A row may be as long as its file. Memory must not grow with it.
void MemoryTest::longRows() {
    if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
    QTemporaryDir folder;
    constexpr qint64 columns = qint64(1) << 25;
    std::vector<std::string> files;
    for (const char* as : {"a.safetensors", "b.safetensors"}) {
        const auto path = put(folder.path(), name(as),
                              madeFile("{" +
                                       entry("w", "BF16", "[1," + QByteArray::number(columns) + "]",
                                             "[0," + QByteArray::number(2 * columns) + "]") +
                                       "}"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite) && file.resize(file.size() + 2 * columns)); // zeros that take no disk
        if (as[0] == 'b') QVERIFY(file.seek(file.size() - 7) && file.write("\x3f") == 1);
        files.push_back(path.toStdString());
    }
    for (const auto& arguments : std::initializer_list<std::vector<std::string>>{{"diff", files[0], files[1]},
                                                                                 {"verify", files[0], files[1]}}) {
        std::vector<std::string> call = {clitest::binary().toStdString()};
        call.insert(call.end(), arguments.begin(), arguments.end());
        qputenv("QS_READ", "pread"); // pages of a mapping would count
        const auto peak = clitest::peakOf(call);
        qunsetenv("QS_READ");
        QCOMPARE(peak.code, 0);
        const auto taken = peak.bytes - baseline_;
        qInfo("%s takes %.1f MiB", arguments[0].c_str(), double(taken) / kMiB);
        QVERIFY2(taken <= 96 * kMiB, qPrintable(name("%1 MiB").arg(taken / kMiB)));
    }
}

void MemoryTest::perTensor_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("most"); // bytes per tensor: its entry in the list of the model, one copy of its name, and
                                   // little else
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("part"); // of the tensors, for commands that take long
    const auto add = [](const char* what, const char* words, int most, int code = 0, int part = 1) {
        QTest::newRow(what) << QString::fromLatin1(words).split(u' ') << most << code << part;
    };
    add("inspect", "inspect IN --json /dev/null", 200);
    // More than the others: on a busy machine, finished rows wait for one that comes before them.
    add("analyze", "analyze IN --spec nf4:block=4 --json /dev/null --csv /dev/null", 700);
    add("sweep", "sweep IN --spec nf4 --block 4 --json /dev/null --html /dev/null", 400);
    add("audit", "audit IN --json /dev/null", 250);
    add("diff", "diff IN IN --json /dev/null --md /dev/null", 350);     // two models
    // Two tensors are written for each, and each has its role: within the 1 KiB that a tensor may take.
    add("quantize", "quantize IN --spec int8 -o OUT.safetensors", 1024);
    add("dequantize", "dequantize IN -o OUT.safetensors", 500);         // pieces of headers count for few tensors
    add("whatif", "whatif IN --tensor layers.0.mlp.experts.0.up --spec int8 --transpose 1,0", 300);
    add("statistics", "inspect IN --stats --json /dev/null", 250);
    add("certificate", "quantize IN --spec int8 -o OUT.safetensors --certificate OUT.json --json OUT.rows.json", 1024);
    add("verify", "verify EXPORTED", 100); // the rows of a certificate are only counted
    add("verify --json", "verify EXPORTED --json /dev/null", 250);
    // Losses, sizes and choices are lists of numbers, about 90 bytes beside the entry in the list of the model.
    add("plan", "plan IN --spec int8 --spec nf4:block=4 --budget 40bpw", 300);
    add("plan --json", "plan IN --spec int8 --spec nf4:block=4 --budget 14bpw --json /dev/null --csv /dev/null", 300);
    add("bench", "bench --model IN --spec int8 --shape 1 --backend cpu --seconds 0.01 --memory 128MiB", 400);
    // Refused, because there is no network: as soon as the tensors are listed.
    add("eval", "eval IN --spec int8 --tokens TOKENS", 250, 1);
    add("sensitivity", "sensitivity IN --spec int8 --tokens TOKENS", 250, 1);
    add("capture", "capture IN --tokens TOKENS -o OUT.safetensors", 250, 1);
    add("tokenize", "tokenize IN --text TOKENS", 250, 1);
}

/// A command that kept all rows in memory would need thousands of bytes per tensor.
void MemoryTest::perTensor() {
    if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
    QFETCH(QStringList, arguments);
    QFETCH(int, most);
    QFETCH(int, code);
    QFETCH(int, part);
    const QString tokens = put(many_.path(), name("tokens.txt"), QByteArray("1 2 3 ").repeated(1000));
    const auto peak = [&](int count) {
        QTemporaryDir out;
        const QString exported = many_.filePath(name("exported%1").arg(count)); // once for all rows
        if (arguments.contains(name("EXPORTED")) && !QFile::exists(exported))
            clitest::peakOf({clitest::binary().toStdString(), "quantize", experts(many_, count).toStdString(), "--spec",
                             "int8", "-o", exported.toStdString()});
        std::vector<std::string> call = {clitest::binary().toStdString()};
        for (QString word : arguments)
            call.push_back(word.replace(name("IN"), experts(many_, count))
                               .replace(name("OUT"), out.filePath(name("out")))
                               .replace(name("EXPORTED"), exported)
                               .replace(name("TOKENS"), tokens)
                               .toStdString());
        const auto found = clitest::peakOf(call);
        return found.code == code ? found.bytes : -1;
    };
    const auto some = peak(kSome / part), many = peak(kMany / part);
    QVERIFY(some > 0 && many > 0);
    const double each = double(many - some) * part / (kMany - kSome);
    qInfo("%.0f bytes a tensor beyond the %.1f MiB of %d", each, double(some) / kMiB, kSome / part);
    QVERIFY2(each <= most, qPrintable(QString::number(each)));
}

/// An export with more tensors than the proof lists at the same time. A list of all written tensors, or of what is to
/// be written, would take several hundred bytes more for each.
void MemoryTest::exportInParts() {
    if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
    constexpr int tensors = 120'000;
    QTemporaryDir out;
    const auto peak =
        clitest::peakOf({clitest::binary().toStdString(), "quantize", experts(many_, tensors).toStdString(), "--spec",
                         "int8", "--layout", "plain", "-o", out.filePath(name("out")).toStdString()});
    QCOMPARE(peak.code, 0);
    const double each = double(peak.bytes - baseline_) / tensors;
    qInfo("%.0f bytes a tensor", each);
    // Libraries that keep much memory for each tensor refuse so many.
    const auto refused =
        clitest::peakOf({clitest::binary().toStdString(), "quantize", experts(many_, tensors).toStdString(), "--spec",
                         "int8", "-o", out.filePath(name("out.h5")).toStdString()});
    QCOMPARE(refused.code, 1);
    QVERIFY(refused.bytes < peak.bytes);
    QVERIFY2(each <= 650, qPrintable(QString::number(each)));
}

/// The window: model opened, tensors listed in the browser, page painted.
void MemoryTest::window() {
    const QString program = name(QS_BIN_DIR "/quantscope");
    if (!QFile::exists(program)) QSKIP("there is no window in this build");
    if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
    QFETCH(QByteArray, prefix);
    QFETCH(QByteArray, shape);
    QFETCH(int, tensors);
    QTemporaryDir folder;
    qputenv("XDG_CONFIG_HOME", folder.path().toUtf8());
    const auto shown = [&](const QString& file) {
        const QString picture = folder.filePath(name("shown.png"));
        const auto peak = clitest::peakOf(
            {program.toStdString(), file.toStdString(), "--page", "overview", "--screenshot", picture.toStdString()});
        return peak.code == 0 && QFile::remove(picture) ? peak.bytes : -1;
    };
    const auto one = shown(put(folder.path(), name("one.safetensors"), smallFile()));
    const auto many = put(folder.path(), name("many.safetensors"), madeFile(header(tensors, shape, prefix)));
    const auto bytes = bytesAt(many), taken = shown(many) - one;
    qInfo("%.2f MiB take %.1f MiB, beyond %.1f", double(bytes) / kMiB, double(taken) / kMiB, double(one) / kMiB);
    QVERIFY(one > 0 && taken > 0);
    QVERIFY2(taken <= 2 * bytes + 64 * kMiB, qPrintable(name("%1 bytes over").arg(taken - 2 * bytes - 64 * kMiB)));
}

QS_TEST(MemoryTest)
#include "memory_test.moc"
