// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/disassembly.h"
#include "plugins/cpu/context.h"
#include "plugins/cpu/problem.h"

#include "kernels/kernel_set.h"
#include "kernels/zeroed_pages.h"

namespace qs::cpu {

namespace {

/// The text is made once and kept, because the host calls this twice: first for the length, then for the text.
int32_t assembly(qs_kernel& kernel, char* buf, uint64_t cap, uint64_t* need, qs_error* error) {
    if (kernel.assembly.empty())
        for (const InnerLoop& loop : kernel.prepared->innerLoops()) {
            const plugin::Disassembly found = plugin::disassemble(loop.code);
            kernel.assembly += std::string("; ") + loop.what + "\n" +
                               (found.text.empty() ? "; not shown: " + found.reason + "\n" : found.text) + "\n";
        }
    if (kernel.assembly.empty()) return fail(error, QS_NOT_FOUND, "This variant is plain C++ without an inner loop.");
    return giveText(kernel.assembly, buf, cap, need);
}

/// Bytes of memory for one more copy of the weights. A small copy is measured, because most of it is the padding of
/// memory pages.
int64_t copyBytes(const PreparedMatmul& prepared) {
    constexpr std::size_t large = std::size_t(1) << 20, object = 1024;
    if (prepared.weightBytes() >= large) return int64_t(prepared.weightBytes() + large / 8);
    const std::size_t before = zeroedPagesTaken();
    { const auto copy = prepared.clone(); }
    return int64_t(zeroedPagesTaken() - before + object);
}

} // namespace

int32_t prepare(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, const char* variantId, const qs_tensor* const* in,
                uint32_t nIn, qs_kernel** out, qs_kernel_info* info, qs_error* error) {
    if (!ctx || !out) return fail(error, QS_INVALID_ARGUMENT, "prepare needs a context and a place for the kernel.");
    *out = nullptr;
    return guarded(error, [&]() -> int32_t {
        if (dev != 0) return fail(error, QS_INVALID_ARGUMENT, "There is one device, number 0.");
        const Understood asked = understand(problem);
        if (!asked.declined.empty()) return fail(error, QS_UNIMPLEMENTED, asked.declined);
        std::string why;
        const auto variants = variantsFor(asked.problem, &why);
        const MatmulVariant* variant = nullptr;
        if (variants.empty()) return fail(error, QS_UNIMPLEMENTED, why);
        if (text(variantId).empty()) variant = fastestOf(variants, asked.problem);
        for (const MatmulVariant* v : variants)
            if (text(variantId) == v->id) variant = v;
        if (!variant)
            return fail(error, QS_NOT_FOUND,
                        "The variant " + std::string(text(variantId)) + " does not do this problem.");
        const Operands operands = operandsOf(asked, in, nIn);
        if (!operands.refused.empty()) return fail(error, QS_INVALID_ARGUMENT, operands.refused);

        ctx->cancelled = false;
        const ThreadTeam::Pin pin(ctx->team);
        const uint64_t start = qs_now_ns();
        auto kernel = std::make_unique<qs_kernel>(qs_kernel{ctx, asked.problem, variant, nullptr});
        kernel->prepared = variant->prepare(asked.problem, operands.weight, ctx->team);
        qs_kernel_info mine{};
        mine.fusion = QS_FUSION_FUSED;
        mine.repack_ms = double(qs_now_ns() - start) / 1e6;
        mine.upload_ms = mine.compile_ms = -1;
        const MatmulProblem& p = asked.problem;
        mine.flops = p.op == MatmulOp::Matmul ? 2.0 * double(p.m) * double(p.n) * double(p.k) : -1;
        mine.bytes_accessed = -1;
        mine.arg_bytes = mine.out_bytes = mine.temp_bytes = mine.peak_bytes = mine.code_bytes = -1;
        mine.weight_bytes = int64_t(kernel->prepared->weightBytes());
        mine.copy_bytes = copyBytes(*kernel->prepared);
        give(info, mine);
        *out = kernel.release();
        return QS_OK;
    });
}

int32_t execute(qs_kernel* kernel, const qs_tensor* const* act, uint32_t nAct, qs_tensor* const* outs, uint32_t nOuts,
                qs_error* error) {
    if (!kernel) return fail(error, QS_INVALID_ARGUMENT, "execute needs a kernel.");
    return guarded(error, [&]() -> int32_t {
        const Activations in = activationsOf(kernel->problem, act, nAct);
        if (!in.refused.empty()) return fail(error, QS_INVALID_ARGUMENT, in.refused);
        const Outputs out = outputsOf(kernel->problem, outs, nOuts);
        if (!out.refused.empty()) return fail(error, QS_INVALID_ARGUMENT, out.refused);
        kernel->ctx->cancelled = false;
        const ThreadTeam::Pin pin(kernel->ctx->team);
        if (!kernel->prepared->run(in.input, out.output, kernel->ctx->team, kernel->ctx->stopRequest()))
            return fail(error, QS_CANCELLED, "Stopped.");
        return QS_OK;
    });
}

int32_t bench(qs_kernel* kernel, const qs_tensor* const* act, uint32_t nAct, const qs_run_opts* theirs,
              qs_run_result* theirResult, qs_error* error) {
    if (!kernel || !theirs || !theirResult)
        return fail(error, QS_INVALID_ARGUMENT, "bench needs options and a result.");
    return guarded(error, [&]() -> int32_t {
        const qs_run_opts opts = given(theirs);
        qs_run_result result = given(theirResult);
        if (!result.samples_ns || result.cap == 0)
            return fail(error, QS_INVALID_ARGUMENT, "The result has no room for samples.");
        const Activations in = activationsOf(kernel->problem, act, nAct);
        if (!in.refused.empty()) return fail(error, QS_INVALID_ARGUMENT, in.refused);
        const OutputSizes sizes = outputSizes(kernel->problem);
        Aligned<char> out(sizes.out), scale(sizes.scale);
        Aligned<double> sums(sizes.sums / sizeof(double));
        const MatmulOutput output{out.data(), scale.data(), sizes.sums ? sums.data() : nullptr};
        if (result.last_out) {
            const qs_tensor last = given(result.last_out);
            if (!last.out || last.bytes != sizes.out || text(last.dtype) != sizes.outType)
                return fail(error, QS_INVALID_ARGUMENT, "last_out does not fit the result.");
        }
        qs_ctx& ctx = *kernel->ctx;
        ctx.cancelled = false;
        const ThreadTeam::Pin pin(ctx.team);
        const uint32_t sets = std::max(opts.buffer_sets, 1u);
        if (kernel->copies.size() + 1 > sets) kernel->copies.resize(sets - 1);
        while (kernel->copies.size() + 1 < sets) {
            if (ctx.stop()) return fail(error, QS_CANCELLED, "Stopped.");
            kernel->copies.push_back(kernel->prepared->clone());
        }
        uint32_t& turn = kernel->turn;
        if (turn >= sets) turn = 0;
        const StopRequest stop = ctx.stopRequest();
        const int32_t code = sample(opts, result, [&] {
            PreparedMatmul& weights = turn == 0 ? *kernel->prepared : *kernel->copies[turn - 1];
            turn = turn + 1 == sets ? 0 : turn + 1;
            return !stop() && weights.run(in.input, output, ctx.team, stop);
        });
        if (code != QS_OK) return fail(error, code, "Stopped.");
        if (result.last_out) std::memcpy(given(result.last_out).out, out.data(), sizes.out);
        give(theirResult, result);
        return QS_OK;
    });
}

int32_t artifact(qs_kernel* kernel, const char* what, char* buf, uint64_t cap, uint64_t* need, qs_error* error) {
    if (!kernel) return fail(error, QS_INVALID_ARGUMENT, "artifact needs a kernel.");
    if (text(what) == "asm") return guarded(error, [&] { return assembly(*kernel, buf, cap, need, error); });
    if (text(what) != "source")
        return fail(error, QS_NOT_FOUND, "The cpu backend has the texts \"source\" and \"asm\".");
    return guarded(error, [&] {
        const MatmulVariant& v = *kernel->variant;
        const std::string said = std::string("variant: ") + v.id + "\ntitle: " + v.title + "\narithmetic: " + v.note +
                                 "\ninner loop: " + v.shape + "\ninstruction set in use: " + bestKernels().title +
                                 "\nthreads: " + std::to_string(kernel->ctx->team.size()) + "\n";
        return giveText(said, buf, cap, need);
    });
}

} // namespace qs::cpu
