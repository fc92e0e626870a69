// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of the sample model: bytes as the export writes them, locks, groups, budgets.
#include "core/export/rule_book.h"
#include "core/plan/budget.h"
#include "core/plan/frontier.h"
#include "core/plan/heuristic.h"
#include "sample_plan.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <set>

using namespace qs;
using namespace qs::plan;

class PlanTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void budgets();
    void bytesAreThoseOfTheExport();
    void moreBytesNeverLoseMore();
    void locksAndGroups();
    void aLockIsOneOfItsWholeGroup();
    void limitsOfRoles();
    void layoutsDemandGroups();
    void everyLayoutPlansWhatItQuantizes();
    void whatOneFileCannotHold();
    void oneDataIsOneUnit();
    void theFrontierIsTheBest();
    void rulesByName();
    void uniformAndRulesOfThumb();
    void whatCannotBePlanned();
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
    const plan::Options options = optionsOf(request);
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
    const plan::Options options = optionsOf(requestOf(sampleModel()));
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
    const plan::Options options = optionsOf(request);
    std::size_t joined = 0;
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        const auto tensors = options.units.tensors(u);
        const std::string& name = tensors.front()->name;
        const bool isKept = name.find("embed") != std::string::npos;
        const bool isDown = name.find("down_proj") != std::string::npos;
        QCOMPARE(options.units.lock(u).empty(), !isKept && !isDown);
        if (isKept)
            QVERIFY(options.of[u].size() == 1 && !options.specOf(options.of[u][0]) && options.of[u][0].loss == 0);
        if (isDown) QVERIFY(options.of[u].size() == 1 && specText(*options.specOf(options.of[u][0])) == "int8");
        if (tensors.size() == 1) continue;
        QCOMPARE(tensors.size(), std::size_t(3));
        ++joined;
        QVERIFY(placeOf(tensors[0]->name).layer == placeOf(tensors[2]->name).layer);
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

void PlanTest::aLockIsOneOfItsWholeGroup() {
    const auto model = sampleModel();
    auto request = requestOf(model);
    request.groups = {"(q|k|v)_proj"};
    request.locks = {{"layers.0.*q_proj", parseSpec("int8").value()}};
    const plan::Options options = optionsOf(request);
    bool found = false;
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        if (options.units.lock(u).empty()) continue;
        found = true;
        QCOMPARE(options.units.tensors(u).size(), std::size_t(3));
        QCOMPARE(options.of[u].size(), std::size_t(1));
    }
    QVERIFY(found);
    // The recipe says it for the two that the lock itself does not match.
    const auto best = bestMixture(options, options.mostBytes());
    const auto recipe = recipeOf(*best, options, request.locks);
    const auto book = RuleBook::of(recipe.rules);
    QVERIFY(book);
    for (const TensorInfo& tensor : model->tensors)
        if (tensor.name.find("layers.0.self_attn.k_proj") != std::string::npos) {
            const TensorRule* rule = book->first(tensor.name);
            QVERIFY(rule && rule->spec && specText(*rule->spec) == "int8");
        }
    // Locks that differ part the group, and that is said.
    request.locks.push_back({"layers.0.*k_proj", std::nullopt});
    const plan::Options parted = optionsOf(request);
    QCOMPARE(parted.units.size(), options.units.size() + 2);
    QVERIFY(!parted.remarks.empty() && parted.remarks.front().find("differ") != std::string::npos);
}

void PlanTest::limitsOfRoles() {
    const auto model = sampleModel();
    auto request = requestOf(model);
    request.limits = {{"down_proj", parseSpec("int8").value(), true},
                      {"q_proj", parseSpec("nf4:block=32").value(), false}};
    const plan::Options options = optionsOf(request);
    for (const std::uint64_t budget : {options.leastBytes(), options.mostBytes()}) {
        const auto best = bestMixture(options, budget);
        QVERIFY(best);
        for (std::size_t u = 0; u < options.units.size(); ++u) {
            const std::string spec = specText(*options.specOf(options.of[u][best->picked[u]]));
            if (options.units.name(u).find("down_proj") != std::string::npos) QCOMPARE(spec, std::string("int8"));
            if (options.units.name(u).find("q_proj") != std::string::npos) QVERIFY(spec != "int8");
        }
    }
    request.limits = {{"(", parseSpec("int8").value(), true}};
    QVERIFY(sizedOptions(request, lossesOf(request)).error().message.find("not a regular expression") !=
            std::string::npos);
}

void PlanTest::layoutsDemandGroups() {
    const auto model = sampleModel();
    auto request = requestOf(model);
    request.specs = {parseSpec("int4:block=32").value(), parseSpec("int8:scale=channel").value()};
    for (const auto& [layout, inUnit] : {std::pair("compressed-tensors", std::size_t(3)), {"native", std::size_t(1)}}) {
        request.layout = layout;
        const plan::Options options = optionsOf(request);
        for (std::size_t u = 0; u < options.units.size(); ++u) {
            const auto tensors = options.units.tensors(u);
            if (tensors.front()->name.find("q_proj") != std::string::npos) QCOMPARE(tensors.size(), inUnit);
        }
    }
    // Readers of gptq know one width for all that is quantized; the head and the embedding stay.
    request.layout = "gptq", request.specs.clear();
    for (const char* spec : {"int4:block=32:scaletype=f16", "int8:block=32:scaletype=f16"})
        request.specs.push_back(parseSpec(spec).value());
    const plan::Options alike = optionsOf(request);
    QCOMPARE(alike.units.size(), std::size_t(1));
    QCOMPARE(alike.of[0].size(), std::size_t(2));
    const std::size_t all = alike.units.tensors(0).size();
    request.locks = {{"layers\\.0\\.", {}}}; // a list of what stays is in its configuration
    const plan::Options locked = optionsOf(request);
    QVERIFY(!locked.units.lock(0).empty() && locked.units.lock(locked.units.size() - 1).empty());
    QVERIFY(locked.units.tensors(locked.units.size() - 1).size() < all);
    QVERIFY(locked.isEverywhere(0) && locked.isEverywhere(1));
}

/// A plan in a layout has the weights that an export in this layout quantizes under any of the specs.
void PlanTest::everyLayoutPlansWhatItQuantizes() {
    auto request = requestOf(sampleModel());
    std::size_t planned = 0;
    for (const Layout& layout : layouts())
        for (const char* spec :
             {"nf4:block=32", "int8:scale=channel", "int4:block=32:scaletype=f16", "nf4:block=64:dialect=bnb",
              "int8:dialect=bnb", "int4:block=32:dialect=mlx", "q8_0", "int8:scale=tensor"}) {
            request.layout = layout.id, request.specs = {parseSpec(spec).value()};
            QuantizeRequest export_;
            export_.layout = layout.id, export_.spec = request.specs.front();
            const auto written = planExport(*request.model, export_);
            if (!written || !written->problem.empty()) continue;
            std::uint64_t quantized = 0;
            for (const PlannedTensor& row : written->tensors)
                if (row.becomes == Becomes::Quantized) quantized += row.elements;
            const Objective& objective = objectives().front();
            const auto losses = objective.measure(
                objective, {request.model, request.tensors, request.specs, {}, false, &layout}, Job());
            QVERIFY(losses);
            const auto options = sizedOptions(request, *losses);
            QVERIFY2(options, qPrintable(QString::fromStdString(fmt::format("{} {}", layout.id, spec))));
            QVERIFY2(options->matched == quantized,
                     qPrintable(QString::fromStdString(fmt::format("{} {}", layout.id, spec))));
            ++planned;
        }
    QVERIFY(planned > layouts().size());
}

/// bitsandbytes has one 4-bit type for a model: the first one counts, or that of a lock; only its block may differ.
void PlanTest::whatOneFileCannotHold() {
    auto request = requestOf(sampleModel());
    request.layout = "bnb", request.specs.clear();
    for (const char* spec : {"nf4:dialect=bnb:block=64", "fp4:dialect=bnb:block=64", "nf4:dialect=bnb:block=32"})
        request.specs.push_back(parseSpec(spec).value());
    const plan::Options options = optionsOf(request);
    QVERIFY(options.isEverywhere(0) && !options.isEverywhere(1) && options.isEverywhere(2));
    bool said = false;
    for (const std::string& remark : options.remarks) said |= remark.find("one 4-bit type") != std::string::npos;
    QVERIFY(said);
    const auto best = bestMixture(options, (options.leastBytes() + options.mostBytes()) / 2);
    QVERIFY(best);
    QuantizeRequest export_;
    export_.output = "x", export_.layout = request.layout;
    recipeOf(*best, options, {}).applyTo(export_);
    const auto planned = planExport(*request.model, export_);
    QVERIFY2(planned && planned->problem.empty(), planned ? planned->problem.c_str() : "");
    // The output head has choices as the matrices of the layers have: the export writes the list of what stays.
    std::size_t head = 0;
    while (head < options.units.size() && options.units.name(head) != "lm_head.weight") ++head;
    QVERIFY(head < options.units.size());
    QVERIFY(options.specOf(options.of[head].front()) && options.units.lock(head).empty());
    // A lock comes before the choices.
    request.locks = {{"layers.0.mlp.down_proj", request.specs[1]}};
    const plan::Options locked = optionsOf(request);
    QVERIFY(!locked.isEverywhere(0) && locked.isEverywhere(1) && !locked.isEverywhere(2));
}

/// Two names of the same bytes are tied.
void PlanTest::oneDataIsOneUnit() {
    const auto model = sampleModel();
    auto tied = std::make_shared<Model>(*model);
    const auto place = std::find_if(tied->tensors.begin(), tied->tensors.end(), [](const TensorInfo& tensor) {
        return tensor.name.find("embed") != std::string::npos;
    });
    QVERIFY(place != tied->tensors.end());
    TensorInfo head = *place;
    head.name = "zz_head.weight";
    tied->tensors.push_back(head);
    const plan::Options options = optionsOf(requestOf(tied));
    bool found = false;
    for (std::size_t u = 0; u < options.units.size(); ++u)
        for (const TensorInfo* tensor : options.units.tensors(u))
            if (tensor->name == head.name) {
                found = true;
                QCOMPARE(options.units.tensors(u).size(), std::size_t(2));
            }
    QVERIFY(found);
}

void PlanTest::theFrontierIsTheBest() {
    const plan::Options options = optionsOf(requestOf(sampleModel()));
    const auto points = frontierOf(options, 1000);
    QVERIFY(points.size() > 10);
    QCOMPARE(points.front().bytes, options.leastBytes());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto best = bestMixture(options, points[i].bytes);
        QVERIFY(best && std::fabs(best->loss - points[i].loss) <= 1e-9 * points.front().loss);
        if (i > 0) QVERIFY(points[i].bytes > points[i - 1].bytes && points[i].loss < points[i - 1].loss);
    }
    QVERIFY(frontierOf(options, 12).size() <= 14);
    QCOMPARE(frontierOf(options, 12).back().bytes, points.back().bytes);
}

/// A book answers as the list of rules does, and lines keep what is the user's and what is the plan's.
void PlanTest::rulesByName() {
    const auto model = sampleModel();
    const std::vector<TensorRule> rules = {{regexOfName(model->tensors[3].name), parseSpec("int8").value()},
                                           {"down_proj", std::nullopt},
                                           {regexOfName(model->tensors[5].name), parseSpec("nf4").value()},
                                           {"^model.layers.1", parseSpec("int4").value()},
                                           {regexOfName(model->tensors[3].name), std::nullopt}};
    const auto book = RuleBook::of(rules);
    QVERIFY(book);
    for (const TensorInfo& tensor : model->tensors) {
        const TensorRule *expected = firstRule(rules, tensor.name), *found = book->first(tensor.name);
        QCOMPARE(found == nullptr, expected == nullptr);
        if (found) QVERIFY(found->regex == expected->regex && found->spec == expected->spec);
    }
    QVERIFY(!RuleBook::of({{"(", std::nullopt}}));
    RuleLines lines{{rules[1]}, {rules[0], rules[2]}, "4.5 bpw by nmse"};
    const auto text = ruleLinesText(lines);
    QVERIFY(text);
    const auto back = parseRuleLines(*text);
    QVERIFY(back);
    QCOMPARE(back->own.size(), std::size_t(1));
    QCOMPARE(back->planned.size(), std::size_t(2));
    QCOMPARE(back->note, lines.note);
    QCOMPARE(parseRules(*text)->size(), std::size_t(3));
    const auto none = parseRuleLines("# a remark\ndown_proj=keep\n");
    QVERIFY(none && none->own.size() == 1 && none->planned.empty());
    QVERIFY(parseRuleLines("# plan: x\na=int8\n")->own.empty());
    QVERIFY(!parseRuleLines("# plan: x\nnonsense\n"));
}

void PlanTest::uniformAndRulesOfThumb() {
    const plan::Options options = optionsOf(requestOf(sampleModel()));
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
    QVERIFY(sizedOptions(request, losses).error().message.find("not a regular expression") != std::string::npos);
    request.groups.clear();
    request.tensors.clear();
    QVERIFY(sizedOptions(request, losses).error().message.find("no tensor to plan") != std::string::npos);
    request = requestOf(model);
    NamedLosses named = losses.named();
    named.of.erase(request.tensors.front()->name);
    Losses lacking(model, named);
    lacking.setReason(*request.tensors.front(), "it holds NaN");
    const auto options = sizedOptions(request, lacking);
    QVERIFY(options);
    QCOMPARE(options->remarks.size(), std::size_t(1));
    QVERIFY(options->remarks.front().find("it holds NaN") != std::string::npos);
    QCOMPARE(options->units.size() + 1, request.tensors.size());
}

QS_TEST(PlanTest)
#include "plan_test.moc"
