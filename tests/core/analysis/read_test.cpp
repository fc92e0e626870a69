// SPDX-License-Identifier: GPL-3.0-or-later
// Files that are read and files that are mapped must give the same figures and bytes. A truncated file must give an
// error.
#include "core/analysis/forensics/forensics.h"
#include "core/layouts/layout.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/pass.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace qs;
using namespace qs::test;

namespace {

constexpr std::int64_t kRows = 36, kColumns = 1000; // rows do not align with pages or blocks

template<class T> std::vector<T> normal(T (*convert)(double)) {
    std::mt19937 random(11);
    std::normal_distribution<double> distribution;
    std::vector<T> values(std::size_t(kRows * kColumns));
    for (T& value : values) value = convert(distribution(random));
    return values;
}
std::uint16_t bf16(double v) {
    const float f = float(v);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &f, 4);
    return std::uint16_t(bits >> 16);
}
std::uint16_t f16(double v) { return std::uint16_t((v < 0 ? 0xb800 : 0x3800) | int(std::fabs(v) * 100)); }

/// Opens with the environment variable QS_READ, which selects mapping or reading.
std::shared_ptr<const Model> openedAs(const char* access, const QString& path) {
    qputenv("QS_READ", access);
    auto model = openModel(path.toStdString());
    qunsetenv("QS_READ");
    if (!model) qFatal("%s", model.error().message.c_str());
    if ((*model)->files[0].mapping->isMapped() != (QLatin1String(access) == QLatin1String("map")))
        qFatal("QS_READ=%s is not obeyed", access);
    return *model;
}

} // namespace

class ReadTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void sameFigures_data();
    void sameFigures();
    void sameBytes_data();
    void sameBytes();
    void byFileSystem();
    void cutFile();
    void cutWithinAPass_data();
    void cutWithinAPass();
    void largeTensorsAreRead();

private:
    QTemporaryDir folder_;
    QString path_ = folder_.filePath(QStringLiteral("in.safetensors"));
};

void ReadTest::initTestCase() {
    const std::vector<std::int64_t> shape{kRows, kColumns};
    opened(folder_, {made("a32", DType::F32, shape, normal<float>([](double v) { return float(v); })),
                     made("b16", DType::F16, shape, normal<std::uint16_t>(f16)),
                     made("c16", DType::BF16, shape, normal<std::uint16_t>(bf16)),
                     made("d64", DType::F64, shape, normal<double>([](double v) { return v; })),
                     made("e8", DType::U8, {3}, std::vector<std::uint8_t>{1, 2, 3})});
}

void ReadTest::sameFigures_data() {
    QTest::addColumn<QString>("spec");
    for (const char* spec : {"nf4:block=64", "nf4:block=6", "int8", "int8:axis=0", "ternary", "ternary:axis=0",
                             "binary:scale=tensor", "ternary:scale=channel"})
        QTest::newRow(spec) << QString::fromLatin1(spec);
}

void ReadTest::sameFigures() {
    QFETCH(QString, spec);
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY(parsed);
    const auto mapped = openedAs("map", path_), read = openedAs("pread", path_);
    for (std::size_t i = 0; i < 4; ++i) {
        AnalysisOptions options;
        options.detail = Detail::Inspect;
        const auto a = analyseTensor(*mapped, mapped->tensors[i], *parsed, options, Job{});
        const auto b = analyseTensor(*read, read->tensors[i], *parsed, options, Job{});
        QVERIFY(a && b && a->status == Status::Ok);
        for (const Metric& metric : metrics()) QCOMPARE(metric.value(*b), metric.value(*a));
        QCOMPARE(b->codeCounts, a->codeCounts);
        QCOMPARE(b->statistics->mean, a->statistics->mean);
        QCOMPARE(b->statistics->conversionError, a->statistics->conversionError);
        const auto block = inspectBlock(*mapped, mapped->tensors[i], *parsed, 7, 1);
        const auto same = inspectBlock(*read, read->tensors[i], *parsed, 7, 1);
        QVERIFY(block && same);
        QCOMPARE(same->values, block->values);
        QCOMPARE(same->decoded, block->decoded);
    }
}

void ReadTest::sameBytes_data() { sameFigures_data(); }

void ReadTest::sameBytes() {
    QFETCH(QString, spec);
    QByteArray files[2], decoded[2];
    for (const int i : {0, 1}) {
        const char* access = i == 0 ? "map" : "pread";
        const QString out = folder_.filePath(QStringLiteral("q.safetensors"));
        const QString back = folder_.filePath(QStringLiteral("d.safetensors"));
        const auto written = quantizeModel(*openedAs(access, path_),
                                           {*parseSpec(spec.toStdString()), {}, "eformer", out.toStdString()}, Job{});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        const auto undone = dequantizeModel(*openedAs(access, out), std::nullopt, back.toStdString(), Job{});
        QVERIFY2(undone, undone ? "" : undone.error().message.c_str());
        files[i] = bytesOf(out), decoded[i] = bytesOf(back);
    }
    QVERIFY(!files[0].isEmpty() && files[1] == files[0]);
    QVERIFY(!decoded[0].isEmpty() && decoded[1] == decoded[0]);
}

void ReadTest::byFileSystem() {
    qunsetenv("QS_READ");
    const auto here = MappedFile::open(path_.toStdString());
    QVERIFY(here);
    const auto forced = MappedFile::open(path_.toStdString(), FileAccess::Pread);
    QVERIFY(forced && !(*forced)->isMapped() && (*forced)->bytes().empty());
    QCOMPARE((*forced)->size(), (*here)->size());
    std::vector<std::byte> all((*here)->size()), scratch;
    (*here)->readInto(0, all);
    const auto middle = (*forced)->read(1234, 5000, scratch);
    QCOMPARE(middle.size(), std::size_t(5000));
    QVERIFY(std::equal(middle.begin(), middle.end(), all.begin() + 1234));
    (*forced)->populate(0, 100); // must do nothing
    (*forced)->dropPages(0, 100);
    QVERIFY((*forced)->unchanged());
}

void ReadTest::cutFile() {
    const QString path = folder_.filePath(QStringLiteral("cut.safetensors"));
    QVERIFY(QFile::copy(path_, path));
    const auto file = *MappedFile::open(path.toStdString(), FileAccess::Pread);
    QCOMPARE(::truncate(path.toUtf8().constData(), 5000), 0);
    std::vector<std::byte> scratch(200, std::byte{0xff});
    const auto bytes = file->read(4900, 200, scratch);
    QVERIFY(bytes[150] == std::byte{0}); // zeros, not the old content of the buffer
    QVERIFY(file->faulted());
    const auto same = file->unchanged();
    QVERIFY(!same && same.error().message.find("was cut from") != std::string::npos);
    QVERIFY(QFile::remove(path));
}

void ReadTest::cutWithinAPass_data() {
    QTest::addColumn<QString>("access");
    QTest::newRow("mapped") << QStringLiteral("map");
    QTest::newRow("read") << QStringLiteral("pread");
}

void ReadTest::cutWithinAPass() {
    QFETCH(QString, access);
    const QString path = folder_.filePath(QStringLiteral("cut.safetensors"));
    QVERIFY(QFile::copy(path_, path));
    const auto model = openedAs(access.toLatin1().constData(), path);
    const auto& tensor = *model->find("d64");
    const auto view = model->view(tensor);
    QVERIFY(view);
    const auto spec = *parseSpec("nf4");
    const auto done = forEachRange(*view, spec, *scaleGrid(spec, tensor.shape), Job{}, [&](const PassRange&) {
        if (::truncate(path.toUtf8().constData(), 4096) != 0) qFatal("cannot cut the file");
    });
    QVERIFY(!done || !model->unchanged(tensor)); // callers check both
    QVERIFY(QFile::remove(path));
}

// A sparse file of 80 MiB.
void ReadTest::largeTensorsAreRead() {
    const QString path = folder_.filePath(QStringLiteral("large.safetensors"));
    constexpr std::int64_t rows = 5120, columns = 4096;
    const QByteArray entry = "{\"w\":{\"dtype\":\"F32\",\"shape\":[5120,4096],\"data_offsets\":[0,83886080]}}";
    const QByteArray header = entry + QByteArray(8 - entry.size() % 8, ' ');
    const quint64 length = quint64(header.size());
    {
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(reinterpret_cast<const char*>(&length), 8) + header);
        const auto values = normal<float>([](double v) { return float(v); });
        file.write(reinterpret_cast<const char*>(values.data()), qint64(values.size() * 4));
        QVERIFY(file.resize(qint64(8 + length) + rows * columns * 4));
    }
    const auto model = openedAs("map", path);
    const auto view = *model->view(model->tensors[0]);
    QVERIFY(!forScan(view).file->isMapped());
    QVERIFY(forScan(*model->view(model->tensors[0])).bytes.empty());
    const auto row = analyseTensor(*model, model->tensors[0], *parseSpec("int8"), AnalysisOptions{}, Job{});
    QVERIFY(row && row->status == Status::Ok);
    double squares = 0;
    for (const float value : normal<float>([](double v) { return float(v); })) squares += double(value) * double(value);
    QVERIFY(std::fabs(row->sums.sw2 / squares - 1) < 5e-7);
    QCOMPARE(std::uint64_t(row->sums.n), std::uint64_t(rows * columns));
    const auto spec = *parseSpec("int8");
    const auto done = forEachRange(view, spec, *scaleGrid(spec, view.info->shape), Job{}, [&](const PassRange&) {
        if (::truncate(path.toUtf8().constData(), 1 << 20) != 0) qFatal("cannot cut the file");
    });
    QVERIFY(!done);
    QVERIFY2(done.error().message.find("was cut from") != std::string::npos, done.error().message.c_str());
}

QS_TEST(ReadTest)
#include "read_test.moc"
