// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/report.h"
#include "tests/support/test_program.h"

#include <QCryptographicHash>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <set>
#include <sys/stat.h>
#include <thread>

using namespace qs;

class TestProvenance : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString write(const char* name, const QByteArray& bytes) {
        QFile file(dir_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly)) return {};
        file.write(bytes);
        return file.fileName();
    }
private Q_SLOTS:
    void hashes() {
        const auto empty = sha256OfFile(write("empty", {}).toStdString());
        QVERIFY(empty.has_value());
        QCOMPARE(*empty, std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        const auto abc = sha256OfFile(write("abc", "abc").toStdString());
        QCOMPARE(*abc, std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        const QByteArray big(3'000'001, 'x');
        QCOMPARE(QByteArray::fromStdString(*sha256OfFile(write("big", big).toStdString())),
                 QCryptographicHash::hash(big, QCryptographicHash::Sha256).toHex());
    }
    void aChangedFileIsHashedAgain() {
        const auto path = write("changing", "one").toStdString();
        const auto before = *sha256OfFile(path);
        write("changing", "three");
        QVERIFY(*sha256OfFile(path) != before);
    }
    void everyCallerGetsTheHash() {
        const auto path = write("shared", QByteArray(8'000'000, 'y')).toStdString();
        std::vector<std::string> hashes(4);
        {
            std::vector<std::jthread> threads;
            for (auto& hash : hashes) threads.emplace_back([&] { hash = sha256OfFile(path).value_or(""); });
        }
        QVERIFY(!hashes[0].empty());
        QCOMPARE(std::set<std::string>(hashes.begin(), hashes.end()).size(), std::size_t(1));
    }
    void cancelledHashIsNotKept() {
        const auto path = write("cancelled", QByteArray(5'000'000, 'z')).toStdString();
        const Job job;
        job.cancel();
        const auto stopped = sha256OfFile(path, job);
        QVERIFY(!stopped && stopped.error().cancelled);
        QVERIFY(sha256OfFile(path).has_value());
    }
    void pipesAndMissingFilesAreErrors() {
        const auto fifo = dir_.filePath(QStringLiteral("fifo")).toStdString();
        QCOMPARE(mkfifo(fifo.c_str(), 0600), 0);
        QVERIFY(!sha256OfFile(fifo));
        const auto missing = sha256OfFile(dir_.filePath(QStringLiteral("none")).toStdString());
        QVERIFY(!missing && missing.error().message.find("none") != std::string::npos);
    }
    void machineIsDescribed() {
        qputenv("SOURCE_DATE_EPOCH", "86400");
        std::set<std::string> keys;
        for (const auto& [key, value] : machineProvenance()) {
            keys.insert(key);
            QVERIFY2(!value.empty(), key.c_str());
            if (key == "date") QCOMPARE(value, std::string("1970-01-02T00:00:00Z"));
            if (key == "version") QCOMPARE(value, std::string("QuantScope ") + toolVersion());
        }
        for (const char* key : {"version", "formats_version", "date", "machine", "cpu", "isa", "threads"})
            QVERIFY2(keys.count(key), key);
    }
    void titles() {
        QCOMPARE(provenanceTitle("input_sha256"), std::string("Input SHA-256"));
        QCOMPARE(provenanceTitle("driver_version"), std::string("Driver version"));
    }
    /// Pool threads may end after libcrypto has cleaned up. Their memory would then leak, which AddressSanitizer
    /// reports. This test is the last, because nothing is hashed after it.
    void threadsLeaveNothing() {
        const std::string path = write("thread", "weights").toStdString();
        bool hashed = false, described = false;
        std::atomic<int> step{0};
        const auto go = [&](int to) { step = to, step.notify_all(); };
        std::thread hashing([&] {
            ERR_clear_error(); // the first hash of the process allocates the same
            hashed = sha256OfFile(path).has_value();
            go(1);
            step.wait(1), step.wait(2);
        });
        step.wait(0);
        std::thread describing([&] {
            ERR_clear_error();
            described = !machineProvenance().empty();
            go(2);
            step.wait(2);
        });
        step.wait(1);
        OPENSSL_cleanup();
        go(3);
        hashing.join(), describing.join();
        QVERIFY(hashed && described);
    }
};

QS_TEST(TestProvenance)
#include "provenance_test.moc"
