// SPDX-License-Identifier: GPL-3.0-or-later
// The PTX shown for a variant must be that of the kernel it runs: every name that can be requested is exactly one
// entry.
#include "kernels/cuda/ptx.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <set>

using namespace qs::cuda;

class CudaPtx : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cutOut() {
        const std::vector<const char*> texts = {
            "//\n.version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry _Z3one(\n)\n{\n\tret;\n\n}\n"
            "\t// .globl\n.visible .entry _Z3two(\n)\n{\n\tadd;\n}\n"};
        const std::string head = ".version 9.0\n.target sm_90\n.address_size 64\n\n";
        QCOMPARE(ptxOf(texts, "3one"), head + ".visible .entry _Z3one(\n)\n{\n\tret;\n\n}\n");
        QCOMPARE(ptxOf(texts, "3two"), head + ".visible .entry _Z3two(\n)\n{\n\tadd;\n}\n");
        QCOMPARE(ptxOf(texts, "5three"), std::string());
    }
#ifdef QS_CUDA_TEXTS
    void everyKernel() {
        std::vector<std::string> names = {decodeName(true), decodeName(false), kFinishIntegersName, kFinishScaledName,
                                          kJoinTotalsName};
        for (const auto quantizer : {Quantizer::Int8, Quantizer::Nf4, Quantizer::Nf4Whole64, Quantizer::BySearch})
            for (const bool measures : {false, true}) names.push_back(quantizerName(quantizer, measures));
        for (const bool toBf16 : {false, true})
            for (const int bits : {2, 4, 8}) {
                names.push_back(decodeRunName(bits, false, toBf16));
                if (bits == 4) names.push_back(decodeRunName(bits, true, toBf16));
            }
        for (const bool measures : {false, true}) names.push_back(quantizerName(Quantizer::Int8, measures, true));
        for (const bool kept : {false, true}) names.push_back(quantizerName(Quantizer::E4m3, false, kept));
        const std::size_t others = names.size();
        for (const auto& [bits, affine] : {std::pair{2, false}, {2, true}, {4, false}, {8, false}}) {
            for (const int mode : {0, 1, 2}) {
                names.push_back(largeName(bits, mode, affine));
                for (const int columns : {8, 16, 32}) names.push_back(skinnyName(bits, columns, mode, 32, affine));
            }
            for (const int columns : {8, 16}) {
                for (const int mode : {0, 2}) names.push_back(stagedName(bits, columns, mode, 64, affine));
                names.push_back(stagedName(bits, columns, 1, 32, affine));
            }
            if (bits != 4 && !affine) continue;
            names.push_back(skinnyName(bits, 32, 2, 16, affine));
            for (const int columns : {8, 16, 32})
                for (const int block : {64, 256}) {
                    names.push_back(skinnyName(bits, columns, 1, block, affine));
                    if (columns < 32) names.push_back(stagedName(bits, columns, 1, block, affine));
                }
        }
        std::set<std::string> seen;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::string text = ptxOf(ptxTexts(), names[i]);
            QVERIFY2(text.starts_with(".version") && text.ends_with("}\n"), names[i].c_str());
            QVERIFY2(seen.insert(text).second, names[i].c_str());
            QCOMPARE(text.find("mma.sync") != std::string::npos, i >= others); // products use tensor cores
        }
    }
#endif
};

QS_TEST(CudaPtx)
#include "cuda_ptx_test.moc"
