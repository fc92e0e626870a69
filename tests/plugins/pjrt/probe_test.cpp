// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of a plugin file before it is loaded, and the search for a TPU on the PCI bus.
#include "module_table.h"
#include "plugins/elf/elf_library.h"
#include "plugins/pjrt/client.h"
#include "plugins/pjrt/tpu_presence.h"
#include "plugins/pjrt/vendor_libraries.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <utility>

using namespace qs::test;

namespace {

qs_probe probe(const std::vector<std::pair<QByteArray, QByteArray>>& options) {
    std::vector<qs_kv> kv;
    for (const auto& [key, value] : options) kv.push_back({key.constData(), value.constData()});
    auto answer = sized<qs_probe>();
    auto error = sized<qs_error>();
    if (pjrtTable()->probe(nullptr, kv.data(), std::uint32_t(kv.size()), &answer, &error) != QS_OK) answer.state = -1;
    return answer;
}

} // namespace

class ProbeTest : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString at(const char* name) const { return folder_.filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void theContract() {
        QVERIFY(pjrtTable() != nullptr);
        QCOMPARE(QString::fromLatin1(pjrtTable()->id), QStringLiteral("pjrt"));
        QCOMPARE(pjrtTable()->isolation, std::uint32_t(QS_ISOLATION_REQUIRED));
    }

    void files_data() {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<int>("state");
        QTest::addColumn<QString>("reason");
        const auto good = bytesOf(QStringLiteral(QS_FAKE_PJRT));
        QVERIFY(good.size() > 4096);
        put(at("text.so"), "not a library at all, but long enough to hold a header of sixty-four bytes and more");
        put(at("empty.so"), {});
        put(at("short.so"), good.left(good.size() / 2));
        auto other = good;
        other[18] = 8; // e_machine: MIPS
        put(at("mips.so"), other);
        auto program = good;
        program[16] = 2; // e_type: ET_EXEC
        put(at("program"), program);
        auto sections = good;
        sections[58] = 1; // e_shentsize
        put(at("sections.so"), sections);
        QTest::addRow("none") << QByteArray() << QS_PROBE_NEEDS_CONFIG << QStringLiteral("no PJRT plugin is named");
        QTest::addRow("missing") << QByteArray("/nowhere/libtpu.so") << QS_PROBE_NEEDS_CONFIG
                                 << QStringLiteral("cannot be read");
        QTest::addRow("folder") << folder_.path().toLocal8Bit() << QS_PROBE_UNAVAILABLE
                                << QStringLiteral("no ELF header");
        for (const auto& [name, reason] :
             {std::pair("text.so", "no ELF header"), std::pair("empty.so", "no ELF header"),
              std::pair("short.so", "is cut short"), std::pair("mips.so", "another kind of machine"),
              std::pair("program", "no shared library"), std::pair("sections.so", "no section table")})
            QTest::addRow("%s", name) << at(name).toLocal8Bit() << QS_PROBE_UNAVAILABLE << QString::fromLatin1(reason);
        QTest::addRow("another library") << QByteArray(QS_PJRT_MODULE) << QS_PROBE_UNAVAILABLE
                                         << QStringLiteral("exports no GetPjrtApi");
        QTest::addRow("plugin") << QByteArray(QS_FAKE_PJRT) << QS_PROBE_AVAILABLE << QString();
    }
    void files() {
        QFETCH(QByteArray, path);
        QFETCH(int, state);
        QFETCH(QString, reason);
        const auto answer = probe({{"path", path}});
        QVERIFY2(QString::fromUtf8(answer.reason).contains(reason), answer.reason);
        QCOMPARE(int(answer.state), state);
        QCOMPARE(QByteArray(answer.hint).isEmpty(), state == QS_PROBE_AVAILABLE);
        if (state != QS_PROBE_AVAILABLE) { // open() must give the same message
            qs_ctx* context = nullptr;
            auto error = sized<qs_error>();
            const qs_kv option{"path", path.constData()};
            QVERIFY(pjrtTable()->open(nullptr, &option, 1, &context, &error) != QS_OK);
            QVERIFY(context == nullptr);
            QVERIFY(QString::fromUtf8(error.msg).contains(reason));
        }
    }
    /// Changes each byte of the headers in turn: an answer, and no read beyond the file.
    void damagedHeaders() {
        const auto good = bytesOf(QStringLiteral(QS_FAKE_PJRT));
        const auto sections = *reinterpret_cast<const std::uint64_t*>(good.constData() + 40);
        for (int i = 16; i < 64; ++i) {
            auto bad = good;
            bad[i] = char(bad[i] ^ 0x5a);
            put(at("bad.so"), bad);
            qs::readElfLibrary(at("bad.so").toStdString());
        }
        for (auto i = qsizetype(sections); i < good.size(); i += 3) {
            auto bad = good;
            bad[i] = char(bad[i] ^ 0xff);
            put(at("bad.so"), bad);
            qs::readElfLibrary(at("bad.so").toStdString());
        }
        QVERIFY(qs::readElfLibrary(QS_FAKE_PJRT).defines("GetPjrtApi"));
    }

    void tpus() {
        const auto root = at("root");
        QVERIFY(!qs::pjrt::findTpu(root.toStdString()).onBus);
        put(root + QStringLiteral("/sys/bus/pci/devices/0000:00:04.0/vendor"), "0x10de\n");
        put(root + QStringLiteral("/sys/bus/pci/devices/0000:00:04.0/device"), "0x006f\n");
        put(root + QStringLiteral("/sys/bus/pci/devices/0000:00:05.0/vendor"), "0x1ae0\n");
        put(root + QStringLiteral("/sys/bus/pci/devices/0000:00:05.0/device"), "0x0042\n");
        QVERIFY(!qs::pjrt::findTpu(root.toStdString()).onBus); // device ids 0x6f of NVIDIA and a Google disk are not
                                                               // TPUs
        QFile::copy(QString::fromLocal8Bit(QS_FAKE_PJRT), at("libtpu.so"));
        const auto libtpu = at("libtpu.so").toLocal8Bit();
        auto answer = probe({{"path", libtpu}, {"sys_root", root.toLocal8Bit()}});
        QCOMPARE(int(answer.state), QS_PROBE_COMPILE_ONLY);
        QCOMPARE(QByteArray(answer.reason), QByteArray("compiles for v6e:2x2; there is no TPU in this machine"));
        put(root + QStringLiteral("/sys/bus/pci/devices/0000:00:05.0/device"), "0x006f\n");
        const auto found = qs::pjrt::findTpu(root.toStdString());
        QVERIFY(found.onBus && !found.hasDevice && found.generation == "v6e");
        answer = probe({{"path", libtpu}, {"sys_root", root.toLocal8Bit()}});
        QCOMPARE(int(answer.state), QS_PROBE_UNAVAILABLE);
        QVERIFY(QByteArray(answer.reason).contains("a TPU v6e is on the bus"));
        put(root + QStringLiteral("/dev/vfio/vfio"), "");
        QVERIFY(!qs::pjrt::findTpu(root.toStdString()).hasDevice);
        put(root + QStringLiteral("/dev/vfio/0"), "");
        QVERIFY(qs::pjrt::findTpu(root.toStdString()).hasDevice);
        QCOMPARE(int(probe({{"path", libtpu}, {"sys_root", root.toLocal8Bit()}}).state), QS_PROBE_AVAILABLE);
        answer = probe({{"path", libtpu}, {"sys_root", root.toLocal8Bit()}, {"topology", "v5e:2x2"}});
        QCOMPARE(int(answer.state), QS_PROBE_COMPILE_ONLY);
        QCOMPARE(QByteArray(answer.reason), QByteArray("compiles for v5e:2x2"));
    }
    void bounds() {
        for (const char* bad : {"1,1", "0,1,1", "1,1,1,1", "a", "1;1;1", "", "1,1,99999999999999999999"})
            QCOMPARE(int(probe({{"path", QS_FAKE_PJRT}, {"chips_per_host_bounds", bad}}).state), QS_PROBE_NEEDS_CONFIG);
        QCOMPARE(int(probe({{"path", QS_FAKE_PJRT}, {"chips_per_host_bounds", "1,1,1"}}).state), QS_PROBE_AVAILABLE);
    }
    void vendorFolders() {
        put(at("site/nvidia/cu13/lib/libcudart.so.13"), "");
        put(at("site/nvidia/cudnn/lib/libcudnn.so.9"), "");
        const auto folders =
            qs::pjrt::vendorFolders(at("site/jax_plugins/xla_cuda13/xla_cuda_plugin.so").toStdString());
        QCOMPARE(folders.size(), std::size_t(2));
        QVERIFY(folders[0].ends_with("/site/nvidia/cu13/lib") && folders[1].ends_with("/site/nvidia/cudnn/lib"));
        QVERIFY(!qs::pjrt::needsCuda(QS_FAKE_PJRT));
    }
    void compileOptionBytes() {
        QCOMPARE(QByteArray::fromStdString(qs::pjrt::compileOptions()).toHex(), QByteArray("1a0420012801"));
    }
};

QS_TEST(ProbeTest)
#include "probe_test.moc"
