// SPDX-License-Identifier: GPL-3.0-or-later
// Tests QS_FORCE_ISA in a child process: this program starts itself and prints the chosen kernel set.

#include "kernels/kernel_set.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cstdio>

using namespace qs;

namespace {

QByteArray chosen(const char* forced) {
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("QS_FORCE_ISA"));
    if (forced) environment.insert(QStringLiteral("QS_FORCE_ISA"), QString::fromLatin1(forced));
    process.setProcessEnvironment(environment);
    process.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--print-isa")});
    if (!process.waitForFinished()) return "did not finish";
    return process.readAllStandardOutput();
}

} // namespace

class ForcedIsa : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everySet();
    void nothingForced();
    void unknownName();
};

void ForcedIsa::everySet() {
    QCOMPARE(QByteArray(kernelSets().front()->id), QByteArray("scalar"));
    for (const KernelSet* set : kernelSets()) {
        const QByteArray answer = chosen(set->id);
        if (set->supported())
            QCOMPARE(answer, QByteArray(set->id) + " -\n");
        else
            QVERIFY2(answer.contains("lacks"), answer.constData());
    }
}

void ForcedIsa::nothingForced() {
    const char* best = nullptr;
    for (const KernelSet* set : kernelSets())
        if (set->supported()) best = set->id;
    QCOMPARE(chosen(nullptr), QByteArray(best) + " -\n");
    QCOMPARE(chosen(""), QByteArray(best) + " -\n");
}

void ForcedIsa::unknownName() {
    const QByteArray answer = chosen("sse9");
    QVERIFY2(answer.contains("unknown") && answer.contains("scalar, avx2, avx512"), answer.constData());
}

/// Entry point of the child process: prints the chosen kernel set, and the problem with QS_FORCE_ISA if there is one.
static int printIsa(int, char**) {
    const char* problem = forcedIsaProblem();
    std::printf("%s %s\n", bestKernels().id, problem ? problem : "-");
    return 0;
}

QS_OTHER_MAIN("--print-isa", printIsa)
QS_TEST(ForcedIsa)
#include "forced_isa_test.moc"
