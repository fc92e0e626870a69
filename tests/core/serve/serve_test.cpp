// SPDX-License-Identifier: GPL-3.0-or-later
// A network whose layers multiply on a backend, beside the exact pass.
#include "core/bench/backend/local_backend.h"
#include "core/eval/run/embeddings.h"
#include "core/eval/run/evaluate.h"
#include "core/eval/run/report.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/serve/serve.h"
#include "plugins/cpu/cpu_backend.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::eval;

namespace {

constexpr std::size_t kContext = 12;

std::shared_ptr<const Model> networkOf(const char* name) {
    const auto model = openModel(std::string("tests/data/eval/") + name);
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

/// The backend cpu, which fails from its n-th product on where it is told to.
class Cpu : public Backend {
public:
    explicit Cpu(int fails = -1, RowState state = RowState::Crashed) : left_(fails), state_(state) {
        auto opened = LocalBackend::open(quantscope_cpu_backend(), {{"threads", "2"}}, std::make_shared<PluginHost>());
        if (!opened) qFatal("%s", opened.error().reason.c_str());
        cpu_ = std::move(*opened);
    }
    Outcome<std::string> describe() override { return cpu_->describe(); }
    Outcome<std::vector<DeviceInfo>> devices() override { return cpu_->devices(); }
    Outcome<RoofSamples> roof(std::uint32_t device, const std::string& kind, const RunOptions& options) override {
        return cpu_->roof(device, kind, options);
    }
    Outcome<Support> query(std::uint32_t device, const Problem& problem) override {
        if (problem.act && problem.act->format == declined) return Support{0, "not here", {}};
        return cpu_->query(device, problem);
    }
    Outcome<PreparedKernel> prepare(std::uint32_t device, const Problem& problem, const std::string& variant,
                                    std::span<const HostTensor> inputs) override {
        ++alive;
        return cpu_->prepare(device, problem, variant, inputs);
    }
    Outcome<void> execute(std::uint64_t kernel, std::span<const HostTensor> act,
                          std::span<const HostTensor> outs) override {
        ++products;
        if (left_ >= 0 && left_-- == 0)
            return tl::unexpected(Failure{state_, "crashed in execute (SIGSEGV): about to fall over"});
        return cpu_->execute(kernel, act, outs);
    }
    Outcome<RunSamples> bench(std::uint64_t kernel, std::span<const HostTensor> act, const RunOptions& options,
                              const HostTensor* last) override {
        return cpu_->bench(kernel, act, options, last);
    }
    Outcome<std::optional<std::string>> artifact(std::uint64_t kernel, const std::string& what) override {
        return cpu_->artifact(kernel, what);
    }
    void destroy(std::uint64_t kernel) override {
        --alive;
        cpu_->destroy(kernel);
    }
    void cancel() override { cpu_->cancel(); }

    static inline int products = 0, alive = 0;
    static inline std::string declined; ///< activations

private:
    int left_;
    RowState state_;
    std::unique_ptr<Backend> cpu_;
};

serve::ServingChoice choiceOf(const char* act = "", const char* variant = "", int fails = -1) {
    serve::ServingChoice choice;
    choice.source.id = "cpu", choice.act = act, choice.variant = variant;
    choice.open = [fails](const BackendSource&, const Job&) -> Outcome<std::unique_ptr<Backend>> {
        return std::unique_ptr<Backend>(new Cpu(fails));
    };
    return choice;
}

std::shared_ptr<LinearServer> serverOf(const serve::ServingChoice& choice) {
    auto server = serve::openServer(choice, Job());
    if (!server) qFatal("%s", server.error().message.c_str());
    return std::move(*server);
}

EvaluationPlan planOf(const char* name) {
    EvaluationPlan plan;
    const auto tokens = readTokens(std::string("tests/data/eval/") + name + "/tokens.npy");
    if (!tokens) qFatal("no tokens");
    plan.text.tokens = *tokens;
    plan.context = kContext, plan.scored = Scored::All;
    return plan;
}

/// An evaluation of a change as it is and on a server, with the largest difference of their logits, relative to the largest
/// logit.
struct Both {
    EvaluationPlan plan;
    Evaluation result;
    std::vector<EvaluationRow> rows;
    double worst = 0, largest = 0;
    double difference() const { return worst / largest; }
};
Both bothOf(const char* name, const serve::ServingChoice& choice, WeightChange change) {
    Both out;
    out.plan = planOf(name);
    out.plan.changes = {change, serve::servedBy(serverOf(choice), change)};
    std::vector<float> exact;
    out.plan.compared = [&](const LogitRows& rows) -> Result<void> {
        if (rows.change == 0) exact.assign(rows.other.begin(), rows.other.end());
        for (std::size_t i = 0; rows.change == 1 && i < rows.other.size(); ++i) {
            out.worst = std::max(out.worst, std::fabs(double(rows.other[i]) - double(exact[i])));
            out.largest = std::max(out.largest, std::fabs(double(exact[i])));
        }
        return {};
    };
    auto result = evaluate(networkOf(name), out.plan, Job());
    if (!result) qFatal("%s", result.error().message.c_str());
    out.result = std::move(*result);
    out.rows = evaluationRows(out.plan, out.result);
    out.plan.compared = nullptr;
    return out;
}

QString text(const std::string& words) { return QString::fromStdString(words); }

} // namespace

class ServeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void productsAreThoseOfTheExactPass_data();
    void productsAreThoseOfTheExactPass();
    void activationsMakeADifference();
    void aVariantDecidesTheActivations();
    void keptMatricesMultiplyHere();
    void aCrashIsTheErrorOfItsRow();
    void whatIsNotTakenSaysWhatWouldBe();
    void anUnavailableBackendSaysWhy();
    void encodersAreServedToo();
    void rowsSayWhoMultiplied();
};

void ServeTest::productsAreThoseOfTheExactPass_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("spec");
    // Separate and fused projections, [inputs, outputs], experts as tensors of their own and as one.
    for (const char* network : {"llama", "phi3", "gpt2", "qwen3_moe", "qwen3_moe_fused"})
        for (const char* spec : {"int8", "nf4:block=16", "f32"})
            QTest::addRow("%s %s", network, spec) << text(network) << text(spec);
}

void ServeTest::productsAreThoseOfTheExactPass() {
    QFETCH(QString, network);
    QFETCH(QString, spec);
    Cpu::products = 0;
    {
        const auto both =
            bothOf(qPrintable(network), choiceOf("f32", "reference"), quantizedAs(*parseSpec(spec.toStdString())));
        QVERIFY2(both.result.reasons[1].empty(), both.result.reasons[1].c_str());
        QVERIFY2(both.difference() < 1e-4, qPrintable(QString::number(both.difference())));
        QVERIFY(both.largest > 1);
    }
    QVERIFY(Cpu::products > 8);
    QCOMPARE(Cpu::alive, 0); // every kernel was given back
}

void ServeTest::activationsMakeADifference() {
    const auto change = quantizedAs(*parseSpec("int8"));
    double before = 0;
    for (const char* act : {"f32", "bf16", "int8"}) {
        const auto both = bothOf("llama", choiceOf(act), change);
        QVERIFY2(both.result.reasons[1].empty(), both.result.reasons[1].c_str());
        const double exact = both.rows[0].summary->divergence.mean, served = both.rows[1].summary->divergence.mean;
        QVERIFY(std::isfinite(served) && served > 0);
        QVERIFY2(both.difference() < 0.3, qPrintable(QString::number(both.difference())));
        if (std::string_view(act) == "int8") {
            QVERIFY2(both.difference() > 2 * before && both.difference() > 1e-3,
                     qPrintable(QString::number(both.difference())));
            QVERIFY2(served > 1.2 * exact, qPrintable(QStringLiteral("%1 %2").arg(exact).arg(served)));
        }
        before = both.difference();
    }
}

void ServeTest::aVariantDecidesTheActivations() {
    const auto int8 = bothOf("llama", choiceOf("int8"), quantizedAs(*parseSpec("int8")));
    const std::string title = int8.rows[1].servedBy;
    const std::string variant = title.substr(title.rfind(' ') + 1);
    // Found without being told what activations it has, where f32 ones do not have it.
    const auto again = bothOf("llama", choiceOf("", variant.c_str()), quantizedAs(*parseSpec("int8")));
    QVERIFY2(again.result.reasons[1].empty(), again.result.reasons[1].c_str());
    QVERIFY2(again.rows[1].servedBy.find(variant) != std::string::npos, again.rows[1].servedBy.c_str());
    QVERIFY(again.rows[1].servedBy.find("activations") != std::string::npos);
}

void ServeTest::keptMatricesMultiplyHere() {
    // Of the three projections that are one product, one is served.
    const auto spec = std::make_shared<const QuantSpec>(*parseSpec("int4:block=16"));
    const auto only = [spec](const TensorInfo& tensor) {
        return tensor.name.find("q_proj") != tensor.name.npos ? spec.get() : nullptr;
    };
    const auto both = bothOf("llama", choiceOf("f32", "reference"), quantizedBy("recipe", "queries", only));
    QVERIFY2(both.result.reasons[1].empty(), both.result.reasons[1].c_str());
    QVERIFY2(both.difference() < 1e-4, qPrintable(QString::number(both.difference())));
    QVERIFY(both.rows[0].summary->divergence.mean > 1e-3);
}

void ServeTest::aCrashIsTheErrorOfItsRow() {
    for (const int product : {0, 3}) {
        Both both;
        both.plan = planOf("llama");
        const auto server = serverOf(choiceOf("", "", product));
        for (const char* spec : {"int8", "nf4:block=16"}) {
            const auto change = quantizedAs(*parseSpec(spec));
            both.plan.changes.push_back(change);
            both.plan.changes.push_back(serve::servedBy(server, change));
        }
        const auto result = evaluate(networkOf("llama"), both.plan, Job());
        QVERIFY2(result, result ? "" : result.error().message.c_str());
        for (const std::size_t exact : {0, 2}) {
            QVERIFY(result->reasons[exact].empty() && !result->scores[exact].empty());
            const QString reason = text(result->reasons[exact + 1]);
            QVERIFY2(reason.startsWith(QLatin1String("The backend cpu: ")) && reason.contains(QLatin1String("SIGSEGV")),
                     qPrintable(reason));
            QVERIFY(reason.endsWith(u'.') && !reason.contains(u'\n'));
            QVERIFY(result->scores[exact + 1].empty());
        }
    }
}

void ServeTest::whatIsNotTakenSaysWhatWouldBe() {
    const auto refusal = [](const char* spec, const char* act, const char* variant = "") {
        const auto parsed = parseSpec(spec);
        if (!parsed) qFatal("%s", parsed.error().message.c_str());
        const auto both = bothOf("llama", choiceOf(act, variant), quantizedAs(*parsed));
        return text(both.result.reasons[1]);
    };
    const QString zero = refusal("int4:block=16:sym=no", "");
    QVERIFY2(zero.contains(QLatin1String("zero points do not cross")) && zero.contains(QLatin1String(": use int8 or ")),
             qPrintable(zero));
    const QString variant = refusal("int8", "", "no_such_kernel");
    QVERIFY2(variant.contains(QLatin1String("has no variant no_such_kernel for this; it has ")), qPrintable(variant));
    // Activations that the backend has no variant for; with others it has.
    Cpu::declined = "fp8_e4m3";
    const QString act = refusal("nf4:block=16", "fp8_e4m3");
    Cpu::declined.clear();
    QVERIFY2(act.contains(QLatin1String("under fp8_e4m3 activations: not here; it does with f32 or bf16 or int8 ")),
             qPrintable(act));
}

void ServeTest::anUnavailableBackendSaysWhy() {
    auto choice = choiceOf();
    choice.source.id = "cuda";
    choice.open = [](const BackendSource&, const Job&) -> Outcome<std::unique_ptr<Backend>> {
        return tl::unexpected(Failure{RowState::Unavailable, "libcuda.so.1 is not installed", "install a driver"});
    };
    const auto server = serve::openServer(choice, Job());
    QVERIFY(!server);
    QCOMPARE(text(server.error().sentence()),
             QStringLiteral("The backend cuda: libcuda.so.1 is not installed; install a driver."));
    choice.act = "int7";
    QVERIFY(text(serve::openServer(choice, Job()).error().sentence()).contains(QLatin1String("use f32 or bf16")));
}

void ServeTest::encodersAreServedToo() {
    EvaluationPlan plan = planOf("bert");
    const auto change = quantizedAs(*parseSpec("int8"));
    plan.changes = {change, serve::servedBy(serverOf(choiceOf("f32", "reference")), change),
                    serve::servedBy(serverOf(choiceOf("", "", 2)), change)};
    const auto result = evaluateEmbeddings(networkOf("bert"), plan, Job());
    QVERIFY2(result, result ? "" : result.error().message.c_str());
    QVERIFY2(result->reasons[1].empty(), result->reasons[1].c_str());
    for (std::size_t chunk = 0; chunk < result->chunks; ++chunk)
        QVERIFY(std::fabs(result->cosines[0][chunk] - result->cosines[1][chunk]) < 1e-5);
    QVERIFY(text(result->reasons[2]).contains(QLatin1String("SIGSEGV")));
}

void ServeTest::rowsSayWhoMultiplied() {
    const auto both = bothOf("llama", choiceOf("int8"), quantizedAs(*parseSpec("int8")));
    QVERIFY(both.rows[0].servedBy.empty());
    QVERIFY2(text(both.rows[1].servedBy).startsWith(QLatin1String("cpu, int8 activations, ")),
             both.rows[1].servedBy.c_str());
    QCOMPARE(both.rows[0].spec, both.rows[1].spec);
    QVERIFY(both.rows[0].label() != both.rows[1].label());
    const Table table = evaluationTable({}, both.rows), plain = evaluationTable({}, {both.rows[0]});
    const auto has = [](const Table& one) {
        return std::any_of(one.columns.begin(), one.columns.end(), [](const auto& c) { return c.id == "served_by"; });
    };
    QVERIFY(has(table) && !has(plain));
    const auto pairs = pairedOf(both.plan, both.result);
    QCOMPARE(pairs.size(), std::size_t(1));
    QCOMPARE(pairs[0].second, both.rows[1].label());
}

QS_TEST(ServeTest)
#include "serve_test.moc"
