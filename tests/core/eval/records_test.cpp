// SPDX-License-Identifier: GPL-3.0-or-later
// The folder of finished runs may hold anything: only a regular file is read, and nothing is written through a link.
#include "core/eval/sensitivity/records.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <sys/stat.h>

using qs::eval::Records;

class RecordsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        auto records = Records::open(folder_->path().toStdString(), "about");
        QVERIFY(records && records->add("a run", {1.5}));
        file_ = folder_->filePath(QDir(folder_->path()).entryList(QDir::Files).constFirst());
    }

    void runsComeBack() {
        const auto records = Records::open(folder_->path().toStdString(), "about");
        QVERIFY(records);
        QCOMPARE(records->find("a run").value(), std::vector<double>{1.5});
        QVERIFY(!records->find("another run"));
    }

    void linksAreNotFollowed() {
        const QString other = folder_->filePath(QStringLiteral("other"));
        QVERIFY(QFile::rename(file_, other) && QFile::link(other, file_));
        refuses();
        QVERIFY(QFile::remove(file_));
        auto records = Records::open(folder_->path().toStdString(), "about");
        QVERIFY(records && QFile::link(other, file_)); // made between reading and writing
        const auto size = QFileInfo(other).size();
        QVERIFY(!records->add("another run", {2}));
        QCOMPARE(QFileInfo(other).size(), size);
    }

    void specialFilesAreNotWaitedFor() {
        QVERIFY(QFile::remove(file_) && ::mkfifo(QFile::encodeName(file_).constData(), 0600) == 0);
        refuses();
        QVERIFY(QFile::remove(file_) && QFile::link(QStringLiteral("/dev/zero"), file_));
        refuses();
    }

    void aHugeFileIsNotRead() {
        QFile file(file_);
        QVERIFY(file.open(QIODevice::ReadWrite) && file.resize(qint64(20) << 30));
        QVERIFY(!Records::open(folder_->path().toStdString(), "about"));
    }

private:
    void refuses() {
        const auto records = Records::open(folder_->path().toStdString(), "about");
        QVERIFY(!records);
        QVERIFY2(records.error().message.find("that is not a regular file") != std::string::npos,
                 records.error().message.c_str());
    }
    std::unique_ptr<QTemporaryDir> folder_;
    QString file_;
};

QS_TEST(RecordsTest)
#include "records_test.moc"
