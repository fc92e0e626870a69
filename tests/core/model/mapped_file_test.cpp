// SPDX-License-Identifier: GPL-3.0-or-later
// Files that change, vanish, or are not regular files: always an error, never a hang or a crash.
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "made_file.h"
#include "tests/support/test_program.h"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace qs;

class MappedFileTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void noRegularFile();
    void unreadable();
    void emptyFile();
    void relativePath();
    void truncatedBeforeAScan();
    void truncatedWhileTwoThreadsScan();
    void truncatedAndGrownAgain();
    void changedFiles_data();
    void changedFiles();
    void viewOfAChangedModel();
    void headerCutWhileOpening();
    void dropPages();
    void moreFilesThanMappings();
    void otherBusErrorsStayFatal();

private:
    std::string at(const char* name) const {
        return (folder_->path() + QLatin1Char('/') + QString::fromUtf8(name)).toStdString();
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

QString why(const std::string& path) {
    const auto file = MappedFile::open(path);
    return file ? QStringLiteral("it opened") : text(file.error().message);
}

std::uint64_t sumOf(std::span<const std::byte> bytes) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data() + i, 8);
        sum += word;
    }
    return sum;
}

} // namespace

void MappedFileTest::noRegularFile() {
    QCOMPARE(::mkfifo(at("fifo.safetensors").c_str(), 0600), 0);
    QVERIFY(why(at("fifo.safetensors")).endsWith(QStringLiteral("is a pipe, not a regular file.")));
    QVERIFY(why(folder_->path().toStdString()).endsWith(QStringLiteral("is a folder, not a regular file.")));
    QVERIFY(why("/dev/zero").endsWith(QStringLiteral("is a device, not a regular file.")));
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, at("s").c_str(), sizeof address.sun_path - 1);
    QCOMPARE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    QVERIFY(why(at("s")).endsWith(QStringLiteral("is a socket, not a regular file.")));
    ::close(fd);
    QVERIFY(why(at("gone")).endsWith(QStringLiteral("does not exist.")));
    QVERIFY(why(std::string("a\0b", 3)).contains(QStringLiteral("NUL")));
    // The same through openModel(), which also looks into folders.
    QVERIFY(text(openModel(at("fifo.safetensors")).error().message).contains(QStringLiteral("a pipe")));
    QVERIFY(!openModel(""));
}

void MappedFileTest::unreadable() {
    const QString path = put(folder_->path(), QStringLiteral("secret.safetensors"), smallFile());
    QCOMPARE(::chmod(path.toUtf8().constData(), 0), 0);
    QCOMPARE(::chmod(folder_->path().toUtf8().constData(), 0755), 0);
    const uid_t me = ::geteuid();
    if (me == 0 && ::seteuid(65534) != 0)
        QSKIP("running as root, who can read everything, and the user nobody is not there");
    const QString message = why(path.toStdString());
    if (me == 0) QCOMPARE(::seteuid(0), 0);
    QVERIFY2(message.contains(QStringLiteral("secret.safetensors cannot be read: Permission denied.")),
             qPrintable(message));
}

void MappedFileTest::emptyFile() {
    const auto file = MappedFile::open(put(folder_->path(), QStringLiteral("e"), {}).toStdString());
    QVERIFY(file);
    QCOMPARE((*file)->bytes().size(), 0u);
    QVERIFY((*file)->unchanged());
    (*file)->populate(0, 10);
    (*file)->dropPages(0, 10);
}

void MappedFileTest::relativePath() {
    put(folder_->path(), QStringLiteral("r.bin"), "abc");
    const QString before = QDir::currentPath();
    QVERIFY(QDir::setCurrent(folder_->path()));
    const auto file = MappedFile::open("r.bin");
    QVERIFY(QDir::setCurrent(before));
    QVERIFY(file);
    QVERIFY(QDir::isAbsolutePath(text((*file)->path())));
    QVERIFY((*file)->unchanged()); // after a change of the working folder
}

void MappedFileTest::truncatedBeforeAScan() {
    const QString path = put(folder_->path(), QStringLiteral("t"), QByteArray(1 << 20, '\x01'));
    const auto file = *MappedFile::open(path.toStdString());
    QVERIFY(!file->faulted());
    QCOMPARE(::truncate(path.toUtf8().constData(), 5000), 0);
    const auto bytes = file->bytes();
    QCOMPARE(bytes.size(), std::size_t(1 << 20));
    // The remaining bytes are correct up to the end of their page. Beyond it there are zeros, and no crash.
    QCOMPARE(int(bytes[4999]), 1);
    QCOMPARE(int(bytes[100000]), 0);
    QVERIFY(file->faulted());
    const auto same = file->unchanged();
    QVERIFY(!same);
    QVERIFY2(text(same.error().message).contains(QStringLiteral("was cut from 1048576 to 5000 bytes")),
             same.error().message.c_str());
    QCOMPARE(same.error().offset, 5000);
}

void MappedFileTest::truncatedWhileTwoThreadsScan() {
    constexpr std::size_t size = std::size_t(16) << 20;
    for (int round = 0; round < 3; ++round) {
        const QString path = put(folder_->path(), QStringLiteral("big"), {});
        QCOMPARE(::truncate(path.toUtf8().constData(), size), 0);
        const auto file = *MappedFile::open(path.toStdString());
        std::atomic<int> passes{0};
        std::atomic<std::uint64_t> sum{0}; // keeps the reads from being optimized away
        const auto scan = [&](std::stop_token stop, std::size_t from) {
            while (!stop.stop_requested()) {
                sum += sumOf(file->bytes().subspan(from, size / 2));
                ++passes;
                file->dropPages(0, size); // so that every pass faults again
            }
        };
        {
            std::jthread a(scan, 0), b(scan, size / 2);
            QTRY_VERIFY(passes >= 2);
            QCOMPARE(::truncate(path.toUtf8().constData(), 4096 * (round + 1)), 0);
            QTRY_VERIFY(file->faulted());
            const int before = passes;
            QTRY_VERIFY(passes > before + 2); // both threads continue
        }
        QVERIFY(!file->unchanged());
    }
}

void MappedFileTest::truncatedAndGrownAgain() {
    const QString path = put(folder_->path(), QStringLiteral("g"), QByteArray(1 << 20, '\x01'));
    const auto file = *MappedFile::open(path.toStdString());
    struct stat before {};
    QCOMPARE(::stat(path.toUtf8().constData(), &before), 0);
    QCOMPARE(::truncate(path.toUtf8().constData(), 0), 0);
    QCOMPARE(int(file->bytes()[500000]), 0);
    QCOMPARE(::truncate(path.toUtf8().constData(), 1 << 20), 0);
    const timespec times[2] = {before.st_atim, before.st_mtim};
    QCOMPARE(::utimensat(AT_FDCWD, path.toUtf8().constData(), times, 0), 0);
    // Size, inode and time are as before: only the caught fault shows the change.
    const auto same = file->unchanged();
    QVERIFY(!same);
    QVERIFY2(text(same.error().message).contains(QStringLiteral("could not be read")), same.error().message.c_str());
}

void MappedFileTest::changedFiles_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("says");
    QTest::newRow("grown") << QStringLiteral("grow") << QStringLiteral("was written to");
    QTest::newRow("written in place") << QStringLiteral("write") << QStringLiteral("was written to");
    QTest::newRow("cut") << QStringLiteral("cut") << QStringLiteral("was cut from 100 to 10 bytes");
    QTest::newRow("removed") << QStringLiteral("remove") << QStringLiteral("was removed");
    QTest::newRow("replaced") << QStringLiteral("replace") << QStringLiteral("was replaced");
}

void MappedFileTest::changedFiles() {
    QFETCH(QString, what);
    QFETCH(QString, says);
    const QString path = put(folder_->path(), QStringLiteral("c"), QByteArray(100, 'x'));
    const QByteArray name = path.toUtf8();
    const timespec longAgo[2] = {{1000, 0}, {1000, 0}};
    QCOMPARE(::utimensat(AT_FDCWD, name.constData(), longAgo, 0), 0);
    const auto file = *MappedFile::open(path.toStdString());
    QVERIFY(file->unchanged());
    if (what == QStringLiteral("grow")) QCOMPARE(::truncate(name.constData(), 200), 0);
    if (what == QStringLiteral("cut")) QCOMPARE(::truncate(name.constData(), 10), 0);
    if (what == QStringLiteral("remove")) QVERIFY(QFile::remove(path));
    if (what == QStringLiteral("write")) {
        QFile opened(path);
        QVERIFY(opened.open(QIODevice::ReadWrite) && opened.write("y") == 1);
    }
    if (what == QStringLiteral("replace")) {
        const QString other = put(folder_->path(), QStringLiteral("d"), QByteArray(100, 'x'));
        QCOMPARE(::rename(other.toUtf8().constData(), name.constData()), 0);
    }
    const auto same = file->unchanged();
    QVERIFY(!same);
    const QString message = text(same.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path) &&
                 message.contains(QStringLiteral("since it was opened")),
             qPrintable(message));
}

void MappedFileTest::viewOfAChangedModel() {
    const QString path = put(folder_->path(), QStringLiteral("m.safetensors"), smallFile("layers.0.w"));
    const auto model = *openModel(path.toStdString());
    const auto& tensor = model->tensors[0];
    QVERIFY(model->view(tensor) && model->unchanged(tensor));
    QCOMPARE(::truncate(path.toUtf8().constData(), 70), 0);
    for (const auto& error : {model->view(tensor).error(), model->unchanged(tensor).error()}) {
        const QString message = text(error.message);
        QVERIFY2(message.startsWith(QStringLiteral("Tensor \"layers.0.w\": ")) &&
                     message.contains(QStringLiteral("m.safetensors was cut")),
                 qPrintable(message));
        QCOMPARE(error.offset, 70);
    }
}

// The file shrinks between mapping and parsing. Either way there is an error and no crash.
void MappedFileTest::headerCutWhileOpening() {
    QByteArray header = "{";
    for (int i = 0; i < 2000; ++i) header += (i ? "," : "") + entry("t" + QByteArray::number(i), "U8", "[0]", "[0,0]");
    const QByteArray bytes = madeFile(header + "}");
    const QString path = put(folder_->path(), QStringLiteral("h.safetensors"), bytes);
    std::jthread cutter([&](std::stop_token stop) {
        const QByteArray name = path.toUtf8();
        while (!stop.stop_requested()) {
            if (::truncate(name.constData(), 5000) != 0) return;
            put(folder_->path(), QStringLiteral("h.safetensors"), bytes);
        }
    });
    int opened = 0, refused = 0;
    for (int i = 0; i < 200; ++i) ++(openModel(path.toStdString()) ? opened : refused);
    cutter.request_stop();
    cutter.join();
    QCOMPARE(opened + refused, 200);
    QVERIFY(openModel(path.toStdString()));
}

void MappedFileTest::dropPages() {
    const QByteArray content(1 << 20, 'p');
    const auto file = *MappedFile::open(put(folder_->path(), QStringLiteral("p"), content).toStdString());
    const auto bytes = file->bytes();
    const std::uint64_t sum = sumOf(bytes);
    const auto resident = [&] {
        // "Rss:" of this mapping in /proc/self/smaps, in KiB.
        QFile maps(QStringLiteral("/proc/self/smaps"));
        if (!maps.open(QIODevice::ReadOnly)) return -1;
        const QByteArray all = maps.readAll();
        const auto begin = all.indexOf(QByteArray::number(qulonglong(bytes.data()), 16) + "-");
        if (begin < 0) return -1;
        const auto rss = all.indexOf("Rss:", begin);
        return all.mid(rss + 4, 40).simplified().split(' ').first().toInt();
    };
    QCOMPARE(resident(), 1024);
    file->dropPages(0, bytes.size());
    QCOMPARE(resident(), 0);
    file->populate(5000, 1000);
    QVERIFY(resident() >= 4 && resident() < 1024); // the touched page and maybe some around it
    file->populate(bytes.size(), 1);
    file->populate(0, SIZE_MAX);
    QCOMPARE(resident(), 1024);
    file->dropPages(bytes.size() - 1, SIZE_MAX);
    QCOMPARE(sumOf(bytes), sum); // read again from the file
    file->dropPages(4096 + 100, 8192);
    QVERIFY(resident() <= 1024 - 8);
    QVERIFY(!file->faulted());
}

/// More files than can be mapped are read: two checkpoints of 5,000 shards are no limit.
void MappedFileTest::moreFilesThanMappings() {
    const std::string path = put(folder_->path(), QStringLiteral("x"), "0123456789").toStdString();
    rlimit files{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &files), 0);
    std::vector<std::shared_ptr<MappedFile>> all;
    for (int i = 0; i < 33'000; ++i) {
        auto opened = MappedFile::open(path, FileAccess::Map);
        QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
        all.push_back(std::move(*opened));
    }
    QVERIFY(all[20'000]->isMapped() && !all.back()->isMapped());
    std::vector<std::byte> scratch;
    for (const auto& file : {all.front(), all.back()}) QVERIFY(file->read(3, 1, scratch)[0] == std::byte('3'));
    all.clear();
    QVERIFY((*MappedFile::open(path, FileAccess::Map))->isMapped());
}

// Our SIGBUS handler must not hide faults of other mappings.
void MappedFileTest::otherBusErrorsStayFatal() {
    const QString path = put(folder_->path(), QStringLiteral("foreign"), QByteArray(8192, 'x'));
    const auto ours = *MappedFile::open(path.toStdString()); // installs the handler
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        ::close(2); // a sanitizer would print its report
        const int fd = ::open(path.toUtf8().constData(), O_RDWR);
        const auto* data = static_cast<const volatile char*>(::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0));
        if (::ftruncate(fd, 0) != 0) ::_exit(3);
        (void)data[5000];
        ::_exit(0);
    }
    int status = 0;
    QCOMPARE(::waitpid(child, &status, 0), child);
    QVERIFY(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

QS_TEST(MappedFileTest)
#include "mapped_file_test.moc"
