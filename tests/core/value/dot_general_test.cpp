// SPDX-License-Identifier: GPL-3.0-or-later
// eformer decides where its kernel path applies (tests/peers/compare_values.py asks eformer itself). The kernel path
// must give the same values as materializing.
#include "core/base/random.h"
#include "core/value/dot_general.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::value;

namespace {

Tensor made(Shape shape, std::uint64_t seed) {
    Tensor out{shape, std::vector<float>(std::size_t(elementsOf(shape)))};
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = normalVariate(seed, 7, i);
    return out;
}

QuantizedTensor coded(Shape shape, const char* spec = "nf4:block=16") {
    return *quantized(made(std::move(shape), 5), *parseSpec(spec));
}

} // namespace

class DotGeneral : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void appliesWhereTheSeedsDoes() {
        const auto why = [](const Operand& a, const Operand& b, DotDimensions d) {
            return QString::fromStdString(whyNoKernel(a, b, d));
        };
        const Tensor x = made({3, 32}, 1), x3 = made({2, 3, 32}, 1), z = made({32, 5}, 1);
        const QuantizedTensor w = coded({32, 64}), square = coded({32, 32}), w3 = coded({2, 32, 64});
        const DotDimensions usual{{1}, {0}, {}, {}};
        QCOMPARE(why(x, w, usual), QString());
        QCOMPARE(why(x3, w, {{2}, {0}, {}, {}}), QString());
        QCOMPARE(why(square, z, usual), QString());
        QVERIFY(why(made({3, 64}, 1), w, {{1}, {1}, {}, {}}).contains(u"first axis"));
        QVERIFY(why(made({32, 3}, 1), w, {{0}, {0}, {}, {}}).contains(u"last axis"));
        QVERIFY(why(made({32, 64}, 1), w, {{0, 1}, {0, 1}, {}, {}}).contains(u"number of axes"));
        QVERIFY(why(x3, w3, {{2}, {1}, {0}, {0}}).contains(u"batch"));
        QVERIFY(why(made({3, 2}, 1), w3, usual).contains(u"rank"));
        QVERIFY(why(square, w, usual).contains(u"both"));
        QVERIFY(why(made({3, 16}, 1), w, usual).contains(u"size"));
        QVERIFY(why(square, made({5, 32}, 1), {{1}, {1}, {}, {}}).contains(u"first axis"));
        QVERIFY(why(w3, z, {{2}, {0}, {}, {}}).contains(u"rank"));
        QVERIFY(why(square, z, {{0}, {0}, {}, {}}).contains(u"last axis"));
        QVERIFY(why(x, coded({32, 40}), usual).contains(u"padded"));
        QVERIFY(why(x, z, usual).contains(u"neither"));
    }

    void kernelAndFallbackAgree() {
        DotOptions fallback;
        fallback.kernel = false;
        for (const char* text :
             {"nf4:block=16", "int8", "int8:axis=0", "ternary", "binary:scale=tensor", "fp8_e4m3", "int4:block=32"}) {
            const QuantizedTensor w = coded({96, 64}, text);
            const Tensor x = made({7, 96}, 2), z = made({64, 3, 2}, 3);
            const auto right = dotGeneral(x, w, {{1}, {0}, {}, {}}),
                       plain = dotGeneral(x, w, {{1}, {0}, {}, {}}, fallback);
            const auto left = dotGeneral(w, z, {{1}, {0}, {}, {}}),
                       plainLeft = dotGeneral(w, z, {{1}, {0}, {}, {}}, fallback);
            QVERIFY(right && plain && left && plainLeft);
            QVERIFY2(right->notApplicable.empty() && left->notApplicable.empty(), text);
            QVERIFY(!plain->notApplicable.empty());
            QVERIFY(right->value.shape == (Shape{7, 64}) && left->value.shape == (Shape{96, 3, 2}));
            for (std::size_t i = 0; i < right->value.values.size(); ++i)
                QVERIFY(std::abs(right->value.values[i] - plain->value.values[i]) <= 1e-4f);
            for (std::size_t i = 0; i < left->value.values.size(); ++i)
                QVERIFY(std::abs(left->value.values[i] - plainLeft->value.values[i]) <= 1e-4f);
        }
    }

    /// Larger than one panel of decoded weights.
    void panelsAddUp() {
        const QuantizedTensor w = coded({2100, 1024}, "int8");
        const Tensor x = made({2, 2100}, 2), dense = materialized(w);
        const auto y = matmul(x, w);
        QVERIFY(y);
        for (std::size_t n : {std::size_t(0), std::size_t(511), std::size_t(1023)})
            for (std::size_t m = 0; m < 2; ++m) {
                double sum = 0;
                for (std::size_t k = 0; k < 2100; ++k)
                    sum += double(x.values[m * 2100 + k]) * double(dense.values[k * 1024 + n]);
                QVERIFY(std::abs(sum - double(y->values[m * 1024 + n])) < 2e-3);
            }
    }

    void knownAnswer() {
        const Tensor x{{2, 2}, {1, 2, 3, 4}};
        const auto w = quantized(Tensor{{2, 2}, {1, -1, -1, 1}}, *parseSpec("binary"));
        const auto y = matmul(x, *w);
        QVERIFY(y->values == (std::vector<float>{-1, 1, -1, 1}));
        const auto turned = dotGeneral(x, *w, {{1}, {1}, {}, {}});
        QVERIFY(turned->value.values == (std::vector<float>{-1, 1, -1, 1}));
    }

    void emptyAndWrong() {
        const QuantizedTensor w = coded({32, 64});
        const auto none = matmul(Tensor{{0, 32}, {}}, w);
        QVERIFY(none && none->shape == (Shape{0, 64}));
        const auto zeros = dotGeneral(Tensor{{2, 0}, {}}, Tensor{{0, 3}, {}}, {{1}, {0}, {}, {}});
        QVERIFY(zeros && zeros->value.values == std::vector<float>(6, 0.0f));
        const auto wrong = matmul(made({2, 31}, 1), w);
        QVERIFY(!wrong && wrong.error().message.find("equal sizes") != std::string::npos);
        QVERIFY(!dotGeneral(made({2, 32}, 1), w, {{2}, {0}, {}, {}}));
        Job job;
        job.cancel();
        const auto stopped = dotGeneral(made({2, 32}, 1), w, {{1}, {0}, {}, {}}, {}, job);
        QVERIFY(!stopped && stopped.error().cancelled);
    }
};

QS_TEST(DotGeneral)
#include "dot_general_test.moc"
