// SPDX-License-Identifier: GPL-3.0-or-later
// The built machine code, for every architecture that it was compiled for: products must use tensor core
// instructions, large and staged kernels must load x by asynchronous copies, and no kernel may spill its sums. Needs
// cuobjdump and nvdisasm.
#include "kernels/cuda/ptx.h"
#include "tests/support/test_program.h"

#include <QProcess>
#include <QStandardPaths>
#include <QtTest>
#include <map>

namespace {

struct Counts {
    int products = 0, otherProducts = 0, copies = 0, fused = 0, spills = 0, lines = 0;
};
using ByKernel = std::map<QByteArray, Counts>;

} // namespace

class CudaSass : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        const QString cache = QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation);
        QString tool = QStandardPaths::findExecutable(QStringLiteral("cuobjdump"));
        const QString folder = cache + QStringLiteral("/quantscope/cuda");
        if (tool.isEmpty()) tool = QStandardPaths::findExecutable(QStringLiteral("cuobjdump"), {folder});
        if (tool.isEmpty()) QSKIP("cuobjdump is not installed (packaging/fetch-cuobjdump fetches it)");
        QProcess run;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("PATH"),
                           QFileInfo(tool).path() + u':' + environment.value(QStringLiteral("PATH")));
        run.setProcessEnvironment(environment);
        run.start(tool, {QStringLiteral("-sass"), QStringLiteral(QS_BUILT_BACKENDS "/cuda.so")});
        QVERIFY2(run.waitForFinished(240000), "cuobjdump did not end");
        if (run.exitCode() != 0) QSKIP(run.readAllStandardError().constData());
        Counts* counts = nullptr;
        ByKernel* kernels = nullptr;
        const auto text = run.readAllStandardOutput();
        for (const QByteArray& whole : text.split('\n')) {
            const QByteArray line = whole.trimmed();
            if (line.startsWith("code for sm_")) kernels = &architectures_[line.mid(9)];
            if (line.startsWith("Function : ") && kernels) counts = &(*kernels)[line.mid(11)];
            if (!counts) continue;
            ++counts->lines;
            if (line.contains("HMMA.16816.F32.BF16"))
                ++counts->products;
            else if (line.contains("HMMA") || line.contains("IMMA"))
                ++counts->otherProducts;
            counts->copies += line.contains("LDGSTS");
            counts->fused += line.contains("HFMA2.BF16");
            counts->spills += line.contains(" STL") || line.contains("\tSTL");
        }
    }
    void everyArchitecture() {
        for (const QByteArray& one : QByteArray(QS_CUDA_ARCHITECTURES).split(','))
            QVERIFY2(architectures_.count("sm_" + one), one.constData());
    }
    void productsAreTensorInstructions() {
        for (const auto& [architecture, kernels] : architectures_) {
            std::size_t skinny = 0, staged = 0, large = 0;
            for (const auto& [name, counts] : kernels) {
                const bool isSkinny = name.contains("6skinnyI"), isLarge = name.contains("5largeI");
                const bool isStaged = name.contains("6stagedI");
                skinny += isSkinny, staged += isStaged, large += isLarge;
                const QByteArray what = architecture + " " + name;
                QVERIFY2((counts.products > 0) == (isSkinny || isStaged || isLarge), what.constData());
                // A chunk of 128 is 8 steps of k; a warp of the large kernel does 2 x 8 products per step.
                QVERIFY2(!isSkinny || counts.products >= 8, what.constData());
                QVERIFY2(!isLarge || counts.products >= 8 * 16, what.constData());
                // 2 or 4 tiles by 1 or 2 groups of 8 rows of x
                QVERIFY2(!isStaged || counts.products >= 8 * 2, what.constData());
                QCOMPARE(counts.copies > 0, isStaged || isLarge);
                QCOMPARE(counts.fused > 0, name.contains("7Affine2")); // decoded by arithmetic
                QVERIFY2(counts.otherProducts == 0 && counts.spills <= 8 && counts.lines > 8, what.constData());
            }
            for (const auto& [bits, affine] : {std::pair{2, false}, {2, true}, {4, false}, {8, false}})
                for (const int mode : {0, 1, 2})
                    QVERIFY(std::any_of(kernels.begin(), kernels.end(), [&](const auto& kernel) {
                        return kernel.first.contains(qs::cuda::largeName(bits, mode, affine).c_str());
                    }));
            QCOMPARE(large, std::size_t(12));
            QCOMPARE(staged, std::size_t(32));
            QVERIFY(skinny >= 36);
        }
    }

private:
    std::map<QByteArray, ByKernel> architectures_;
};

QS_TEST(CudaSass)
#include "cuda_sass_test.moc"
