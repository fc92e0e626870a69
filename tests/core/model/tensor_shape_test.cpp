// SPDX-License-Identifier: GPL-3.0-or-later
// Shapes and texts that are shared by many rows.
#include "core/base/shared_text.h"
#include "core/model/model.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <string>
#include <thread>

using namespace qs;

class TensorShapeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void alikeAreShared() {
        const TensorShape a{4, 8}, b(std::vector<std::int64_t>{4, 8}), other{8, 4};
        QVERIFY(a == b && a.data() == b.data());
        QVERIFY(!(a == other) && a.data() != other.data());
        QCOMPARE(a.ownSizes(), std::size_t(0));
        const TensorShape alone{1234567, 7654321, 3};
        QCOMPARE(alone.ownSizes(), std::size_t(3));
    }
    void readLikeAVector() {
        const std::vector<std::int64_t> sizes{2, 3, 5};
        const TensorShape shape = sizes;
        QVERIFY(shape == sizes && std::vector<std::int64_t>(shape) == sizes);
        QCOMPARE(shape.size(), std::size_t(3));
        QVERIFY(shape.front() == 2 && shape[1] == 3 && shape.back() == 5);
        std::int64_t sum = 0;
        for (const auto size : shape) sum += size;
        QCOMPARE(sum, std::int64_t(10));
        const std::span<const std::int64_t> span = shape;
        QCOMPARE(span.size(), std::size_t(3));
        const TensorShape scalar;
        QVERIFY(scalar.empty() && scalar.size() == 0 && scalar.begin() == scalar.end() && scalar == TensorShape{});
        QVERIFY(!(scalar == shape));
    }
    /// Many different shapes replace each other in the cache, and all keep their values.
    void manyThatDiffer() {
        std::vector<TensorShape> shapes;
        for (std::int64_t i = 0; i < 5'000; ++i) shapes.push_back({i % 1'000 + 1, i % 7 + 1});
        for (std::int64_t i = 0; i < 5'000; ++i)
            QVERIFY(shapes[std::size_t(i)] == (std::vector<std::int64_t>{i % 1'000 + 1, i % 7 + 1}));
        TensorShape moved = std::move(shapes[3]);
        shapes[3] = moved;
        moved = TensorShape{};
        QVERIFY(shapes[3] == (std::vector<std::int64_t>{4, 4}));
    }
    void outlivesItsThread() {
        TensorShape shape;
        SharedText text;
        std::thread([&] { shape = {11, 13}, text = "made elsewhere"; }).join();
        QVERIFY(shape == (std::vector<std::int64_t>{11, 13}) && text.text() == "made elsewhere");
    }
    void texts() {
        const SharedText none, a = "nf4:block=64", b = std::string("nf4:block=64");
        QVERIFY(none.empty() && none.text().empty() && !a.empty());
        QVERIFY(&a.text() == &b.text() && a == "nf4:block=64");
    }
};

QS_TEST(TensorShapeTest)
#include "tensor_shape_test.moc"
