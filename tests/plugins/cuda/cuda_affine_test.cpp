// SPDX-License-Identifier: GPL-3.0-or-later
// 2-bit codes decoded by arithmetic instead of a table: for which levels this works, and that every code at every
// position gives the exact bits of level times scale.
#include "kernels/cuda/affine.h"
#include "tests/plugins/cuda/exact_memory.h"
#include "tests/plugins/cuda/weight_rows.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>
#include <cfloat>
#include <limits>

using namespace qs::cuda;
using namespace qs::test;

class CudaAffine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tellsWhichLevelsAre();
    void decodesEveryPlace_data();
    void decodesEveryPlace();
};

void CudaAffine::tellsWhichLevelsAre() {
    using Levels = std::vector<float>;
    const auto codes = [](const Levels& levels) {
        const auto found = affineLevels(levels);
        std::vector<int> to;
        for (std::size_t i = 0; found && i < levels.size(); ++i) {
            const float value = float(found->codes[i]) + found->offset;
            to.push_back(found->step * value == levels[i] && found->codes[i] < 4 ? found->codes[i] : -1);
        }
        return to;
    };
    using Codes = std::vector<int>;
    QCOMPARE(codes({-1, 0, 1}), (Codes{0, 1, 2}));
    QCOMPARE(codes({-1, 0, 1, 2}), (Codes{0, 1, 2, 3}));
    QCOMPARE(codes({-2, -1, 0, 1}), (Codes{0, 1, 2, 3}));
    QCOMPARE(codes({-1, 1}), (Codes{0, 2})); // codes 0 and 1 would need a 9-bit constant
    QCOMPARE(codes({0, 1}), (Codes{0, 1}));
    QCOMPARE(codes({1, 0, -1, 0}), (Codes{2, 1, 0, 1}));
    QCOMPARE(codes({-1.3f, 0, 1.3f}), (Codes{0, 1, 2}));
    QCOMPARE(codes({-3, -1, 1, 3}), Codes()); // offset -1.5 needs 9 bits
    QCOMPARE(codes({0, 5, 10, 15}), (Codes{0, 1, 2, 3}));
    QCOMPARE(codes({-1, 0, 1.5f}), Codes());
    QCOMPARE(codes({-1, -0.25f, 0.3f, 1}), Codes());
    QCOMPARE(codes({0, 0}), Codes());
    QCOMPARE(codes({0}), Codes());
    QCOMPARE(codes({0, 1, 2, 3, 4}), Codes());
    QCOMPARE(codes({-FLT_MAX, FLT_MAX}), (Codes{0, 2}));
    QCOMPARE(codes({0, std::numeric_limits<float>::infinity()}), Codes());
    QCOMPARE(codes({0, std::numeric_limits<float>::quiet_NaN()}), Codes());
    QCOMPARE(codes({std::numeric_limits<float>::quiet_NaN(), 0, 1}), Codes());
}

void CudaAffine::decodesEveryPlace_data() { addWeightRows(); }

/// Each row of x has a single 1, so each row of y is a column of W and must be exact. The positions include the first
/// and last k and the ends of tiles, words and blocks. Tested for each kernel.
void CudaAffine::decodesEveryPlace() {
    QFETCH(QString, format);
    QFETCH(bool, kn);
    QFETCH(QString, scale);
    if (format != QStringLiteral("ternary") && format != QStringLiteral("binary")) return;
    constexpr std::int64_t n = 35, k = 160;
    static std::size_t turn = 0;
    for (const std::int64_t m : {1, 16, 18}) {
        const AbiProblem problem(
            {.weight = format.toStdString(), .m = m, .n = n, .k = k, .kn = kn, .scale = scale.toStdString()});
        const Plan plan = planFor(problem.problem, {"none", "none"});
        QVERIFY(plan.tiling.has_value());
        const TiledWeight w =
            tiled(plan.weight, *plan.tiling, kn, n, k, static_cast<const std::uint8_t*>(problem.inputs[0]->data),
                  static_cast<const float*>(problem.inputs[1]->data));
        QVERIFY(w.affine && w.levels.empty() && w.offset == -1);
        const DeviceWeight weight = deviceWeight(w, w.codes.data(), w.scales.data(), nullptr);
        const std::int64_t step = (m > 16 ? 5 : m > 1 ? 1 : 31) * m;
        for (std::int64_t first = 0; first < k; first += step) {
            if (!taken(turn++)) continue;
            const auto columnOf = [&](std::int64_t row) { return (first + row) % k; };
            std::vector<std::uint16_t> x(std::size_t(128 * w.depth), 0);
            for (std::int64_t row = 0; row < m; ++row)
                x[std::size_t(row * w.depth + columnOf(row))] = 0x3f80; // 1 in bf16
            for (const VariantRow* row : plan.variants) {
                Guarded<float> y(m * n);
                const Target to{y.data(), false, nullptr, m, n};
                int code = -1;
                if (row->path == Path::Skinny) code = skinnyProduct(weight, x.data(), skinnyShape(m, k), to, nullptr);
                if (row->path == Path::Large) code = largeProduct(weight, x.data(), to, nullptr);
                if (row->path == Path::Staged) {
                    const StagedShape shape = stagedShape(w.bits, m, n, k, 2);
                    Guarded<float> sums(std::int64_t(shape.sums));
                    std::vector<std::uint32_t> finished(std::size_t(shape.groups), 0);
                    code = stagedProduct(weight, x.data(), shape, {sums.data(), finished.data()}, to, nullptr);
                }
                QVERIFY(code == 0 && y.whole());
                // If each k has its own scale, the scale is multiplied into the decoded value, which is rounded to
                // bf16.
                const bool rounded =
                    w.mode == ScaleMode::EachK || (w.mode == ScaleMode::Inner && row->path == Path::Large);
                for (std::int64_t i = 0; i < m; ++i)
                    for (std::int64_t j = 0; j < n; ++j) {
                        const std::int64_t at = columnOf(i);
                        const float wanted = problem.dense[std::size_t(kn ? at * n + j : j * k + at)];
                        const float got = y.data()[i * n + j];
                        QVERIFY(rounded ? std::abs(got - wanted) <= 0x1p-8f * std::abs(wanted) : got == wanted);
                    }
            }
        }
    }
}

QS_TEST(CudaAffine)
#include "cuda_affine_test.moc"
