// SPDX-License-Identifier: GPL-3.0-or-later
// The command plan on the real program: a plan, its recipe in eval and quantize, its test against chance, bad input.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QFileInfo>
#include <QSet>
#include <QTemporaryDir>

#include <cmath>

using namespace clitest;

namespace {

const QString kTiny = QStringLiteral("resources/samples/tiny-llama");
const QString kHeldOut = kTiny + QStringLiteral("/heldout.txt");

} // namespace

class TestPlanCommand : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    Ran plan(const QStringList& more) {
        return run(QStringList{s("plan"), kTiny, s("--spec"), s("ternary:scale=channel"), s("--spec"),
                               s("nf4:block=32"), s("--spec"), s("int8"), s("--tensor"), s("proj")} +
                   more);
    }
    /// A result of a benchmark with invented times: `perWeight` nanoseconds a weight, at every shape of the sample.
    QString times(const char* name, const std::vector<std::tuple<const char*, int, double>>& specs) {
        QJsonArray rows;
        for (const auto& [n, k] : {std::pair(256, 192), {192, 544}, {544, 192}, {64, 192}, {192, 192}})
            for (const auto& [spec, m, perWeight] : specs) {
                const double ns = perWeight * n * k;
                rows << QJsonObject{{s("backend"), s("cpu")},
                                    {s("device"), s("cpu:0")},
                                    {s("spec"), s(spec)},
                                    {s("op"), s("matmul_t")},
                                    {s("act"), s("f32")},
                                    {s("cache"), s("cold")},
                                    {s("m"), m},
                                    {s("n"), n},
                                    {s("k"), k},
                                    {s("variant"), s("made_up")},
                                    {s("status"), s("ok")},
                                    {s("median_ns"), ns},
                                    {s("ci_ns"), QJsonArray{0.99 * ns, 1.01 * ns}}};
            }
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly)) return {};
        file.write(QJsonDocument(QJsonObject{{s("rows"), rows}}).toJson());
        return path(name);
    }
    void refuses(const QStringList& more, const char* why) {
        const auto ran = plan(more);
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    }

private Q_SLOTS:
    void aRecipeThatExportsAndEvaluates();
    void locksSkipsAndLimits();
    void timesAndSizes();
    void aTarget();
    void againstChance();
    void aRecipeBesideThePlan();
    void aRecipeOfAnotherProgram();
    void theListOfBitsandbytes();
    void moreDraws();
    void badPlans();
    void badRecipes();
};

void TestPlanCommand::aRecipeThatExportsAndEvaluates() {
    const auto ran = plan({s("--budget"), s("14bpw"), s("--json"), s("-"), s("-o"), path("recipe.json")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto json = QJsonDocument::fromJson(ran.out).object();
    const auto summary = json[s("summary")].toObject();
    QVERIFY(summary[s("gap")].isDouble() && summary[s("gap")].toDouble() == 0 && summary[s("proved")].toBool());
    const auto bytes = summary[s("bytes")].toInteger();
    QVERIFY(bytes > 0 && bytes <= summary[s("budget_bytes")].toInteger());
    QVERIFY(summary[s("bpw")].toDouble() > 0 && summary[s("bpw_all")].toDouble() <= 14);
    QCOMPARE(summary[s("objective")].toString(), s("nmse"));
    double loss = 0;
    for (const auto& row : rows(ran.out)) loss += row.toObject()[s("loss")].toDouble();
    QVERIFY(std::fabs(loss - summary[s("loss")].toDouble()) < 1e-9);

    const auto exported = run({s("export"), kTiny, s("--recipe"), path("recipe.json"), s("--layout"),
                               summary[s("layout")].toString(), s("-o"), path("x.safetensors")});
    QVERIFY2(exported.code == 0, exported.err.constData());
    // The file has the planned bytes, a header and metadata.
    const auto size = QFileInfo(path("x.safetensors")).size();
    QVERIFY2(size > bytes && size < bytes + 100'000, qPrintable(QString::number(size)));
    const auto evaluated = run({s("eval"), kTiny, s("--recipe"), path("recipe.json"), s("--text"), kHeldOut, s("--ctx"),
                                s("64"), s("--chunks"), s("2"), s("--no-floor"), s("--json"), s("-")});
    QVERIFY2(evaluated.code == 0, evaluated.err.constData());
    QVERIFY(rows(evaluated.out)[0].toObject()[s("kl_mean")].toDouble() > 0);
}

void TestPlanCommand::locksSkipsAndLimits() {
    const auto ran =
        plan({s("--budget"), s("15.5bpw"), s("--lock"), s("layers\\.0.*q_proj=int8"), s("--skip"), s("o_proj"),
              s("--at-least"), s("down_proj=int8"), s("--at-most"), s("up_proj=nf4:block=32"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    int locked = 0;
    for (const auto& value : rows(ran.out)) {
        const auto row = value.toObject();
        const QString unit = row[s("tensor")].toString(), spec = row[s("spec")].toString();
        locked += row[s("locked")].isString();
        if (unit.contains(s("layers.0.self_attn.q_proj"))) QCOMPARE(spec, s("int8"));
        if (unit.contains(s("o_proj"))) QCOMPARE(spec, s("keep"));
        if (unit.contains(s("down_proj"))) QCOMPARE(spec, s("int8"));
        if (unit.contains(s("up_proj"))) QVERIFY(spec != s("int8"));
    }
    QVERIFY(locked > 1);
}

void TestPlanCommand::timesAndSizes() {
    const QString file = times("times.json", {{"nf4:block=32", 1, 2.0},
                                              {"int8", 1, 3.0},
                                              {"ternary:scale=channel", 1, 1.0},
                                              {"int8", 16, 8.0},
                                              {"nf4:block=32", 16, 20.0},
                                              {"bf16", 1, 4.0}});
    const auto ran = plan({s("--budget"), s("6ms"), s("--latency"), file, s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    auto summary = QJsonDocument::fromJson(ran.out).object()[s("summary")].toObject();
    QCOMPARE(summary[s("gap")].toDouble(), 0.0);
    QVERIFY(summary[s("budget_bytes")].isNull());
    QCOMPARE(summary[s("budget_ns")].toInteger(), 6'000'000);
    QCOMPARE(summary[s("time_m")].toInteger(), 1);
    const auto all = summary[s("time_ns")].toInteger();
    QVERIFY2(all > 0 && all <= 6'000'000, qPrintable(QString::number(all)));
    qint64 sum = 0;
    QSet<QString> specs;
    for (const auto& row : rows(ran.out)) {
        sum += qint64(row.toObject()[s("time_ns")].toDouble());
        specs << row.toObject()[s("spec")].toString();
    }
    QVERIFY2(specs.size() > 1, "a plan of one spec would prove nothing");
    QCOMPARE(all - sum, qint64(4 * 256 * 192)); // the head stays as it is, as bf16
    // One spec everywhere, and where another one becomes faster.
    QCOMPARE(rows(ran.out, "speed").size(), 5);
    const auto crossed = rows(ran.out, "crossovers");
    QCOMPARE(crossed.size(), 1);
    QCOMPARE(crossed[0].toObject()[s("spec")].toString(), s("int8"));
    QCOMPARE(crossed[0].toObject()[s("m")].toInt(), 16);

    // A size too: both hold, and the gap is in the JSON and in the words.
    const QStringList both = {s("--budget"), s("6ms"), s("--budget"), s("14bpw"), s("--latency"), file};
    const auto two = plan(both + QStringList{s("--json"), s("-")});
    QVERIFY2(two.code == 0, two.err.constData());
    summary = QJsonDocument::fromJson(two.out).object()[s("summary")].toObject();
    const auto figure = [&](const char* key) { return summary[s(key)].toDouble(); };
    QVERIFY(figure("bytes") <= figure("budget_bytes") && figure("time_ns") <= figure("budget_ns"));
    QVERIFY(figure("bound") <= figure("loss") && figure("gap") >= 0);
    const auto words = plan(both);
    QVERIFY2(words.code == 0 && words.out.contains("gap ") && words.out.contains("of 6.000 ms"), words.out.constData());
    QVERIFY(words.out.contains("On cpu int8 becomes faster than nf4:block=32 between M = 1 and M = 16."));

    // What was not timed is no choice, and the command that times it is named.
    const auto lacks = plan({s("--budget"), s("3ms"), s("--latency"), file, s("--rows"), s("16")});
    QVERIFY2(lacks.code == 1 && isSentence(lacks.err), lacks.err.constData()); // 8 ns a weight is more than 3 ms
    const auto fewer = plan({s("--budget"), s("30ms"), s("--latency"), file, s("--rows"), s("16")});
    QVERIFY2(fewer.code == 0, fewer.err.constData());
    QVERIFY2(fewer.out.contains("quantscope-cli bench --model") && fewer.out.contains("--shape 16"),
             fewer.out.constData());
    refuses({s("--budget"), s("3ms")}, "bench --model");
    refuses({s("--budget"), s("1us"), s("--latency"), file}, "fastest choices need");
    refuses({s("--budget"), s("3ms"), s("--budget"), s("4ms"), s("--latency"), file}, "Two budgets of time");
    refuses({s("--budget"), s("3ms"), s("--latency"), file, s("--rows"), s("2")}, "M was 1, 16");
    refuses({s("--budget"), s("3ms"), s("--latency"), file, s("--backend"), s("cuda")}, "no time of cuda");
    refuses({s("--budget"), s("14bpw"), s("--backend"), s("cpu")}, "--latency");
    refuses({s("--budget"), s("3ms"), s("--latency"), kTiny + s("/config.json")}, "no rows of a benchmark");
}

/// The backend of the processor is asked: it takes these specs, but no zero points, which its interface does not pass.
void TestPlanCommand::aTarget() {
    const auto ran = run({s("plan"), kTiny, s("--spec"), s("int8"), s("--spec"), s("nf4:block=32"), s("--spec"),
                          s("int4:block=32:sym=no"), s("--layout"), s("native"), s("--tensor"), s("mlp"), s("--budget"),
                          s("15bpw"), s("--target"), s("cpu"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    QCOMPARE(QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject()[s("target")].toString(), s("cpu"));
    for (const auto& value : rows(ran.out)) {
        const auto row = value.toObject();
        QVERIFY(row[s("spec")].toString() != s("int4:block=32:sym=no"));
        QVERIFY2(row[s("refused")].toString().contains(s("the backend cpu does not take it: zero points")),
                 qPrintable(row[s("refused")].toString()));
    }
    refuses({s("--budget"), s("14bpw"), s("--target"), s("nothing")}, "There is no backend");
    refuses({s("--budget"), s("14bpw"), s("--plugin"), kHeldOut}, "--target");
}

void TestPlanCommand::againstChance() {
    const auto ran =
        plan({s("--budget"), s("14bpw"), s("--by"), s("output"), s("--text"), kHeldOut, s("--ctx"), s("64"),
              s("--chunks"), s("2"), s("--null"), s("2"), s("--null-chunks"), s("2"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto summary = QJsonDocument::fromJson(ran.out).object()[s("summary")].toObject();
    QVERIFY(summary[s("kl_mean")].toDouble() > 0 && summary[s("kl_se_chunk")].toDouble() > 0);
    int permuted = 0, random = 0, uniform = 0;
    for (const char* list : {"baselines", "nulls"})
        for (const auto& value : rows(ran.out, list)) {
            const auto row = value.toObject();
            const bool isDrawn = row[s("kind")] == s("shuffled plan") || row[s("kind")] == s("random plan");
            QVERIFY(row[s("kl_mean")].toDouble() > 0);
            QCOMPARE(isDrawn, list == std::string("nulls"));
            permuted += row[s("kind")] == s("shuffled plan");
            random += row[s("kind")] == s("random plan");
            uniform += row[s("kind")] == s("uniform");
        }
    QCOMPARE(permuted, 2);
    QVERIFY(random <= 2 && uniform >= 1);
    const auto chance = rows(ran.out, "chance");
    QVERIFY(chance.size() >= 1);
    const auto shuffled = chance[0].toObject();
    QCOMPARE(shuffled[s("draws")].toInt(), 2);
    QVERIFY(shuffled[s("rank_p")].toDouble() >= 1.0 / 3);
    QVERIFY(shuffled[s("words")].toString().startsWith(s("Against 2 shuffles of its own specs")));
    const bool inside = shuffled[s("low")].toDouble() <= 0 && shuffled[s("high")].toDouble() >= 0;
    QCOMPARE(shuffled[s("words")].toString().contains(s("inside the random band")), inside);
}

/// The recipe that a plan wrote has that plan's size and loss, and a plan of its size among the same specs is no better.
void TestPlanCommand::aRecipeBesideThePlan() {
    const auto made = plan({s("--budget"), s("14bpw"), s("--json"), s("-"), s("-o"), path("own.json")});
    QVERIFY2(made.code == 0, made.err.constData());
    const auto first = QJsonDocument::fromJson(made.out).object()[s("summary")].toObject();
    const auto ran = plan({s("--recipe"), path("own.json"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    const auto again = QJsonDocument::fromJson(ran.out).object()[s("summary")].toObject();
    QCOMPARE(again[s("budget_bytes")].toInteger(), first[s("bytes")].toInteger());
    QCOMPARE(again[s("bytes")].toInteger(), first[s("bytes")].toInteger());
    const auto beside = rows(ran.out, "recipes");
    QCOMPARE(beside.size(), 2);
    const auto own = beside[0].toObject(), other = beside[1].toObject();
    QCOMPARE(other[s("name")].toString(), s("own.json"));
    QCOMPARE(other[s("bytes")].toInteger(), first[s("bytes")].toInteger());
    QVERIFY(std::fabs(other[s("bpw")].toDouble() - first[s("bpw_all")].toDouble()) < 1e-9); // of all tensors
    QVERIFY(std::fabs(other[s("loss")].toDouble() / own[s("loss")].toDouble() - 1) < 1e-9);
    // It locks nothing.
    for (const auto& row : rows(ran.out)) QVERIFY(!row.toObject()[s("locked")].isString());
    const auto text = plan({s("--recipe"), path("own.json")});
    QVERIFY2(text.code == 0 && text.out.contains("own.json"), text.out.constData());
}

/// Specs of MaxText's words are to choose from, and the recipe is measured as uniform specs are.
void TestPlanCommand::aRecipeOfAnotherProgram() {
    QFile file(path("maxtext.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"__default__\":{\"w_bits\":null},\".*/(query|key)\":{\"w_bits\":8},\".*/wo\":{\"w_bits\":4}}");
    file.close();
    const auto ran =
        run({s("plan"), kTiny, s("--recipe"), path("maxtext.json"), s("--tensor"), s("proj"), s("--text"), kHeldOut,
             s("--ctx"), s("64"), s("--null"), s("1"), s("--null-chunks"), s("2"), s("--json"), s("-")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    for (const auto& row : rows(ran.out)) {
        const QString spec = row.toObject()[s("spec")].toString();
        QVERIFY2(spec.startsWith(s("int8")) || spec.startsWith(s("int4")), qPrintable(spec));
    }
    const auto recipe = rows(ran.out, "recipes")[1].toObject();
    const auto contender = rows(ran.out, "baselines")[0].toObject();
    QCOMPARE(contender[s("kind")].toString(), s("recipe"));
    QCOMPARE(contender[s("name")].toString(), s("maxtext.json"));
    QCOMPARE(contender[s("bytes")].toInteger(), recipe[s("bytes")].toInteger());
    QVERIFY(contender[s("kl_mean")].toDouble() > 0 && recipe[s("loss")].toDouble() > 0);
    // As eval measures it, on the same chunks.
    const auto evaluated = run({s("eval"), kTiny, s("--recipe"), path("maxtext.json"), s("--text"), kHeldOut,
                                s("--ctx"), s("64"), s("--chunks"), s("2"), s("--no-floor"), s("--json"), s("-")});
    QVERIFY2(evaluated.code == 0, evaluated.err.constData());
    const double kl = rows(evaluated.out)[0].toObject()[s("kl_mean")].toDouble();
    QVERIFY2(std::fabs(contender[s("kl_mean")].toDouble() / kl - 1) < 1e-6, qPrintable(QString::number(kl)));
}

/// What bitsandbytes keeps comes in by a config.json, and goes out by the config.json of the export.
void TestPlanCommand::theListOfBitsandbytes() {
    QFile file(path("config.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "{\"quantization_config\":{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true,\"bnb_4bit_quant_type\":"
        "\"nf4\",\"llm_int8_skip_modules\":[\"lm_head\",\"model.layers.1\",\"down_proj\"]}}");
    file.close();
    const QStringList base = {s("plan"),     kTiny,
                              s("--spec"),   s("nf4:dialect=bnb:block=64"),
                              s("--spec"),   s("nf4:dialect=bnb:block=128"),
                              s("--layout"), s("bnb"),
                              s("--budget"), s("15bpw")};
    const auto ran = run(
        base + QStringList{s("--skip-list"), path("config.json"), s("--json"), s("-"), s("-o"), path("skips.json")});
    QVERIFY2(ran.code == 0, ran.err.constData());
    int kept = 0;
    for (const auto& value : rows(ran.out)) {
        const QString unit = value.toObject()[s("tensor")].toString(), spec = value.toObject()[s("spec")].toString();
        const bool isListed =
            unit.contains(s("layers.1.")) || unit.contains(s("down_proj")) || unit.contains(s("lm_head"));
        QVERIFY2(unit.contains(s("embed")) || (spec == s("keep")) == isListed, qPrintable(unit + u' ' + spec));
        kept += isListed;
    }
    QCOMPARE(kept, 7 + 7 + 1);
    // Without a list the head is quantized as `quantize` does, and a lock decides otherwise.
    const auto headOf = [&](const QStringList& more) {
        const auto made = run(base + more + QStringList{s("--json"), s("-")});
        for (const auto& value : rows(made.out))
            if (value.toObject()[s("tensor")] == s("lm_head.weight")) return value.toObject()[s("spec")].toString();
        return QString::fromUtf8(made.err);
    };
    QVERIFY2(headOf({}).startsWith(s("nf4:")), qPrintable(headOf({})));
    QCOMPARE(headOf({s("--lock"), s("lm_head=keep")}), s("keep"));
    // The export's config.json holds the list, and reads as the same recipe.
    const auto exported =
        run({s("export"), kTiny, s("--recipe"), path("skips.json"), s("--layout"), s("bnb"), s("-o"), path("out")});
    QVERIFY2(exported.code == 0, exported.err.constData());
    QFile config(path("out/config.json"));
    QVERIFY(config.open(QIODevice::ReadOnly));
    const auto settings = QJsonDocument::fromJson(config.readAll()).object()[s("quantization_config")].toObject();
    const auto list = settings[s("llm_int8_skip_modules")].toArray();
    QCOMPARE(list.size(), 2 * kept - 1); // with and without the prefix of a network with a head
    QVERIFY(list.contains(s("lm_head")) && list.contains(s("layers.0.mlp.down_proj")) &&
            list.contains(s("model.layers.0.mlp.down_proj")));
    refuses({s("--budget"), s("14bpw"), s("--skip-list"), kHeldOut}, "is not a recipe");
}

/// Draws beyond the usual ones go on from a run with the same records.
void TestPlanCommand::moreDraws() {
    const auto with = [&](const char* draws, const QStringList& more) {
        return plan(QStringList{s("--budget"), s("14bpw"), s("--text"), kHeldOut, s("--ctx"), s("32"),
                                s("--null-chunks"), s("2"), s("--null"), s(draws), s("--json"), s("-")} +
                    more);
    };
    const QStringList records = {s("--records"), path("records")};
    const auto first = with("5", records), more = with("6", records), whole = with("6", {});
    QVERIFY2(first.code == 0 && more.code == 0 && whole.code == 0, more.err.constData());
    QCOMPARE(rows(first.out, "chance")[0].toObject()[s("draws")].toInt(), 5);
    QCOMPARE(rows(more.out, "chance")[0].toObject()[s("draws")].toInt(), 6);
    QCOMPARE(rows(more.out, "chance"), rows(whole.out, "chance"));
    QCOMPARE(rows(more.out, "baselines"), rows(whole.out, "baselines"));
    QCOMPARE(rows(more.out, "nulls"), rows(whole.out, "nulls"));
}

void TestPlanCommand::badRecipes() {
    const auto put = [&](const char* name, const char* text) {
        QFile file(path(name));
        if (file.open(QIODevice::WriteOnly)) file.write(text);
        return path(name);
    };
    const auto refused = [&](const QStringList& more, const char* why) {
        const auto ran = run(QStringList{s("plan"), kTiny} + more);
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(why), ran.err.constData());
    };
    const QString one = put("one.json", "{\"version\":1,\"default\":\"keep\",\"rules\":[{\"tensor\":\"down_proj\","
                                        "\"spec\":\"int8\"}]}");
    refused({s("--recipe"), one}, "only int8");
    refused({s("--recipe"), put("bad.json", "no recipe")}, "is not a recipe");
    refused({s("--recipe"), put("none.json", "{\"version\":1,\"default\":\"keep\",\"rules\":[]}")},
            "quantizes no matrix");
    const QString ternary = put("ternary.json", "{\"version\":1,\"default\":\"keep\",\"rules\":[{\"tensor\":"
                                                "\"down_proj\",\"spec\":\"ternary:scale=channel\"}]}");
    refused({s("--recipe"), ternary, s("--spec"), s("int4:dialect=ct:block=32"), s("--layout"), s("compressed-tensors"),
             s("--tensor"), s("proj")},
            "does not take ternary");
    const auto neither = run({s("plan"), kTiny, s("--spec"), s("int8"), s("--spec"), s("int4")});
    QVERIFY(neither.code != 0 && neither.err.contains("--budget or --recipe"));
    // An input is never overwritten.
    const auto over = run({s("plan"), kTiny, s("--recipe"), one, s("--spec"), s("int4"), s("-o"), one});
    QVERIFY(over.code != 0 && isSentence(over.err));
}

void TestPlanCommand::badPlans() {
    refuses({s("--budget"), s("much")}, "is no budget");
    refuses({s("--budget"), s("0.01bpw")}, "too small");
    refuses({s("--budget"), s("14bpw"), s("--by"), s("alone")}, "--text");
    refuses({s("--budget"), s("14bpw"), s("--lock"), s("int8")}, "--lock");
    refuses({s("--budget"), s("14bpw"), s("--at-least"), s("down_proj=keep")}, "--at-least");
    refuses({s("--budget"), s("14bpw"), s("--at-most"), s("(=int8")}, "not a regular expression");
    refuses({s("--budget"), s("14bpw"), s("--skip"), s("(")}, "not a regular expression");
    refuses({s("--budget"), s("14bpw"), s("--layout"), s("nothing")}, "layout");
    refuses({s("--budget"), s("14bpw"), s("--text"), kHeldOut, s("--ctx"), s("1000000")}, "none is left");
    const auto one = run({s("plan"), kTiny, s("--spec"), s("int8"), s("--budget"), s("14bpw")});
    QCOMPARE(one.code, 1);
    QVERIFY(isSentence(one.err) && one.err.contains("twice"));
    const auto input = plan({s("--budget"), s("14bpw"), s("-o"), kTiny + s("/config.json")});
    QCOMPARE(input.code, 1);
    QVERIFY(isSentence(input.err));
}

QS_TEST(TestPlanCommand)
#include "plan_command_test.moc"
