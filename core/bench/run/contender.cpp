// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/contender.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::array<const char*, 5> kArtifacts = {"stablehlo", "hlo_with_config", "ptx", "asm", "source"};

bool isBaseline(const Question& question, const OpenedBackend& opened, const Variant& variant) {
    return opened.source.baseline && variant.baseline && question.spec.format == "f32" &&
           std::string_view(question.request.act->id) == "f32" && question.request.op->product;
}

/// The command that measures this row alone.
std::string commandOf(const Question& q, const OpenedBackend& opened) {
    // Options from the environment are written out, so that the command does not depend on it.
    const AskedBackend asked = askedAs(opened.source);
    std::string out = "quantscope-cli bench --backend " + shellWord(asked.id);
    if (!asked.plugin.empty()) out += " --plugin " + shellWord(asked.plugin);
    out += fmt::format(" --spec {} --op {}", shellWord(q.specTyped), q.request.op->id);
    // The model gives the values of its first tensor of this shape.
    if (!q.shape.tensor.empty() && q.plan->model) out += " --model " + shellWord(q.plan->model->path);
    out += " --shape " + shapeKey({q.request.op->product ? q.shape.m : 1, q.shape.n, q.shape.k, {}});
    if (q.request.op->product) out += std::string(" --act ") + q.request.act->id;
    if (q.request.bias) out += " --bias";
    if (q.plan->threads) out += fmt::format(" --threads {}", q.plan->threads);
    if (q.plan->seed != 1) out += fmt::format(" --seed {}", q.plan->seed);
    if (q.plan->memoryBytes) out += fmt::format(" --memory {}", q.plan->memoryBytes);
    out += fmt::format(" --seconds {}", q.plan->secondsPerRow);
    return out;
}

void stop(Contender& c, const Failure& failure) {
    c.row.verdict.status = failure.state;
    c.row.verdict.reason = failure.reason;
    c.row.verdict.hint = failure.hint;
    c.opened->note(failure);
}

void takeArtifacts(Contender& c) {
    for (const char* kind : kArtifacts) {
        if (!c.opened->backend) return;
        auto text = c.opened->backend->artifact(c.handle, kind);
        if (!text)
            c.opened->note(text.error());
        else if (*text)
            c.row.answer.artifacts.emplace_back(kind, std::move(**text));
    }
}

/// In addition to the error against its own rule: the error against the format.
void noteApproximation(BenchmarkRow& row, double nmse) {
    row.check.approxNmse = nmse;
    remark(row, fmt::format("approximate: NMSE {} against the format's own values", significantText(nmse, 3)));
}

/// Executes once; the result is filled with NaN before and has guard bytes around it.
bool correct(Contender& c, const Job& job) {
    const Operands& operands = c.checked->operands();
    auto output = GuardedOutput::create(operands.outs);
    if (!output) {
        c.row.verdict.reason = output.error().sentence();
        return false;
    }
    const auto done = c.opened->backend->execute(c.handle, operands.act, output->tensors());
    if (!done) {
        const bool compiled =
            done.error().state == RowState::Declined && c.opened->devices[c.device].kind == QS_DEVICE_COMPILE_ONLY;
        stop(c, compiled ? Failure{RowState::CompileOnly, "compiled; there is no device, so nothing was run"}
                         : done.error());
        return false;
    }
    const auto own = c.checked->reference(job);
    const auto reference = own ? c.checked->reference(job, c.row.answer.variant.levels) : own;
    if (!reference) {
        c.row.verdict.status = reference.error().cancelled ? RowState::Cancelled : RowState::Failed;
        c.row.verdict.reason = reference.error().sentence();
        return false;
    }
    const Check check = checkOutput(operands, **reference, *output, c.limit);
    c.row.check.nmse = check.nmse;
    c.row.check.nmseLimit = nmseLimitHere(c.limit, **reference);
    c.row.check.formatNmse = (*own)->formatNmse;
    if (c.row.answer.variant.approx) noteApproximation(c.row, checkOutput(operands, **own, *output, 1).nmse);
    c.row.check.checkedOutputs = (*reference)->checked();
    c.row.check.outputs = (*reference)->outputs();
    if (check.passed) return true;
    c.row.verdict.status = RowState::Wrong;
    c.row.verdict.reason = check.reason;
    return false;
}

} // namespace

Result<const Reference*> Checked::reference(const Job& job, const std::vector<float>& levels) {
    auto known = references_.find(levels);
    if (known == references_.end()) {
        auto made = evaluateReference(operands_, seed_, job, kFullProducts, levels);
        if (!made && made.error().cancelled) return tl::unexpected(made.error());
        known = references_.emplace(levels, std::move(made)).first;
    }
    if (!known->second) return tl::unexpected(known->second.error());
    return &*known->second;
}

BenchmarkRow questionRow(const Question& q, const OpenedBackend& opened, std::uint32_t device) {
    BenchmarkRow row;
    row.question.backend = opened.source.id;
    if (device < opened.devices.size()) {
        row.question.device = opened.devices[device].id;
        row.answer.deviceName = opened.devices[device].name;
        row.answer.deviceArch = opened.devices[device].arch;
    }
    row.question.spec = q.specTyped;
    row.question.specFull = canonicalText(q.spec);
    row.question.op = q.request.op->id;
    row.question.act = q.request.op->product ? q.request.act->id : "";
    row.question.m = q.request.op->product ? q.shape.m : 1;
    row.question.n = q.request.n;
    row.question.k = q.request.k;
    row.question.bias = q.request.bias;
    row.question.threads = q.plan->threads ? q.plan->threads : workerCount();
    if (const auto* own = opened.source.option("threads"))
        if (const int count = std::atoi(own->c_str()); count > 0) row.question.threads = unsigned(count);
    row.question.tensor = q.shape.tensor;
    row.question.command = commandOf(q, opened);
    return row;
}

std::vector<Contender> askDevice(const Question& q, OpenedBackend& opened, std::uint32_t device,
                                 const std::shared_ptr<Checked>& checked) {
    Contender base;
    base.row = questionRow(q, opened, device);
    base.opened = &opened;
    base.device = device;
    base.checked = checked;
    const auto one = [&](const Failure& failure) {
        stop(base, failure);
        return std::vector{base};
    };
    if (!opened.backend) return one(opened.failure);
    const Problem& problem = checked->operands().problem;
    const auto support = opened.backend->query(device, problem);
    if (!support) return one(support.error());
    if (support->level == QS_SUPPORT_NO || support->variants.empty())
        return one({RowState::Declined, support->reason.empty() ? "the backend gave no reason" : support->reason});
    std::vector<Contender> out;
    for (const auto& variant : support->variants) {
        Contender c = base;
        c.row.answer.variant = variant;
        c.row.answer.emulated = support->level == QS_SUPPORT_EMULATED;
        if (c.row.answer.emulated) c.row.verdict.reason = support->reason;
        c.limit = nmseLimitFor(variant, problem);
        c.row.check.nmseLimit = c.limit;
        c.isBaseline = isBaseline(q, opened, variant);
        out.push_back(std::move(c));
    }
    return out;
}

void qualify(Contender& c, const Question& q, Gate& gate, const Job& job) {
    if (!c.opened->backend) return stop(c, c.opened->failure);
    Variant variant;
    variant.id = c.row.answer.variant.id;
    // If nothing can run, small shapes would only be compiled.
    if (c.opened->devices[c.device].kind != QS_DEVICE_COMPILE_ONLY) {
        const auto verdict =
            gate.tails(*c.opened->backend, c.opened->source.id, c.device, q.request, q.spec, variant, job);
        c.row.check.worstNmse = verdict.shapes ? std::optional(verdict.worstNmse) : std::nullopt;
        c.row.check.checkedShapes = verdict.shapes;
        if (verdict.status != RowState::Ok) return stop(c, {verdict.status, verdict.reason});
        remark(c.row, verdict.reason);
    }
    auto kernel = c.opened->backend->prepare(c.device, c.checked->operands().problem, c.row.answer.variant.id,
                                             c.checked->operands().inputs);
    if (!kernel) return stop(c, kernel.error());
    c.handle = kernel->handle;
    c.row.answer.kernel = kernel->info;
    c.copyBytes = std::uint64_t(kernel->info.copyBytes.value_or(0));
    c.alive = true;
    if (q.plan->artifacts) takeArtifacts(c);
    if (!c.opened->backend) {
        c.alive = false;
        return stop(c, c.opened->failure);
    }
    if (!correct(c, job)) return release(c);
    // the compiler has folded the weights: the time would not be that of a product with quantized weights
    if (c.row.answer.kernel.fusion == QS_FUSION_FOLDED) {
        stop(c, {RowState::Invalid, "the compiler made constants of the weights: no quantized product would be timed"});
        return release(c);
    }
    c.row.verdict.status = RowState::Ok;
}

void release(Contender& c) {
    if (c.alive && c.opened->backend) c.opened->backend->destroy(c.handle);
    c.alive = false;
}

} // namespace qs
