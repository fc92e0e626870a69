// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes beside a plan of the sample model, and what a unit could be: bytes and losses are those of the plan.
#include "core/plan/known_recipe.h"
#include "sample_plan.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace qs;
using namespace qs::plan;

class KnownRecipeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void recipesHaveAPrice();
    void choicesOfAUnit();
    void whatALayoutKeepsStays();
};

void KnownRecipeTest::recipesHaveAPrice() {
    const auto request = requestOf(sampleModel());
    const Losses losses = lossesOf(request);
    const auto sizes = storedSizes(request.model, request.tensors.front(), request.specs, "native", Job());
    QVERIFY(sizes);
    const auto options = planOptions(request, *sizes, losses);
    QVERIFY(options);
    const auto best = bestMixture(*options, (options->leastBytes() + options->mostBytes()) / 2);
    QVERIFY(best);
    const auto same = knownRecipe("x", specsOf(*best, *options, {}), *sizes, losses);
    QVERIFY(same);
    QCOMPARE(same->mixture.bytes, best->bytes);
    QVERIFY(std::fabs(same->mixture.loss - best->loss) < 1e-12 && same->mixture.unmeasured == 0);
    const auto kept = knownRecipe(
        "x", [](const TensorInfo&) { return nullptr; }, *sizes, losses);
    QVERIFY(kept);
    QCOMPARE(kept->mixture.bytes, sizes->bytes);
    QCOMPARE(kept->mixture.loss, 0.0);
    const QuantSpec other = parseSpec("int6").value();
    const auto unknown = knownRecipe(
        "x", [&](const TensorInfo&) { return &other; }, *sizes, losses);
    QVERIFY(!unknown && unknown.error().message.find("int6") != std::string::npos);
    // Whose loss is not known, it counts.
    auto more = *sizes;
    QVERIFY(more.add(other, Job()));
    const auto counted = knownRecipe(
        "x", [&](const TensorInfo&) { return &other; }, more, losses);
    QVERIFY2(counted, counted ? "" : counted.error().message.c_str());
    QVERIFY(counted->mixture.unmeasured > 0);
    const auto rows = besideRows(*best, std::vector{*same, *counted}, *options);
    QCOMPARE(rows.size(), std::size_t(3));
    QCOMPARE(rows[0].bytes, rows[1].bytes);
    QVERIFY(rows[1].loss && !rows[2].loss);
    QVERIFY(std::fabs(rows[0].bpw - best->bpw(*options)) < 1e-12);
}

/// What a unit could be has the figures that the plan has for it.
void KnownRecipeTest::choicesOfAUnit() {
    const auto request = requestOf(sampleModel());
    const Losses losses = lossesOf(request);
    const auto sizes = storedSizes(request.model, request.tensors.front(), request.specs, "", Job());
    const auto options = planOptions(request, *sizes, losses);
    QVERIFY(options);
    auto specs = request.specs;
    specs.push_back(parseSpec("int6").value()); // whose bytes are not known
    const auto choices = unitChoices(options->units.tensors(0), specs, *sizes, losses);
    QCOMPARE(choices.size(), specs.size() + 1);
    QVERIFY(!choices.front().spec && choices.front().loss == 0.0);
    std::size_t found = 0;
    for (const UnitOption& option : options->of[0]) {
        const UnitChoice& choice = choices[option.spec + 1];
        QVERIFY(choice.bytes == option.bytes && choice.loss && std::fabs(*choice.loss - option.loss) < 1e-15);
        ++found;
    }
    QVERIFY(found > 1);
    QVERIFY(!choices.back().bytes && !choices.back().loss);
}

/// What readers of a layout take as it is stays, in the bytes and in what is measured.
void KnownRecipeTest::whatALayoutKeepsStays() {
    const auto model = sampleModel();
    const QuantSpec spec = parseSpec("int4:dialect=ct:block=32").value();
    const auto sizes = storedSizes(model, nullptr, {spec}, "compressed-tensors", Job());
    QVERIFY2(sizes, sizes ? "" : sizes.error().message.c_str());
    const auto stays =
        std::ranges::find_if(model->tensors, [&](const TensorInfo& tensor) { return sizes->of(0, tensor).stays; });
    QVERIFY(stays != model->tensors.end());
    const auto known = knownRecipe("x", [&](const TensorInfo&) { return &spec; }, *sizes, {});
    QVERIFY2(known, known ? "" : known.error().message.c_str());
    QVERIFY(!known->specs(*stays));
    QVERIFY(known->mixture.bytes < sizes->bytes);
}

QS_TEST(KnownRecipeTest)
#include "known_recipe_test.moc"
