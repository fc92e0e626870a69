// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/plugins/support/abi_module.h"

#include <cstring>
#include <dlfcn.h>

namespace qs::test {
namespace {

std::vector<qs_kv> keyValues(const AbiModule::Options& options) {
    std::vector<qs_kv> list;
    for (const auto& [key, value] : options) list.push_back({key.c_str(), value.c_str()});
    return list;
}

/// An output buffer as the host gives it: filled with NaN, with guard bytes around it.
class Output {
public:
    Output(std::int64_t rows, std::int64_t columns, bool bf16)
        : count_(std::size_t(rows * columns)), bf16_(bf16), bytes_(count_ * (bf16 ? 2 : 4)), room_(bytes_ + 256, 0xA5) {
        at_ = room_.data() + 64 + (64 - reinterpret_cast<std::uintptr_t>(room_.data()) % 64) % 64;
        for (std::size_t i = 0; i < bytes_; ++i) at_[i] = 0xFF; // a NaN in both types
        tensor_ = sized<qs_tensor>();
        tensor_.rank = 2, tensor_.role = "out", tensor_.dtype = bf16 ? "bf16" : "f32";
        tensor_.dims[0] = rows, tensor_.dims[1] = columns, tensor_.out = at_, tensor_.bytes = bytes_;
    }
    qs_tensor* tensor() { return &tensor_; }
    std::vector<float> values() const {
        std::vector<float> out(count_);
        for (std::size_t i = 0; i < count_; ++i) {
            std::uint32_t bits = 0;
            if (bf16_)
                std::memcpy(reinterpret_cast<unsigned char*>(&bits) + 2, at_ + 2 * i, 2);
            else
                std::memcpy(&bits, at_ + 4 * i, 4);
            std::memcpy(&out[i], &bits, 4);
        }
        return out;
    }
    bool guardsWhole() const {
        for (const unsigned char* p = room_.data(); p < room_.data() + room_.size(); ++p)
            if ((p < at_ || p >= at_ + bytes_) && *p != 0xA5) return false;
        return true;
    }

private:
    std::size_t count_;
    bool bf16_;
    std::size_t bytes_;
    std::vector<unsigned char> room_;
    unsigned char* at_;
    qs_tensor tensor_{};
};

} // namespace

AbiModule::AbiModule(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); // never closed: rule 7 of the ABI header
    if (!library) {
        error_ = dlerror();
        return;
    }
    const auto query = reinterpret_cast<quantscope_backend_query_fn>(dlsym(library, "quantscope_backend_query"));
    table_ = query ? query(QS_ABI_MAJOR, QS_ABI_MINOR) : nullptr;
    if (!table_) error_ = path + " has no table for this version";
    host_ = sized<qs_host>();
    host_.abi_major = QS_ABI_MAJOR, host_.abi_minor = QS_ABI_MINOR;
}

AbiModule::AbiModule(const qs_backend* table) : table_(table) {
    host_ = sized<qs_host>();
    host_.abi_major = QS_ABI_MAJOR, host_.abi_minor = QS_ABI_MINOR;
}

AbiModule::Probe AbiModule::probe(const Options& options) {
    const auto list = keyValues(options);
    auto out = sized<qs_probe>();
    auto error = sized<qs_error>();
    const int code = table_->probe(&host_, list.data(), std::uint32_t(list.size()), &out, &error);
    if (code) return {-1, error.msg, {}};
    return {out.state, out.reason, out.hint};
}

std::string AbiModule::open(const Options& options) {
    const auto list = keyValues(options);
    auto error = sized<qs_error>();
    qs_ctx* ctx = nullptr;
    const int code = table_->open(&host_, list.data(), std::uint32_t(list.size()), &ctx, &error);
    if (code) return error.msg[0] ? error.msg : "no message";
    context_ = {ctx, CloseContext{table_}};
    return {};
}

std::string AbiModule::describe() {
    std::uint64_t need = 0;
    auto error = sized<qs_error>();
    if (table_->describe(context_.get(), nullptr, 0, &need, &error)) return error.msg;
    std::string text(need, 'x');
    if (table_->describe(context_.get(), text.data(), text.size(), &need, &error)) return error.msg;
    text.resize(std::strlen(text.c_str()));
    return text;
}

AbiModule::Support AbiModule::query(const qs_problem& problem) {
    auto out = sized<qs_support>();
    auto error = sized<qs_error>();
    Support support;
    if (table_->query(context_.get(), 0, &problem, &out, &error)) {
        support.reason = error.msg;
        return support;
    }
    support.level = out.level, support.reason = out.reason;
    for (std::uint32_t i = 0; i < out.n_variants; ++i) {
        auto v = sized<qs_variant>();
        if (table_->variant_get(context_.get(), 0, &problem, i, &v, &error)) {
            support.level = -1, support.reason = error.msg;
            return support;
        }
        support.variants.push_back({v.id, v.note, v.flags, v.nmse_limit});
    }
    return support;
}

AbiModule::Run AbiModule::run(const AbiProblem& problem, const std::string& variant, std::uint32_t iterations,
                              std::uint32_t bufferSets, double seconds) {
    Run run;
    run.info = sized<qs_kernel_info>();
    auto error = sized<qs_error>();
    qs_kernel* raw = nullptr;
    const auto failed = [&](int code) {
        run.code = code, run.message = error.msg;
        return run;
    };
    if (const int code = table_->prepare(context_.get(), 0, &problem.problem, variant.c_str(), problem.inputs.data(),
                                         std::uint32_t(problem.inputs.size()), &raw, &run.info, &error))
        return failed(code);
    const std::unique_ptr<qs_kernel, void (*)(qs_kernel*)> kernel(raw, table_->kernel_destroy);
    const bool bf16 = std::string(problem.problem.out) == "bf16";
    Output out(problem.outRows, problem.outColumns, bf16);
    qs_tensor* outs[] = {out.tensor()};
    const auto* acts = problem.acts.data();
    const auto nActs = std::uint32_t(problem.acts.size());
    if (const int code = table_->execute(raw, acts, nActs, outs, 1, &error)) return failed(code);
    run.code = 0, run.out = out.values(), run.guardsWhole = out.guardsWhole();
    run.nmse = nmse(run.out, problem.reference);
    if (!iterations) return run;

    Output last(problem.outRows, problem.outColumns, bf16);
    auto opts = sized<qs_run_opts>();
    opts.warmup = 1, opts.iters = iterations, opts.chain = 1, opts.buffer_sets = bufferSets, opts.max_seconds = seconds;
    opts.flags = bufferSets > 1 ? QS_RUN_COLD : 0;
    auto result = sized<qs_run_result>();
    run.samples.resize(iterations);
    result.cap = iterations, result.samples_ns = run.samples.data(), result.last_out = last.tensor();
    if (const int code = table_->bench(raw, acts, nActs, &opts, &result, &error)) return failed(code);
    run.samples.resize(result.n);
    run.clock = result.clock;
    run.guardsWhole = run.guardsWhole && last.guardsWhole();
    run.lastOutNmse = nmse(last.values(), problem.reference);
    return run;
}

PreparedKernel::PreparedKernel(AbiModule& module, const AbiProblem& problem, const std::string& variant)
    : table_(module.table()), problem_(problem) {
    auto info = sized<qs_kernel_info>();
    auto error = sized<qs_error>();
    if (table_->prepare(module.context(), 0, &problem.problem, variant.c_str(), problem.inputs.data(),
                        std::uint32_t(problem.inputs.size()), &kernel_, &info, &error))
        error_ = error.msg;
}
PreparedKernel::~PreparedKernel() { table_->kernel_destroy(kernel_); }

std::uint64_t PreparedKernel::sample(std::uint32_t bufferSets) {
    auto opts = sized<qs_run_opts>();
    opts.warmup = 1, opts.iters = 1, opts.chain = std::max(1u, bufferSets), opts.buffer_sets = bufferSets;
    opts.max_seconds = 10;
    std::uint64_t ns = 0;
    auto result = sized<qs_run_result>();
    result.cap = 1, result.samples_ns = &ns;
    auto error = sized<qs_error>();
    const int code = kernel_ ? table_->bench(kernel_, problem_.acts.data(), std::uint32_t(problem_.acts.size()), &opts,
                                             &result, &error)
                             : QS_INTERNAL;
    if (code && error_.empty()) error_ = error.msg;
    return code ? 0 : ns;
}

} // namespace qs::test
