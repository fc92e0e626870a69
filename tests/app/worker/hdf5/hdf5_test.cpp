// SPDX-License-Identifier: GPL-3.0-or-later
// HDF5 files read by the sandboxed worker process: made by libhdf5 (make_hdf5), broken, and hostile. keras_test.cpp
// tests files of Keras, hdf5_reader_test.cpp a reader that misbehaves.
#include "core/model/derived_tensor.h"
#include "core/model/hdf5/reader.h"
#include "core/model/model.h"
#include "core/process/worker_process.h"
#include "core/quant/encode/quantizer.h"
#include "tests/app/worker/hdf5/tensor_bytes.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

std::string warningsOf(const Model& model) {
    std::string all;
    for (const auto& warning : model.warnings) all += warning + "\n";
    return all;
}

} // namespace

class TestHdf5 : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanup() { qunsetenv("QS_WORKER"); }
    void theSandboxDenies();
    void aFilterThatIsNotInForce();
    void lowLimitsOfTheUser();
    void honestValues_data();
    void honestValues();
    void whatIsNotReadIsListed_data();
    void whatIsNotReadIsListed();
    void hostileIsNeverFollowed_data();
    void hostileIsNeverFollowed();
    void groupsTooDeep();
    void namesThatControl();
    void rangesOfChunks();
    void oneDamagedTensorLeavesTheRest();
    void wrongBytes_data();
    void wrongBytes();
    void everyTruncation();
    void flippedBytes();
    void anOffsetInAnotherFile();

private:
    std::string path(const char* name) const { return folder_.filePath(QString::fromLatin1(name)).toStdString(); }
    std::string write(const char* name, const QByteArray& bytes) const {
        QFile file(folder_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
        return file.fileName().toStdString();
    }
    QTemporaryDir folder_;
};

void TestHdf5::initTestCase() {
    QCOMPARE(QProcess::execute(QStringLiteral(QS_BIN_DIR "/make_hdf5"), {folder_.path()}), 0);
}

void TestHdf5::theSandboxDenies() {
    const Descriptor file(::open(path("honest.h5").c_str(), O_RDONLY | O_CLOEXEC));
    auto reader = Hdf5Reader::open("honest", file, 0, std::uint64_t(QFile(q(path("honest.h5"))).size()));
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    const auto denied = (*reader)->probe();
    QVERIFY2(denied, denied ? "" : denied.error().message.c_str());
    for (const char* what : {"open", "create", "socket", "unix socket", "exec", "fork", "kill", "ptrace",
                             "executable memory", "memfd", "unlink"}) {
        QVERIFY2(denied->contains(what), what);
        QVERIFY2(denied->at(what) == EPERM, what);
    }
    QCOMPARE(denied->size(), std::size_t(11));
}

/// A library that stands for libseccomp and does nothing: the reader asks the kernel, and reads nothing.
void TestHdf5::aFilterThatIsNotInForce() {
    const Descriptor file(::open(path("honest.h5").c_str(), O_RDONLY | O_CLOEXEC));
    const auto window = SharedBuffer::create(1 << 20);
    QVERIFY(window);
    const auto worker = WorkerProcess::start({.arguments = {"--hdf5"},
                                              .descriptors = {file.get(), (*window)->descriptor()},
                                              .environment = {"LD_PRELOAD=" QS_BUILD_DIR "/lib/libno_filter.so"}});
    QVERIFY(worker);
    const auto how = (*worker)->end(10);
    QCOMPARE(q(how.text), q("exited with code 3"));
    QCOMPARE(q((*worker)->lastErrorLine()),
             q("quantscope-worker: the sandbox cannot be entered: its filter is not in force"));
}

/// Hard limits that batch systems set. They are below those of the reader, which may not raise them.
void TestHdf5::lowLimitsOfTheUser() {
#ifdef __SANITIZE_ADDRESS__
    QSKIP("the sanitizer takes terabytes of addresses");
#endif
    for (const char* limits : {"ulimit -t 600", "ulimit -v 3000000", "ulimit -n 40", "ulimit -t 600 -v 2000000 -c 0"}) {
        QProcess shell;
        shell.setProcessChannelMode(QProcess::MergedChannels);
        shell.start(QStringLiteral("/bin/bash"),
                    {QStringLiteral("-c"),
                     q(limits) + QStringLiteral(" && exec " QS_BIN_DIR "/quantscope-cli inspect \"$0\""),
                     q(path("honest.h5"))});
        QVERIFY(shell.waitForFinished(60'000));
        const auto said = shell.readAll();
        QVERIFY2(shell.exitCode() == 0, limits + said);
    }
}

void TestHdf5::honestValues_data() {
    QTest::addColumn<QString>("file");
    for (const char* file : {"honest.h5", "user-block.h5", "latest.h5"})
        QTest::newRow(file) << QString::fromLatin1(file);
}

void TestHdf5::honestValues() {
    QFETCH(QString, file);
    const auto opened = openModel(path(file.toLatin1().constData()));
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    const Model& model = **opened;
    QCOMPARE(q(model.format), QStringLiteral("hdf5"));
    QCOMPARE(q(model.files[0].metadata.at("keras_version")), QStringLiteral("3.0.0"));
    struct Expected {
        const char *name, *type;
        std::vector<std::int64_t> shape;
        bool derived;
    };
    const Expected floats[] = {{"f2", "F16", {3, 5}, false},
                               {"f4", "F32", {3, 5}, false},
                               {"f8", "F64", {15}, false},
                               {"big-endian", "F32", {3, 5}, true},
                               {"scalar", "F32", {}, false},
                               {"nothing", "F32", {0, 4}, false},
                               {"group/gzip", "F32", {7, 33, 5}, true},
                               {"group/unpacked chunks", "F64", {9, 7}, true},
                               {"group/several windows", "F32", {1300, 1000}, true},
                               {"group/compact", "F32", {3, 5}, true}};
    for (const auto& expected : floats) {
        const auto* tensor = model.find(expected.name);
        QVERIFY2(tensor, expected.name);
        QCOMPARE(tensor->typeId(), expected.type);
        QCOMPARE(tensor->shape, expected.shape);
        QVERIFY2(bool(tensor->derived) == expected.derived, expected.name);
        const auto view = model.view(*tensor);
        QVERIFY2(view, expected.name);
        std::vector<float> values(tensor->elements);
        if (!values.empty()) loadF32(*view, 0, values.size(), values.data());
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] != float(double(i) - 3) / 2 && tensor->dtype != DType::F16)
                QCOMPARE(values[i], float(i) / 2 - 1.5F);
        QVERIFY(model.unchanged(*tensor));
    }
    const std::pair<const char*, const char*> whole[] = {{"i1", "I8"}, {"i2", "I16"}, {"i4", "I32"}, {"i8", "I64"},
                                                         {"u1", "U8"}, {"u2", "U16"}, {"u4", "U32"}, {"u8", "U64"}};
    for (const auto& [name, type] : whole) {
        const auto* tensor = model.find(name);
        QVERIFY2(tensor, name);
        QCOMPARE(tensor->typeId(), type);
        const auto bytes = bytesIn(model, *tensor);
        const std::size_t size = tensor->bytes / 15;
        for (std::size_t i = 0; i < 15; ++i) {
            const std::int64_t value = std::int64_t(i) - (name[0] == 'i' ? 3 : 0);
            QVERIFY2(std::memcmp(bytes.data() + i * size, &value, size) == 0, name);
        }
    }
    const auto* never = model.find("group/never written");
    QVERIFY(never && never->derived);
    std::vector<float> fill(16);
    loadF32(*model.view(*never), 0, 16, fill.data());
    for (const float value : fill) QCOMPARE(value, 1.5F);
    const auto* bfloat = model.find("group/bfloat16");
    QVERIFY(bfloat);
    QCOMPARE(bfloat->dtype, DType::BF16);
    const auto* flags = model.find("group/bool");
    QVERIFY(flags);
    QCOMPARE(flags->dtype, DType::Bool);
    QCOMPARE(bytesIn(model, *flags), (std::vector<std::byte>{std::byte(1), std::byte(0), std::byte(1)}));
}

void TestHdf5::whatIsNotReadIsListed_data() {
    QTest::addColumn<QString>("says");
    const std::pair<const char*, const char*> rows[] = {
        {"texts", "\"/group/texts\" holds texts"},
        {"records", "\"/group/records\" holds records (a compound type)"},
        {"references", "\"/group/references\" holds references"},
        {"lists", "\"/group/lists\" holds lists of varying lengths"},
        {"enumeration", "\"/group/enumeration\" holds members of an enumeration"},
        {"opaque", "\"/group/opaque\" holds opaque bytes"},
        {"null", "\"/group/null\" has no elements"},
        {"named type", "\"/group/type\" is a named type"},
        {"second name", "is another name of /"},
        {"loop of hard links", "\"/group/loop\" is another name of /"}};
    for (const auto& [name, says] : rows) QTest::newRow(name) << QString::fromLatin1(says);
}

void TestHdf5::whatIsNotReadIsListed() {
    QFETCH(QString, says);
    const auto opened = openModel(path("honest.h5"));
    QVERIFY(opened);
    QVERIFY2(q(warningsOf(**opened)).contains(says), warningsOf(**opened).c_str());
}

void TestHdf5::hostileIsNeverFollowed_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("says");
    const std::pair<const char*, const char*> rows[] = {
        {"soft-link.h5", "\"/loop\" is a soft link, which is never followed"},
        {"external-link.h5", "\"/link\" is a link into another file, which is never followed"},
        {"user-link.h5", "\"/link\" is a link of a user-defined kind, which is never followed"},
        {"external-storage.h5", "\"/stolen\" keeps its elements in another file"},
        {"virtual.h5", "\"/virtual\" is a virtual dataset"},
        {"filter.h5", "\"/packed\" is packed by filter 32000 (lzf), which is not built in"},
        {"bomb.h5", "\"/bomb\" declares 4.00 TiB where 0 B are stored"},
        {"chunk.h5", "\"/chunk\" has chunks of more than 256.00 MiB"},
        {"compact.h5", "\"/compact\" declares 3.52 KiB where 148 B are stored"},
        {"weight-names.h5", "\"/dense\" is a link into another file"}};
    for (const auto& [file, says] : rows) QTest::newRow(file) << QString::fromLatin1(file) << QString::fromLatin1(says);
}

void TestHdf5::hostileIsNeverFollowed() {
    QFETCH(QString, file);
    QFETCH(QString, says);
    const auto opened = openModel(path(file.toLatin1().constData()));
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QVERIFY2(q(warningsOf(**opened)).contains(says), warningsOf(**opened).c_str());
    const TensorInfo* good = (*opened)->find("good");
    QVERIFY(good);
    for (const auto& tensor : (*opened)->tensors) // numbers that are not read are listed without values
        QVERIFY2(&tensor == good || (tensor.isUnread() && q(tensor.name).prepend(u'/') == says.section(u'"', 1, 1)),
                 tensor.name.c_str());
    QCOMPARE((*opened)->tensors.size(), std::size_t(says.contains(q("link")) ? 1 : 2));
    std::vector<float> values(15);
    loadF32(*(*opened)->view(*good), 0, 15, values.data());
    QCOMPARE(values[14], 5.5F);
}

void TestHdf5::groupsTooDeep() {
    const auto opened = openModel(path("deep.h5"));
    QVERIFY(!opened);
    QVERIFY2(opened.error().message.find("its groups nest more than 64 deep") != std::string::npos,
             opened.error().message.c_str());
}

/// Any name is allowed. It is shown escaped.
void TestHdf5::namesThatControl() {
    const auto opened = openModel(path("control.h5"));
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QVERIFY((*opened)->warnings.empty());
    QVERIFY((*opened)->find("a\x1b[31m\n\xe2\x80\xae"));
    qputenv("QS_WORKER", "/nowhere/quantscope-worker"); // the error message contains neither of them unescaped
    const auto refused = openModel(write("a\x1b[31m\n.h5", bytesOf(q(path("control.h5")))));
    QVERIFY(!refused);
    for (const char c : refused.error().message)
        QVERIFY2(static_cast<unsigned char>(c) >= 0x20, refused.error().message.c_str());
}

void TestHdf5::rangesOfChunks() {
    const auto opened = openModel(path("honest.h5"));
    QVERIFY(opened);
    const auto* tensor = (*opened)->find("group/gzip");
    QVERIFY(tensor && tensor->derived);
    QCOMPARE(q(tensor->derived->description()), QStringLiteral("HDF5, shuffle + gzip in chunks of [2, 8, 3]"));
    QVERIFY(tensor->derived->storedBytes() > 0);
    for (std::size_t begin = 0; begin < tensor->elements; begin += 13)
        for (const std::size_t n : {1U, 2U, 4U, 5U, 6U, 164U, 165U, 166U, 331U}) {
            if (begin + n > tensor->elements) continue;
            std::vector<float> values(n);
            loadF32(*(*opened)->view(*tensor), begin, n, values.data());
            for (std::size_t i = 0; i < n; ++i) QCOMPARE(values[i], float(begin + i) / 2 - 1.5F);
        }
    // Ranges that cross window edges, and ranges that start inside an element.
    tensor = (*opened)->find("group/several windows");
    const auto whole = bytesIn(**opened, *tensor);
    QCOMPARE(whole.size(), std::size_t(5'200'000));
    std::vector<std::byte> piece(70'001);
    for (const std::uint64_t begin : {std::uint64_t(4) << 20, (std::uint64_t(4) << 20) - 33'333, std::uint64_t(5)}) {
        (*opened)->view(*tensor)->readInto(begin, piece);
        QVERIFY(std::memcmp(piece.data(), whole.data() + begin, piece.size()) == 0);
    }
}

/// Data that does not inflate fails its own tensor; others can be read after it.
void TestHdf5::oneDamagedTensorLeavesTheRest() {
    QByteArray bytes = bytesOf(q(path("honest.h5")));
    int damaged = 0;
    for (const char* begin : {"\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda"}) // of zlib streams
        for (qsizetype at = 0; (at = bytes.indexOf(begin, at)) >= 0; ++damaged) bytes.replace(at, 2, "\xff\xff");
    QVERIFY(damaged > 0);
    const auto opened = openModel(write("damaged.h5", bytes));
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    const TensorInfo *packed = (*opened)->find("group/gzip"), *other = (*opened)->find("group/unpacked chunks");
    QVERIFY(packed && other);
    (void)bytesIn(**opened, *packed);
    const auto failed = (*opened)->unchanged(*packed);
    QVERIFY(!failed && failed.error().message.find("group/gzip") != std::string::npos);
    std::vector<float> values(other->elements);
    loadF32(*(*opened)->view(*other), 0, values.size(), values.data());
    for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(values[i], float(i) / 2 - 1.5F);
    QVERIFY((*opened)->unchanged(*other));
}

void TestHdf5::wrongBytes_data() {
    QTest::addColumn<QByteArray>("bytes");
    const QByteArray good = bytesOf(q(path("soft-link.h5")));
    const auto patched = [&](int at, const QByteArray& with) {
        return QByteArray(good).replace(at, with.size(), with);
    };
    QTest::newRow("only the magic number") << good.left(8);
    QTest::newRow("zeros behind the magic number") << good.left(8) + QByteArray(2000, '\0');
    QTest::newRow("a superblock of version 99") << patched(8, "\x63");
    QTest::newRow("offsets of 255 bytes") << patched(13, "\xff");
    QTest::newRow("lengths of no bytes") << patched(14, QByteArray(1, '\0'));
    QTest::newRow("a root group beyond the end") << patched(64, "\xff\xff\xff\x7f");
}

void TestHdf5::wrongBytes() {
    QFETCH(QByteArray, bytes);
    const auto opened = openModel(write("wrong.h5", bytes));
    QVERIFY(!opened);
    QVERIFY2(opened.error().message.find("HDF5") != std::string::npos, opened.error().message.c_str());
    QVERIFY(opened.error().message.size() <= 500);
}

/// A truncated file must not end this process, or give a tensor that reaches beyond the file.
void TestHdf5::everyTruncation() {
    const QByteArray good = bytesOf(q(path("soft-link.h5")));
    for (qsizetype n = 8; n < good.size(); n += good.size() / 23) {
        const auto opened = openModel(write("cut.h5", good.left(n)));
        QVERIFY2(!opened, QByteArray::number(n).constData());
        QVERIFY2(opened.error().message.find("HDF5") != std::string::npos, opened.error().message.c_str());
    }
}

void TestHdf5::flippedBytes() {
    std::mt19937 random(5);
    int opened = 0, refused = 0;
    for (int round = 0; round < 60; ++round) {
        QByteArray bytes = bytesOf(q(path("soft-link.h5")));
        for (int i = 0; i < 4; ++i) bytes[qsizetype(random() % std::uint32_t(bytes.size()))] = char(random());
        const auto model = openModel(write("flipped.h5", bytes));
        if (!model) {
            ++refused;
            QVERIFY(!model.error().message.empty());
            continue;
        }
        ++opened;
        for (const auto& tensor : (*model)->tensors) (void)bytesIn(**model, tensor);
    }
    QVERIFY2(opened > 0 && refused > 0, "the flips hit neither the headers nor anything else");
}

void TestHdf5::anOffsetInAnotherFile() {
    const QByteArray good = bytesOf(q(path("filter.h5")));
    const auto outer = write("outer.bin", QByteArray(1003, 'x') + good + QByteArray(77, 'y'));
    const Descriptor file(::open(outer.c_str(), O_RDONLY | O_CLOEXEC));
    const auto reader = Hdf5Reader::open("inner", file, 1003, std::uint64_t(good.size()));
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    const auto& rows = (*reader)->rows();
    const auto at = std::find_if(rows.begin(), rows.end(), [](const Hdf5Row& row) { return row.path == "/good"; });
    QVERIFY(at != rows.end() && at->offset);
    float value = 0; // the offset is counted from the start of the part
    std::memcpy(&value, good.constData() + *at->offset + 4, 4);
    QCOMPARE(value, -1.0F);
}

QS_TEST(TestHdf5)
#include "hdf5_test.moc"
