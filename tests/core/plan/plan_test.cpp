// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of the sample model: bytes as the export writes them, locks, groups, recipes, budgets.
#include "core/plan/budget.h"
#include "core/plan/heuristic.h"
#include "core/plan/mixture.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <set>

using namespace qs;
using namespace qs::plan;

namespace {

std::shared_ptr<const Model> sampleModel() {
    const auto model = openModel("resources/samples/tiny-llama");
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

OptionRequest requestOf(const std::shared_ptr<const Model>& model) {
    OptionRequest out{model, {}, {}, "", {}, {}};
    for (const char* spec : {"nf4:block=32", "int8", "ternary:scale=channel"}) out.specs.push_back(*parseSpec(spec));
    for (const TensorInfo& tensor : model->tensors)
        if (tensor.isWeight()) out.tensors.push_back(&tensor);
    return out;
}

Losses lossesOf(const OptionRequest& request) {
    const Objective& objective = objectives().front();
    auto losses = objective.measure(objective, {request.model, request.tensors, request.specs, {}}, Job());
    if (!losses) qFatal("%s", losses.error().message.c_str());
    return std::move(*losses);
}

Options optionsOf(const OptionRequest& request) {
    auto options = planOptions(request, lossesOf(request), Job());
    if (!options) qFatal("%s", options.error().message.c_str());
    return std::move(*options);
}

} // namespace

class PlanTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void budgets();
    void bytesAreThoseOfTheExport();
    void moreBytesNeverLoseMore();
    void locksAndGroups();
    void uniformAndRulesOfThumb();
    void whatCannotBePlanned();
    void objectivesAreRows();
};

void PlanTest::budgets() {
    QCOMPARE(*parseBudget("4.5bpw", 1000), std::uint64_t(562));
    QCOMPARE(*parseBudget("3.5GiB", 1), std::uint64_t(3758096384));
    for (const char* wrong : {"", "bpw", "-1bpw", "0bpw", "nanbpw", "1e9bpw", "4,5bpw", "12ms", "0", "4bpw "}) {
        const auto budget = parseBudget(wrong, 1000);
        QVERIFY2(!budget, wrong);
        QVERIFY(budget.error().message.find("is no budget") != std::string::npos);
    }
}

/// The recipe of the plan, exported for real, writes the planned bytes.
void PlanTest::bytesAreThoseOfTheExport() {
    const auto model = sampleModel();
    const auto request = requestOf(model);
    const Options options = optionsOf(request);
    const std::uint64_t budget = (options.leastBytes() + options.mostBytes()) / 2;
    const auto best = bestMixture(options, budget);
    QVERIFY(best && best->bytes <= budget);
    QCOMPARE(best->gap(), 0.0);
    std::set<std::size_t> specs;
    for (std::size_t u = 0; u < best->picked.size(); ++u) specs.insert(options.of[u][best->picked[u]].spec);
    QVERIFY2(specs.size() > 1, "a plan of one spec would prove nothing");

    const Recipe recipe = recipeOf(*best, options, {});
    const auto again = parseRecipe(recipeText(recipe), "recipe.json");
    QVERIFY(again);
    QVERIFY(unmatchedRules(*again, *model).empty());
    QTemporaryDir folder;
    QuantizeRequest export_;
    export_.output = folder.filePath(QStringLiteral("planned.safetensors")).toStdString();
    again->applyTo(export_);
    const auto planned = planExport(*model, export_);
    QVERIFY(planned && planned->problem.empty());
    QCOMPARE(planned->bytes, best->bytes);
    const auto written = quantizeModel(*model, export_, Job());
    QVERIFY2(written, written ? "" : written.error().message.c_str());
    const auto opened = openModel(export_.output);
    QVERIFY(opened);
    std::uint64_t bytes = 0;
    for (const TensorInfo& tensor : (*opened)->tensors) bytes += tensor.bytes;
    QCOMPARE(bytes, best->bytes);
}

void PlanTest::moreBytesNeverLoseMore() {
    const Options options = optionsOf(requestOf(sampleModel()));
    double last = INFINITY;
    for (int step = 0; step <= 20; ++step) {
        const std::uint64_t budget =
            options.leastBytes() + (options.mostBytes() - options.leastBytes()) * std::uint64_t(step) / 20;
        const auto best = bestMixture(options, budget);
        QVERIFY(best && best->bytes <= budget && best->loss <= last);
        for (const Mixture& uniform : uniformMixtures(options, budget)) QVERIFY(best->loss <= uniform.loss);
        last = best->loss;
    }
    QVERIFY(!bestMixture(options, options.leastBytes() - 1));
}

void PlanTest::locksAndGroups() {
    const auto model = sampleModel();
    auto request = requestOf(model);
    request.locks = {{"embed", std::nullopt}, {"down_proj", parseSpec("int8").value()}};
    request.groups = {"(q|k|v)_proj"};
    const Options options = optionsOf(request);
    std::size_t joined = 0;
    for (const PlanUnit& unit : options.units) {
        for (const TensorInfo* tensor : unit.tensors) {
            QVERIFY(tensor->name.find("embed") == std::string::npos);
            QVERIFY(tensor->name.find("down_proj") == std::string::npos);
        }
        if (unit.tensors.size() == 1) continue;
        QCOMPARE(unit.tensors.size(), std::size_t(3));
        ++joined;
        QVERIFY(placeOf(unit.tensors[0]->name).layer == placeOf(unit.tensors[2]->name).layer);
    }
    QVERIFY(joined > 1);
    const auto best = bestMixture(options, (options.leastBytes() + options.mostBytes()) / 2);
    QVERIFY(best);
    QuantizeRequest export_;
    export_.output = "x.safetensors";
    recipeOf(*best, options, request.locks).applyTo(export_);
    const auto planned = planExport(*model, export_);
    QVERIFY(planned);
    QCOMPARE(planned->bytes, best->bytes);
    std::map<std::pair<int, std::string>, std::string> specs;
    for (const PlannedTensor& tensor : planned->tensors) {
        const bool isDown = tensor.name.find("down_proj") != std::string::npos;
        if (isDown) QCOMPARE(tensor.spec.text(), std::string("int8"));
        if (tensor.name.find("embed") != std::string::npos) QVERIFY(tensor.becomes == Becomes::Copied);
        for (const char* role : {"q_proj", "k_proj", "v_proj"})
            if (tensor.name.find(role) != std::string::npos) {
                const auto place = std::pair(placeOf(tensor.name).layer, std::string("qkv"));
                const auto [found, isNew] = specs.emplace(place, tensor.spec.text());
                QCOMPARE(found->second, tensor.spec.text());
            }
    }
}

void PlanTest::uniformAndRulesOfThumb() {
    const Options options = optionsOf(requestOf(sampleModel()));
    const auto all = uniformMixtures(options, options.mostBytes());
    QCOMPARE(all.size(), options.specs.size());
    QVERIFY(uniformMixtures(options, options.leastBytes() - 1).empty());
    QVERIFY(heuristics().size() >= 2);
    for (const Heuristic& rule : heuristics()) {
        const auto mixture = heuristicMixture(rule, options, options.mostBytes());
        QVERIFY(mixture);
        // It lies between two uniform ones.
        QVERIFY(mixture->bytes < all.front().bytes && mixture->bytes > all.back().bytes);
        QVERIFY(!heuristicMixture(rule, options, options.leastBytes() - 1));
    }
}

void PlanTest::whatCannotBePlanned() {
    const auto model = sampleModel();
    auto request = requestOf(model);
    const Losses losses = lossesOf(request);
    request.groups = {"("};
    QVERIFY(planOptions(request, losses, Job()).error().message.find("not a regular expression") != std::string::npos);
    request.groups.clear();
    request.tensors.clear();
    QVERIFY(planOptions(request, losses, Job()).error().message.find("no tensor to plan") != std::string::npos);
    request = requestOf(model);
    Losses lacking = losses;
    lacking.of.erase(request.tensors.front()->name);
    lacking.reasons[request.tensors.front()->name] = "it holds NaN";
    const auto options = planOptions(request, lacking, Job());
    QVERIFY(options);
    QCOMPARE(options->remarks.size(), std::size_t(1));
    QVERIFY(options->remarks.front().find("it holds NaN") != std::string::npos);
    QCOMPARE(options->units.size() + 1, request.tensors.size());
}

void PlanTest::objectivesAreRows() {
    std::set<std::string> ids;
    for (const Objective& row : objectives()) {
        QVERIFY(ids.insert(row.id).second && row.measure);
        QCOMPARE(findObjective(row.id), &row);
        QCOMPARE(row.needsText, row.how != nullptr);
    }
    QVERIFY(!findObjective("nothing"));
    QVERIFY(objectives().front().isProxy);
}

QS_TEST(PlanTest)
#include "plan_test.moc"
