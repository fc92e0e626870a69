// SPDX-License-Identifier: GPL-3.0-or-later
// The cost of opening depends on the header, never on the size of the tensors.
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "made_file.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace qs;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kTimed = false; // instrumented code is ten times slower; the files are still opened
#else
constexpr bool kTimed = true;
#endif
constexpr int kTries = 3; // the best counts, because other load can disturb

/// Writes the header; the data is a hole in the file.
QString putSparse(const QString& folder, const QByteArray& header, std::uint64_t data) {
    const QString path = put(folder, QStringLiteral("large.safetensors"), madeFile(header));
    if (::truncate(path.toUtf8().constData(), off_t(8 + std::uint64_t(header.size()) + data)) != 0)
        qFatal("cannot extend %s", qPrintable(path));
    return path;
}

/// Number of pages of the file in memory, from `offset` on; -1 if the system does not tell.
std::int64_t residentPages(const QString& path, std::size_t offset, std::size_t size) {
    const auto page = std::size_t(sysconf(_SC_PAGESIZE));
    offset = offset / page * page;
    const int fd = ::open(path.toUtf8().constData(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    void* at = ::mmap(nullptr, size - offset, PROT_READ, MAP_SHARED, fd, off_t(offset));
    ::close(fd);
    if (at == MAP_FAILED) return -1;
    std::vector<unsigned char> pages((size - offset + page - 1) / page);
    const bool said = ::mincore(at, size - offset, pages.data()) == 0;
    ::munmap(at, size - offset);
    return said ? std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }) : -1;
}

} // namespace

class LargeFilesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void hundredThousandTensors();
    void aMillionEmptyTensors();
    void tenGigabytesUntouched();
    void aThousandShards();

private:
    /// Milliseconds of the fastest opening.
    qint64 open(const QString& path) {
        qint64 best = std::numeric_limits<qint64>::max();
        for (int i = 0; i < (kTimed ? kTries : 1); ++i) {
            model_.reset();
            QElapsedTimer timer;
            timer.start();
            auto opened = openModel(path.toStdString());
            best = std::min(best, timer.elapsed());
            if (!opened) {
                qWarning("%s", opened.error().message.c_str());
                return -1;
            }
            model_ = *opened;
        }
        qInfo("opened in %lld ms", static_cast<long long>(best));
        return best;
    }
    std::shared_ptr<const Model> model_;
    std::unique_ptr<QTemporaryDir> folder_;
};

void LargeFilesTest::hundredThousandTensors() {
    constexpr int count = 100000, bytes = 64 * 64 * 2;
    QByteArray header = "{";
    for (int i = 0; i < count; ++i)
        header += (i ? "," : "") + entry("model.layers." + QByteArray::number(i / 100) + ".mlp.experts." +
                                             QByteArray::number(i % 100) + ".down_proj.weight",
                                         "BF16", "[64,64]",
                                         "[" + QByteArray::number(qint64(i) * bytes) + "," +
                                             QByteArray::number(qint64(i + 1) * bytes) + "]");
    const QString path = putSparse(folder_->path(), header + "}", std::uint64_t(count) * bytes);
    const qint64 took = open(path);
    QVERIFY(took >= 0);
    QCOMPARE(model_->tensors.size(), std::size_t(count));
    QCOMPARE(model_->totalBytes(), std::uint64_t(count) * bytes);
    const auto* last = model_->find("model.layers.999.mlp.experts.99.down_proj.weight");
    QVERIFY(last == &model_->tensors.back());
    QVERIFY(model_->view(*last));
    // 0.4 s on an idle machine; other programs may run beside the tests.
    if (kTimed) QVERIFY2(took < 4000, qPrintable(QString::number(took)));
}

void LargeFilesTest::aMillionEmptyTensors() {
    constexpr int count = 1000000;
    QByteArray header;
    header.reserve(70 * count);
    header += "{";
    for (int i = 0; i < count; ++i)
        header +=
            (i ? ",\"" : "\"") + QByteArray::number(i) + "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
    const qint64 took = open(putSparse(folder_->path(), header + "}", 0));
    QVERIFY(took >= 0);
    QCOMPARE(model_->tensors.size(), std::size_t(count));
    QVERIFY(model_->find("999999") == &model_->tensors.back());
    QCOMPARE(model_->totalBytes(), std::uint64_t(0));
    if (kTimed) QVERIFY2(took < 10000, qPrintable(QString::number(took)));
}

void LargeFilesTest::tenGigabytesUntouched() {
    constexpr std::uint64_t half = 5'000'000'000;
    const QByteArray header = "{" + entry("a", "F16", "[50000,50000]", "[0,5000000000]") + "," +
                              entry("b", "F16", "[50000,50000]", "[5000000000,10000000000]") + "}";
    const QString path = putSparse(folder_->path(), header, 2 * half);
    const qint64 took = open(path);
    QVERIFY(took >= 0);
    const auto view = model_->view(*model_->find("b"));
    QVERIFY(view);
    QCOMPARE(view->bytes.size(), std::size_t(half));
    if (kTimed) QVERIFY2(took < 100, qPrintable(QString::number(took)));

    // The system may read a little beyond the header. Beyond 2 MiB nothing may be in memory.
    constexpr std::size_t beyond = 2 << 20;
    const std::size_t size = 8 + std::size_t(header.size()) + 2 * half;
    const std::int64_t resident = residentPages(path, beyond, size);
    if (resident < 0) QSKIP("the system does not say which pages are in memory");
    QCOMPARE(resident, std::int64_t(0));
    volatile auto touched = view->bytes[half / 2]; // checks that a page that is read is counted
    QVERIFY(touched == std::byte{0});
    QVERIFY(residentPages(path, beyond, size) > 0);
}

void LargeFilesTest::aThousandShards() {
    constexpr int shards = 1000, each = 20;
    constexpr std::uint64_t bytes = 1024 * 1024 * 2;
    QByteArray map;
    for (int shard = 0; shard < shards; ++shard) {
        const QByteArray name =
            "model-" + QByteArray::number(shard + 1).rightJustified(5, '0') + "-of-01000.safetensors";
        QByteArray header = "{";
        for (int i = 0; i < each; ++i) {
            const QByteArray tensor =
                "model.layers." + QByteArray::number(shard) + ".experts." + QByteArray::number(i) + ".weight";
            header += (i ? "," : "") + entry(tensor, "BF16", "[1024,1024]",
                                             "[" + QByteArray::number(quint64(i) * bytes) + "," +
                                                 QByteArray::number(quint64(i + 1) * bytes) + "]");
            map += (map.isEmpty() ? "\"" : ",\"") + tensor + "\":\"" + name + "\"";
        }
        header += "}";
        const QString path = put(folder_->path(), QString::fromLatin1(name), madeFile(header));
        QVERIFY(::truncate(path.toUtf8().constData(), off_t(8 + std::uint64_t(header.size()) + each * bytes)) == 0);
    }
    const QByteArray total = QByteArray::number(quint64(shards) * each * bytes);
    const QString index = put(folder_->path(), QStringLiteral("model.safetensors.index.json"),
                              "{\"metadata\":{\"total_size\":" + total + "},\"weight_map\":{" + map + "}}");
    for (const QString& path : {index, folder_->path()}) {
        const qint64 took = open(path);
        QVERIFY(took >= 0);
        QCOMPARE(model_->files.size(), std::size_t(shards));
        QCOMPARE(model_->tensors.size(), std::size_t(shards) * each);
        QVERIFY(model_->warnings.empty());
        if (kTimed) QVERIFY2(took < 1000, qPrintable(QString::number(took)));
    }
}

QS_TEST(LargeFilesTest)
#include "large_files_test.moc"
