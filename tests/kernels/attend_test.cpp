// SPDX-License-Identifier: GPL-3.0-or-later
// Attention by dense products against plain loops in f64.
#include "kernels/network/attend.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>
#include <random>

using namespace qs;

namespace {

std::vector<double> expected(const AttentionHead& head) {
    std::vector<double> out(head.length * head.size, 0.0), scores(head.length);
    for (std::size_t t = 0; t < head.length; ++t) {
        const std::size_t first = head.window > 0 && t + 1 > head.window ? t + 1 - head.window : 0;
        const std::size_t end = head.isCausal ? t + 1 : head.length;
        double most = -INFINITY, sum = 0;
        for (std::size_t s = first; s < end; ++s) {
            scores[s] = 0;
            for (std::size_t i = 0; i < head.size; ++i)
                scores[s] += double(head.query[t * head.stride + i]) * double(head.key[s * head.stride + i]);
            scores[s] *= double(head.scale);
            if (head.cap > 0) scores[s] = double(head.cap) * std::tanh(scores[s] / double(head.cap));
            most = std::max(most, scores[s]);
        }
        for (std::size_t s = first; s < end; ++s) sum += scores[s] = std::exp(scores[s] - most);
        for (std::size_t s = first; s < end; ++s)
            for (std::size_t i = 0; i < head.size; ++i)
                out[t * head.size + i] += scores[s] / sum * double(head.value[s * head.stride + i]);
    }
    return out;
}

} // namespace

class AttendTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void outputsAreThoseOfPlainLoops_data();
    void outputsAreThoseOfPlainLoops();
};

void AttendTest::outputsAreThoseOfPlainLoops_data() {
    QTest::addColumn<int>("length");
    QTest::addColumn<int>("size");
    QTest::addColumn<int>("window");
    QTest::addColumn<bool>("isCausal");
    QTest::addColumn<float>("cap");
    for (const int length : {1, 2, 12, 13, 31, 33, 64, 100, 257})
        for (const int size : {1, 4, 12, 16, 40, 64})
            for (const int window : {0, 1, 7, 50})
                for (const float cap : {0.0f, 5.0f})
                    QTest::addRow("%d x %d, window %d, cap %g", length, size, window, double(cap))
                        << length << size << window << true << cap;
    QTest::newRow("both directions") << 70 << 24 << 0 << false << 0.0f;
}

void AttendTest::outputsAreThoseOfPlainLoops() {
    QFETCH(int, length);
    QFETCH(int, size);
    QFETCH(int, window);
    QFETCH(bool, isCausal);
    QFETCH(float, cap);
    AttentionHead head;
    head.length = std::size_t(length), head.size = std::size_t(size), head.window = std::size_t(window);
    head.isCausal = isCausal, head.cap = cap, head.scale = 1 / std::sqrt(float(size));
    head.stride = 3 * head.size + 5;
    std::mt19937 random(unsigned(length * 100 + size));
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> values(head.length * head.stride);
    for (float& v : values) v = normal(random);
    head.query = values.data(), head.key = head.query + head.size, head.value = head.key + head.size;

    std::vector<float> packed(packedHeadSize(head.length, head.size)), out(head.length * head.size, NAN);
    packHead(head, packed.data());
    AttentionScratch scratch;
    for (std::size_t first = 0; first < head.length; first += attentionQueries())
        attend(head, packed.data(), first, scratch, out.data() + first * head.size, head.size);
    const auto exact = expected(head);
    for (std::size_t i = 0; i < out.size(); ++i)
        QVERIFY2(std::fabs(double(out[i]) - exact[i]) < 2e-5, qPrintable(QString::number(double(out[i]) - exact[i])));
}

QS_TEST(AttendTest)
#include "attend_test.moc"
