// SPDX-License-Identifier: GPL-3.0-or-later
// Known answers of the operations, and refusals.
#include "core/value/conv.h"
#include "core/value/deviation.h"
#include "core/value/elementwise.h"
#include "core/value/gather.h"
#include "core/value/reduce.h"
#include "core/value/shape_operations.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::value;

namespace {

using Values = std::vector<float>;

bool says(const auto& result, const char* word) {
    return !result && result.error().message.find(word) != std::string::npos;
}

Result<Tensor> binary(const char* id, const Operand& x, const Operand& y) {
    for (const BinaryOperation& operation : binaryOperations())
        if (std::string_view(id) == operation.id) return applied(operation, x, y);
    return fail("there is no such operation");
}

} // namespace

class ValueTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void repeatsAsNumPy() {
        const Tensor column{{2, 1}, {1, 2}}, row{{3}, {10, 20, 30}};
        const auto sum = binary("add", column, row);
        QVERIFY(sum->shape == (Shape{2, 3}) && sum->values == (Values{11, 21, 31, 12, 22, 32}));
        QVERIFY(binary("mul", Tensor{{}, {2}}, row)->values == (Values{20, 40, 60}));
        QVERIFY(says(binary("add", Tensor{{2}, {1, 2}}, row), "do not go together"));
        QVERIFY(binary("lt", column, row)->dtype == DType::Bool);
        QVERIFY(std::isnan(binary("max", Tensor{{}, {NAN}}, Tensor{{}, {1}})->values[0]));
        QVERIFY(std::isnan(binary("max", Tensor{{}, {1}}, Tensor{{}, {NAN}})->values[0]));
    }

    void powers() {
        const Tensor x{{3}, {-2, 0.5f, 3}};
        QVERIFY(integerPow(x, 3).values == (Values{-8, 0.125f, 27}));
        QVERIFY(integerPow(x, 0).values == (Values{1, 1, 1}));
        QVERIFY(integerPow(x, -2).values == (Values{0.25f, 4, 1.0f / 9}));
        QVERIFY(integerPow(Tensor{{}, {1}}, INT_MIN).values == Values{1});
    }

    void reductions() {
        const Tensor x{{2, 3}, {1, 2, 3, 4, 5, 6}};
        QVERIFY(reduce(x, 0, Reduction::Sum, std::vector{0})->values == (Values{5, 7, 9}));
        QVERIFY(reduce(x, 1, Reduction::Product, std::vector{-1})->values == (Values{6, 120}));
        QVERIFY(reduce(x, 10, Reduction::Sum, std::vector{0, 1})->values == Values{31});
        QVERIFY(reduce(x, 0, Reduction::Sum, std::vector<int>{})->values == x.values);
        QVERIFY(says(reduce(x, 0, Reduction::Sum, std::vector{2}), "no axis 2"));
        QVERIFY(says(reduce(x, 0, Reduction::Sum, std::vector{0, -2}), "twice"));
    }

    void joining() {
        const Tensor a{{1, 2}, {1, 2}}, b{{2, 2}, {3, 4, 5, 6}};
        QVERIFY(concatenate(std::vector<Operand>{a, b}, 0)->values == (Values{1, 2, 3, 4, 5, 6}));
        QVERIFY(concatenate(std::vector<Operand>{b, b}, -1)->values == (Values{3, 4, 3, 4, 5, 6, 5, 6}));
        QVERIFY(says(concatenate(std::vector<Operand>{a, b}, 1), "cannot be concatenated"));
        QVERIFY(says(concatenate({}, 0), "nothing"));
    }

    void gathering() {
        const Tensor x{{3, 2}, {1, 2, 3, 4, 5, 6}};
        QVERIFY(take(x, std::vector<std::int64_t>{2, 0}, 0)->values == (Values{5, 6, 1, 2}));
        QVERIFY(take(x, std::vector<std::int64_t>{1, 1}, 1)->values == (Values{2, 2, 4, 4, 6, 6}));
        QVERIFY(says(take(x, std::vector<std::int64_t>{3}, 0), "outside"));
    }

    void moving() {
        const Tensor x{{2, 3}, {1, 2, 3, 4, 5, 6}};
        QVERIFY(transpose(x, std::vector{1, 0})->values == (Values{1, 4, 2, 5, 3, 6}));
        QVERIFY(says(transpose(x, std::vector{0, 0}), "not an order"));
        QVERIFY(says(reshape(x, {4}), "cannot become"));
        QVERIFY(broadcastInDim(Tensor{{2}, {1, 2}}, {2, 2}, std::vector{0})->values == (Values{1, 1, 2, 2}));
        QVERIFY(says(broadcastInDim(x, {2, 4}, std::vector{0, 1}), "does not broadcast"));
        QVERIFY(slice(x, {0, 1}, {2, 3})->values == (Values{2, 3, 5, 6}));
        QVERIFY(says(slice(x, {0, 1}, {2, 4}), "not inside"));
    }

    void convolution() {
        // (1, 1, 4) with a kernel of 2 gives differences; stride, padding and both dilations computed by hand.
        const Tensor x{{1, 1, 4}, {1, 3, 6, 10}}, k{{1, 1, 2}, {-1, 1}};
        QVERIFY(convGeneralDilated(x, k, {})->values == (Values{2, 3, 4}));
        ConvOptions o;
        o.strides = {2}, o.padding = {{1, 1}};
        QVERIFY(convGeneralDilated(x, k, o)->values == (Values{1, 3, -10}));
        ConvOptions wide;
        wide.kernelDilation = {3};
        QVERIFY(convGeneralDilated(x, k, wide)->values == Values{9});
        ConvOptions apart;
        apart.inputDilation = {2};
        QVERIFY(convGeneralDilated(x, k, apart)->values == (Values{-1, 3, -3, 6, -6, 10}));
        ConvOptions groups;
        groups.featureGroups = 2;
        const Tensor two{{1, 2, 2}, {1, 2, 10, 20}}, each{{2, 1, 1}, {1, -1}};
        QVERIFY(convGeneralDilated(two, each, groups)->values == (Values{1, 2, -10, -20}));
        QVERIFY(says(convGeneralDilated(two, each, {}), "do not meet"));
    }

    /// After a transpose, blocks contain other values, which costs accuracy. Moving codes and scales of channels does
    /// not.
    void transposeMayCost() {
        Tensor x{{4, 64}, Values(256)};
        for (std::size_t i = 0; i < 256; ++i) x.values[i] = (i / 64 == 0 ? 100.0f : 1.0f) * (float(i % 17) / 17 - 0.4f);
        const auto q = quantized(x, *parseSpec("int8"));
        const Tensor before = *transpose(materialized(*q), std::vector{1, 0});
        const auto again = transpose(*q, std::vector{1, 0});
        const auto moved = transposeCodes(*q, std::vector{1, 0});
        QVERIFY(deviation(before.values, materialized(*again).values).errorPower > 0);
        QVERIFY(deviation(before.values, materialized(*moved).values).exact());
        QVERIFY(specText(moved->spec) == "int8:axis=0" && specText(again->spec) == "int8");
        QVERIFY(says(transposeCodes(*quantized(x, *parseSpec("nf4")), std::vector{1, 0}), "quantized again"));
    }

    void convertingChangesOnlyTheType() {
        const auto q = quantized(Tensor{{1, 4}, {0.1f, 0.2f, -0.3f, 1}}, *parseSpec("int8"));
        const auto half = converted(*q, DType::BF16);
        QVERIFY(half->codes == q->codes && half->scales == q->scales);
        QVERIFY(materialized(*half).values != materialized(*q).values);
        QVERIFY(materialized(*converted(*half, DType::F32)).values == materialized(*q).values);
        QVERIFY(says(converted(*q, DType::I8), "not I8"));
        QVERIFY(binary("add", *half, materialized(*half))->dtype == DType::BF16);
        QVERIFY(binary("add", *half, *q)->dtype == DType::F32);
    }

    /// 1-bit formats quantize first; eformer truncates raw floats.
    void straightThroughIsTheIdentityBackwards() {
        const Tensor x{{1, 4}, {0.9f, -0.2f, 0.1f, -3}}, g{{1, 4}, {1, 2, 3, 4}};
        const auto s = straightThrough(x, planFor(x, *parseSpec("binary")));
        QVERIFY(s->value.values == (Values{1, -1, 1, -1}));
        QVERIFY(s->gradient(g).values == g.values);
    }

    void deviations() {
        const Values w{3, 4}, v{3, 5};
        const Deviation d = deviation(w, v);
        QCOMPARE(*d.nmse(), 1.0 / 25);
        QCOMPARE(*d.sqnrDb(), -10 * std::log10(1.0 / 25));
        QVERIFY(!deviation(Values{0}, Values{1}).nmse());
        QVERIFY(!deviation(w, w).sqnrDb() && deviation(w, w).exact());
        QVERIFY(!deviation(Values{1}, Values{INFINITY}).nmse());
    }
};

QS_TEST(ValueTest)
#include "value_test.moc"
