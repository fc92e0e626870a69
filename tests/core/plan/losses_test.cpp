// SPDX-License-Identifier: GPL-3.0-or-later
// Losses of the tensors of the sample model: from slopes, by name, and of several measurements together.
#include "sample_plan.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <set>

using namespace qs;
using namespace qs::plan;

class LossesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void slopesHoldForAnySpec();
    void lossesByNameAndTogether();
    void objectivesAreRows();
};

void LossesTest::slopesHoldForAnySpec() {
    const auto request = requestOf(sampleModel());
    const Losses nmse = lossesOf(request);
    eval::SensitivityRow row;
    row.unit = request.tensors.front()->name;
    row.slope = eval::Estimate{2.5, {}, 0.5};
    const Losses losses = plan::lossesOf(request.model, request.specs, std::span(&row, 1), &nmse);
    QCOMPARE(losses.named().of.size(), std::size_t(1));
    for (std::size_t s = 0; s < request.specs.size(); ++s) {
        const TensorInfo& tensor = *request.tensors.front();
        const auto one = losses.of(tensor, s);
        QVERIFY(one && one->byChunk);
        QCOMPARE(one->mean, 2.5 * nmse.of(tensor, s)->mean);
        QCOMPARE(*one->byChunk, 0.5 * nmse.of(tensor, s)->mean);
    }
}

/// A session file holds losses by name, and later specs join those that are known.
void LossesTest::lossesByNameAndTogether() {
    const auto request = requestOf(sampleModel());
    const Losses all = lossesOf(request);
    const TensorInfo& first = *request.tensors.front();
    NamedLosses named = all.named();
    QCOMPARE(named.of.size(), request.tensors.size());
    named.of[first.name][1] = eval::Estimate{0.5, {}, 0.25};
    named.of[first.name].resize(2); // of a file that lacks some
    named.of["no such tensor"] = {eval::Estimate{1, {}, {}}};
    Losses losses(request.model, named);
    QVERIFY(losses.of(first, 0) && losses.of(first, 1) && !losses.of(first, 2));
    QCOMPARE(losses.of(first, 0)->mean, all.of(first, 0)->mean);
    QVERIFY(!losses.of(first, 0)->byChunk);
    QCOMPARE(*losses.of(first, 1)->byChunk, 0.25);
    QCOMPARE(losses.named().of.size(), request.tensors.size());

    Losses more(request.model, {*parseSpec("int6")});
    more.set(first, 0, {0.125, {}, {}});
    more.setReason(*request.tensors.back(), "it holds NaN");
    more.setReason(*request.tensors.back(), "of the second spec");
    losses.append(more);
    const auto at = losses.find(*parseSpec("int6"));
    QVERIFY(at && !losses.find(*parseSpec("int5")));
    QCOMPARE(losses.of(first, *at)->mean, 0.125);
    QVERIFY(!losses.of(*request.tensors.back(), *at));
    QCOMPARE(losses.reason(*request.tensors.back()), std::string("it holds NaN"));
    QVERIFY(losses.reason(first).empty());
}

void LossesTest::objectivesAreRows() {
    std::set<std::string> ids;
    for (const Objective& row : objectives()) {
        QVERIFY(ids.insert(row.id).second && row.measure);
        QCOMPARE(findObjective(row.id), &row);
        QCOMPARE(row.needsText, row.how != nullptr);
    }
    QVERIFY(!findObjective("nothing"));
    QVERIFY(objectives().front().isProxy);
}

QS_TEST(LossesTest)
#include "losses_test.moc"
