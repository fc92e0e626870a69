// SPDX-License-Identifier: GPL-3.0-or-later
// The small awkward shapes that a variant must compute correctly before it is timed.
#include "core/bench/run/gate.h"

#include "core/base/text.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kLeastShapes = 6; ///< at least so many, however long they take

} // namespace

std::vector<TailShape> tailShapes(const QuantSpec& spec, const BenchOp& op) {
    const std::int64_t block = spec.blockSize() ? spec.blockSize() : 64;
    const std::int64_t half = std::max<std::int64_t>(1, block / 2);
    // A short last block and rows of one block, along the axis that is cut into blocks.
    TailShape shortBlock = {2, 33, block + half + 1}, oneBlock = {5, 17, block};
    if (op.wIsKn) std::swap(shortBlock.n, shortBlock.k), std::swap(oneBlock.n, oneBlock.k);
    // Tiles are 16 to 128 wide: shapes below and above, in N and K; M from one row to more than a tile. The first
    // kLeastShapes have a case of each kind.
    std::vector<TailShape> shapes = {{1, 127, 129}, shortBlock,   oneBlock,          {17, 65, 257},
                                     {3, 33, 65},   {1, 1, 1},    {2, 129, 127},     {5, 31, 63},
                                     {2, 1, 192},   {17, 130, 2}, {3, 15, 2 * block}};
    if (op.product)
        shapes.push_back({1, 64, 4 * 64});
    else
        for (auto& shape : shapes) shape.m = 1;
    if (blocksCrossRows(spec)) // blocks that cross rows must divide them, or no backend is given the shape
        for (auto& shape : shapes) {
            auto& columns = op.wIsKn ? shape.n : shape.k;
            columns = (columns + block - 1) / block * block;
        }
    return shapes;
}

Result<std::shared_ptr<std::vector<Gate::Case>>> Gate::cases(const OperandRequest& request, const QuantSpec& spec,
                                                             const Job& job) {
    const std::string key =
        fmt::format("{} {} {} {}", canonicalText(spec), request.op->id, request.act->id, request.bias ? "bias" : "");
    auto& known = cases_[key];
    if (known) return known;
    auto made = std::make_shared<std::vector<Case>>();
    for (const auto& shape : tailShapes(spec, *request.op)) {
        OperandRequest small = request;
        small.m = shape.m;
        small.n = shape.n;
        small.k = shape.k;
        const std::int64_t rows = request.op->wIsKn ? shape.k : shape.n,
                           columns = request.op->wIsKn ? shape.n : shape.k;
        auto values = weightValues(rows, columns, request.seed, nullptr);
        if (!values) return tl::unexpected(values.error());
        auto weights = makeWeights(spec, rows, columns, *values, job, request.op->wIsKn);
        if (!weights) return tl::unexpected(weights.error());
        auto operands = makeOperands(small, *weights);
        if (!operands) return tl::unexpected(operands.error());
        auto reference = evaluateReference(*operands, request.seed, job);
        if (!reference) return tl::unexpected(reference.error());
        auto output = GuardedOutput::create(operands->outs);
        if (!output) return tl::unexpected(output.error());
        made->push_back({std::move(*operands), std::move(*reference), std::move(*output)});
    }
    known = std::move(made);
    return known;
}

bool Gate::check(Case& one, Backend& backend, std::uint32_t device, const OperandRequest& request,
                 const Variant& variant, const Job& job, GateVerdict& verdict) const {
    const Problem& problem = one.operands.problem;
    const std::string place = fmt::format("at the small shape {}x{}x{}: ", problem.m, problem.n, problem.k);
    const auto stopped = [&](RowState status, std::string reason) {
        verdict.status = status;
        verdict.reason = std::move(reason);
        return false;
    };
    if (job.cancelled()) return stopped(RowState::Cancelled, "cancelled");
    const auto support = backend.query(device, problem);
    if (!support) return stopped(support.error().state, place + support.error().reason);
    const auto offered = std::ranges::find_if(support->variants, [&](const Variant& v) { return v.id == variant.id; });
    if (support->level == 0 || offered == support->variants.end()) return ++verdict.declined, true;
    const auto kernel = backend.prepare(device, problem, variant.id, one.operands.inputs);
    if (!kernel && kernel.error().state == RowState::Declined) return ++verdict.declined, true;
    if (!kernel) return stopped(kernel.error().state, place + kernel.error().reason);
    one.output.refill();
    const auto done = backend.execute(kernel->handle, one.operands.act, one.output.tensors());
    if (!done && done.error().state == RowState::Declined) {
        backend.destroy(kernel->handle);
        return ++verdict.declined, true;
    }
    if (!done) return stopped(done.error().state, place + done.error().reason);
    backend.destroy(kernel->handle);
    const auto& levels = offered->levels;
    const auto own = levels.empty() ? Result<Reference>(one.reference)
                                    : evaluateReference(one.operands, request.seed, job, kFullProducts, levels);
    if (!own) return stopped(own.error().cancelled ? RowState::Cancelled : RowState::Failed, own.error().sentence());
    const Check check = checkOutput(one.operands, *own, one.output, nmseLimitFor(*offered, problem));
    ++verdict.shapes;
    verdict.worstNmse = std::max(verdict.worstNmse, check.nmse);
    return check.passed || stopped(RowState::Wrong, place + check.reason);
}

GateVerdict Gate::oneTail(Backend& backend, std::uint32_t device, const OperandRequest& request, const QuantSpec& spec,
                          const Variant& variant, std::size_t first, const Job& job) {
    GateVerdict verdict;
    const auto list = cases(request, spec, job);
    if (!list) {
        verdict.status = list.error().cancelled ? RowState::Cancelled : RowState::Failed;
        verdict.reason = list.error().sentence();
        return verdict;
    }
    for (std::size_t i = 0; i < (*list)->size() && verdict.shapes == 0; ++i)
        if (!check((**list)[(first + i) % (*list)->size()], backend, device, request, variant, job, verdict)) break;
    return verdict;
}

GateVerdict Gate::tails(Backend& backend, const std::string& backendId, std::uint32_t device,
                        const OperandRequest& request, const QuantSpec& spec, const Variant& variant, const Job& job) {
    const std::string key = fmt::format("{} {} {} {} {} {} {}", backendId, device, canonicalText(spec), request.op->id,
                                        request.act->id, request.bias, variant.id);
    if (const auto known = verdicts_.find(key); known != verdicts_.end()) return known->second;

    GateVerdict verdict;
    const auto list = cases(request, spec, job);
    if (!list) {
        verdict.status = list.error().cancelled ? RowState::Cancelled : RowState::Failed;
        verdict.reason = list.error().sentence();
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; list && i < (*list)->size(); ++i) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (verdict.shapes >= kLeastShapes && spent.count() > patience_) {
            verdict.reason = fmt::format("{} of {} small shapes were checked in {} s", verdict.shapes, (*list)->size(),
                                         significantText(spent.count(), 2));
            break;
        }
        if (!check((**list)[i], backend, device, request, variant, job, verdict)) break;
    }
    if (verdict.status != RowState::Cancelled) verdicts_[key] = verdict;
    return verdict;
}

} // namespace qs
