// SPDX-License-Identifier: GPL-3.0-or-later
// Compares every operation with the results of eformer for the same inputs (tests/data/values/README.md).
#include "tests/core/value/value_cases.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;
using namespace qs::test;

namespace {

/// Values that are moved or rounded once must have equal bits. int8 scales come from XLA's multiplication by 1/127 and
/// may be one ulp off. Sums have another order. bf16 results may round to the neighbour.
double toleranceOf(const std::string& name) {
    const bool int8 = name.starts_with("int8");
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("convert_element_type")) return int8 ? 1 / 128.0 : 0;
    for (const char* sums : {"dot_general", "conv.", ".exp", ".log", "integer_pow", "reduce.sum"})
        if (has(sums)) return 4e-6;
    return int8 ? 6e-7 : 0;
}

} // namespace

class ValueVectors : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void agree() {
        const GoldenFile file = readGolden(QS_TEST_DATA "/values/vectors.safetensors");
        Tensors in;
        std::size_t results = 0;
        for (const auto& [name, tensor] : file.tensors)
            if (name.find('.') == std::string::npos)
                in[name] = {tensor.shape, tensor.as<float>()};
            else if (!name.ends_with("seed_kernel")) // its arithmetic in bf16 is not offered here
                ++results;
        std::size_t compared = 0;
        for (const auto& spec : kValueSpecs) {
            const auto made = valueResults(in, spec);
            QVERIFY2(made, made ? "" : made.error().message.c_str());
            for (const auto& [name, ours] : *made) {
                const auto found = file.tensors.find(name);
                QVERIFY2(found != file.tensors.end(), name.c_str());
                QVERIFY2(ours.shape == found->second.shape, name.c_str());
                const auto theirs = found->second.as<float>();
                const double limit = toleranceOf(name);
                double most = 0;
                for (const float v : theirs)
                    if (std::isfinite(v)) most = std::max(most, std::abs(double(v)));
                for (std::size_t i = 0; i < theirs.size(); ++i) {
                    const float a = ours.values[i], b = theirs[i];
                    const bool same =
                        a == b || (std::isnan(a) && std::isnan(b)) || std::abs(double(a) - double(b)) <= limit * most;
                    QVERIFY2(same, qPrintable(QStringLiteral("%1 at %2: %3 against %4")
                                                  .arg(QString::fromStdString(name))
                                                  .arg(i)
                                                  .arg(double(a), 0, 'g', 9)
                                                  .arg(double(b), 0, 'g', 9)));
                }
                ++compared;
            }
        }
        QCOMPARE(compared, results); // all vectors of eformer are compared
    }
};

QS_TEST(ValueVectors)
#include "value_vectors_test.moc"
