// SPDX-License-Identifier: GPL-3.0-or-later
// The module cuda must load and answer on a machine without driver, device or CUDA libraries. cuda_check tests it with
// a device.
#include "plugins/common/shared_library.h"
#include "plugins/cuda/presence.h"
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QtTest>

using namespace qs::test;

class CudaBackend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void saysNoDeviceWithoutOne();
};

void CudaBackend::saysNoDeviceWithoutOne() {
    AbiModule module(QS_BUILT_BACKENDS "/cuda.so");
    QVERIFY2(module.error().empty(), module.error().c_str());
    QCOMPARE(std::string(module.table()->id), std::string("cuda"));
    QCOMPARE(module.table()->isolation, std::uint32_t(QS_ISOLATION_REQUIRED));
    QCOMPARE(std::string(module.table()->license), std::string("GPL-3.0-or-later"));
    const bool present = qs::cuda::findDevice(qs::plugin::findSharedLibrary("libcuda.so.1")).present;
    QElapsedTimer timer;
    timer.start();
    const auto probe = module.probe();
    QVERIFY(timer.elapsed() < 2000);
    QCOMPARE(probe.state, present ? QS_PROBE_AVAILABLE : QS_PROBE_UNAVAILABLE);
    if (present) QSKIP("a device is there: cuda_check tests it");
    QVERIFY2(probe.reason.find("device") != std::string::npos, probe.reason.c_str());
    QVERIFY(!probe.hint.empty());
    QCOMPARE(module.open(), probe.reason); // open() gives the same message and does not crash
}

QS_TEST(CudaBackend)
#include "cuda_backend_test.moc"
