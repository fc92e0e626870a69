// SPDX-License-Identifier: GPL-3.0-or-later
// Experts of the three forms are one thing: a matrix for each, gate and up of all in one tensor, or one tensor for each
// kind of matrix.
#include "made_diff.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

class DiffExpertsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void names_data();
    void names();
    void formsAreEqual();
    void biasesAreEqual();
    void aChangedExpertIsFound();
};

namespace {

constexpr std::int64_t kExperts = 3, kExpertInner = 24, kExpertHidden = 32;

struct ExpertForms {
    std::vector<TensorToWrite> apart, fused, stacked, inTurns, oneBelowTheOther; ///< the last two: gpt-oss, DBRX
};

Values joined(const std::vector<Values>& parts) {
    Values out;
    for (const Values& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

/// Element i of both, one after the other.
Values inTurns(const Values& a, const Values& b) {
    Values out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i]), out.push_back(b[i]);
    return out;
}

/// `changed`: the expert whose up is another in the stacked form; -1: none.
ExpertForms expertForms(int changed = -1) {
    ExpertForms out;
    std::vector<Values> gateUp, gates, ups, otherUps, downs, turned, turnedDowns;
    for (int e = 0; e < kExperts; ++e) {
        const auto gate = qs::test::normal(kExpertInner * kExpertHidden, unsigned(10 + e)),
                   up = qs::test::normal(kExpertInner * kExpertHidden, unsigned(20 + e)),
                   down = qs::test::normal(kExpertHidden * kExpertInner, unsigned(30 + e));
        const std::string before = "model.layers.0.mlp.experts." + std::to_string(e);
        out.apart.push_back(f32((before + ".gate_proj.weight").c_str(), {kExpertInner, kExpertHidden}, gate));
        out.apart.push_back(f32((before + ".up_proj.weight").c_str(), {kExpertInner, kExpertHidden}, up));
        out.apart.push_back(f32((before + ".down_proj.weight").c_str(), {kExpertHidden, kExpertInner}, down));
        gateUp.push_back(gate), gateUp.push_back(up);
        gates.push_back(gate), ups.push_back(up), downs.push_back(down);
        turned.push_back(
            inTurns(transposed(gate, kExpertInner, kExpertHidden), transposed(up, kExpertInner, kExpertHidden)));
        turnedDowns.push_back(transposed(down, kExpertHidden, kExpertInner));
        if (e == changed) ups.back()[5] += 1;
    }
    out.fused.push_back(
        f32("model.layers.0.mlp.experts.gate_up_proj", {kExperts, 2 * kExpertInner, kExpertHidden}, joined(gateUp)));
    out.fused.push_back(
        f32("model.layers.0.mlp.experts.down_proj", {kExperts, kExpertHidden, kExpertInner}, joined(downs)));
    // The names of GGUF, in a file of another kind.
    out.stacked.push_back(
        f32("model.layers.0.mlp.switch_mlp.gate_proj.weight", {kExperts, kExpertInner, kExpertHidden}, joined(gates)));
    out.stacked.push_back(
        f32("model.layers.0.mlp.switch_mlp.up_proj.weight", {kExperts, kExpertInner, kExpertHidden}, joined(ups)));
    out.stacked.push_back(
        f32("model.layers.0.mlp.switch_mlp.down_proj.weight", {kExperts, kExpertHidden, kExpertInner}, joined(downs)));
    // gpt-oss: [experts, inputs, outputs], the outputs of gate and up in turns.
    out.inTurns.push_back(
        f32("model.layers.0.mlp.experts.gate_up_proj", {kExperts, kExpertHidden, 2 * kExpertInner}, joined(turned)));
    out.inTurns.push_back(
        f32("model.layers.0.mlp.experts.down_proj", {kExperts, kExpertInner, kExpertHidden}, joined(turnedDowns)));
    // DBRX: w2 is stored as the gate is.
    const std::string stack = "transformer.blocks.0.ffn.experts.mlp.";
    const auto below = [&](const char* name, const std::vector<Values>& all) {
        out.oneBelowTheOther.push_back(
            f32((stack + name).c_str(), {kExperts * kExpertInner, kExpertHidden}, joined(all)));
    };
    below("w1", gates), below("v1", ups), below("w2", turnedDowns);
    const auto addRouter = [](std::vector<TensorToWrite>& form, const char* name) {
        form.push_back(f32(name, {kExperts, kExpertHidden}, qs::test::normal(kExperts * kExpertHidden, 40)));
    };
    for (auto* form : {&out.apart, &out.fused, &out.stacked}) addRouter(*form, "model.layers.0.mlp.gate.weight");
    addRouter(out.inTurns, "model.layers.0.mlp.router.weight");
    addRouter(out.oneBelowTheOther, "transformer.blocks.0.ffn.router.layer.weight");
    return out;
}

DiffResult comparedForms(const std::shared_ptr<const Model>& a, const std::shared_ptr<const Model>& b, DiffPlan& plan) {
    plan = diffPlan(a, b);
    auto result = diffModels(plan, Job{});
    if (!result) qFatal("%s", result.error().message.c_str());
    return std::move(*result);
}

} // namespace

void DiffExpertsTest::names_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("canonical");
    const auto row = [](const char* name, const char* canonical) {
        QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(canonical);
    };
    row("model.layers.2.mlp.experts.5.gate_proj.weight", "blk.2.expert.5.ffn_gate.weight");
    row("model.layers.2.block_sparse_moe.experts.5.w2.weight", "blk.2.expert.5.ffn_down.weight");
    row("model.layers.2.mlp.experts.gate_up_proj[5]", "blk.2.expert.5.ffn_gate_up.weight");
    row("blk.2.ffn_up_exps.weight[5]", "blk.2.expert.5.ffn_up.weight");
    row("blk.2.ffn_up_exps.bias[5]", "blk.2.expert.5.ffn_up.bias");
    row("model.layers.2.mlp.experts.gate_up_proj_bias[5]", "blk.2.expert.5.ffn_gate_up.bias");
    row("transformer.blocks.2.ffn.experts.mlp.w2[5]", "blk.2.expert.5.ffn_down.weight");
    row("transformer.blocks.2.ffn.router.layer.weight", "blk.2.ffn_gate_inp.weight");
    row("model.layers.2.mlp.gate.weight", "blk.2.ffn_gate_inp.weight");
    row("blk.2.ffn_gate_inp.weight", "blk.2.ffn_gate_inp.weight");
    row("model.layers.2.mlp.shared_experts.up_proj.weight", "blk.2.ffn_up_shexp.weight");
    row("blk.2.ffn_up_shexp.weight", "blk.2.ffn_up_shexp.weight");
}

void DiffExpertsTest::names() {
    QFETCH(QString, name);
    QFETCH(QString, canonical);
    QCOMPARE(q(canonicalTensorName(name.toStdString())), canonical);
}

void DiffExpertsTest::formsAreEqual() {
    const QTemporaryDir folder;
    auto all = expertForms();
    const std::shared_ptr<const Model> models[] = {
        opened(folder, std::move(all.apart), "apart.safetensors"),
        opened(folder, std::move(all.fused), "fused.safetensors"),
        opened(folder, std::move(all.stacked), "stacked.safetensors"),
        opened(folder, std::move(all.inTurns), "turns.safetensors"),
        opened(folder, std::move(all.oneBelowTheOther), "below.safetensors")};
    for (const auto& a : models)
        for (const auto& b : models) {
            DiffPlan plan;
            const DiffResult result = comparedForms(a, b, plan);
            QVERIFY2(result.count(DiffStatus::Equal) == result.rows.size(),
                     qPrintable(q(diffText(result)) + lines(result).join(QLatin1Char('\n'))));
        }
}

/// gpt-oss has a bias of every matrix: [experts, 2 * inner], and [experts, hidden].
void DiffExpertsTest::biasesAreEqual() {
    const QTemporaryDir folder;
    std::vector<Values> gates, ups, downs, turns;
    std::vector<TensorToWrite> apart;
    for (int e = 0; e < kExperts; ++e) {
        gates.push_back(qs::test::normal(kExpertInner, unsigned(50 + e)));
        ups.push_back(qs::test::normal(kExpertInner, unsigned(60 + e)));
        downs.push_back(qs::test::normal(kExpertHidden, unsigned(70 + e)));
        turns.push_back(inTurns(gates.back(), ups.back()));
        const std::string before = "model.layers.0.mlp.experts." + std::to_string(e);
        apart.push_back(f32((before + ".gate_proj.bias").c_str(), {kExpertInner}, gates.back()));
        apart.push_back(f32((before + ".up_proj.bias").c_str(), {kExpertInner}, ups.back()));
        apart.push_back(f32((before + ".down_proj.bias").c_str(), {kExpertHidden}, downs.back()));
    }
    const std::string experts = "model.layers.0.mlp.experts.";
    const std::shared_ptr<const Model> models[] = {
        opened(folder, std::move(apart), "apart.safetensors"),
        opened(folder,
               {f32((experts + "gate_up_proj_bias").c_str(), {kExperts, 2 * kExpertInner}, joined(turns)),
                f32((experts + "down_proj_bias").c_str(), {kExperts, kExpertHidden}, joined(downs))},
               "turns.safetensors"),
        opened(folder,
               {f32("blk.0.ffn_gate_exps.bias", {kExperts, kExpertInner}, joined(gates)),
                f32("blk.0.ffn_up_exps.bias", {kExperts, kExpertInner}, joined(ups)),
                f32("blk.0.ffn_down_exps.bias", {kExperts, kExpertHidden}, joined(downs))},
               "stacked.safetensors")};
    for (const auto& a : models)
        for (const auto& b : models) {
            DiffPlan plan;
            const DiffResult result = comparedForms(a, b, plan);
            QVERIFY2(result.count(DiffStatus::Equal) == result.rows.size(),
                     qPrintable(q(diffText(result)) + lines(result).join(QLatin1Char('\n'))));
        }
}

void DiffExpertsTest::aChangedExpertIsFound() {
    const QTemporaryDir folder;
    auto all = expertForms(1);
    const auto fused = opened(folder, std::move(all.fused), "fused.safetensors"),
               stacked = opened(folder, std::move(all.stacked), "stacked.safetensors");
    DiffPlan plan;
    const DiffResult result = comparedForms(fused, stacked, plan);
    QCOMPARE(result.count(DiffStatus::Different), std::size_t(1));
    for (const DiffRow& row : result.rows)
        if (row.status == DiffStatus::Different) {
            QCOMPARE(row.b->name.text(), std::string("model.layers.0.mlp.switch_mlp.up_proj.weight[1]"));
            QCOMPARE(row.differing, std::uint64_t(1));
        }
}

QS_TEST(DiffExpertsTest)
#include "diff_experts_test.moc"
