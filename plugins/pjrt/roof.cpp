// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/context.h"

#include <algorithm>

namespace qs::pjrt {
namespace {

std::unique_ptr<Kernel> roofKernel(Client& client, const std::string& kind, std::int64_t side) {
    auto kernel = std::make_unique<Kernel>(client, emitRoof(kind, side));
    for (const auto& argument : kernel->program().arguments) {
        // Small numbers, so that nothing overflows. They are not 0 and not denormal.
        const std::uint64_t bytes = argument.spec.bytes();
        std::vector<std::byte> data(bytes, std::byte{0x3f}); // f32 0.747, bf16 0.746, i8 63
        if (kind == "i8") std::fill(data.begin(), data.end(), std::byte{1});
        kernel->uploadConstant(data.data());
    }
    return kernel;
}

std::uint64_t median(std::vector<std::uint64_t> samples) {
    std::nth_element(samples.begin(), samples.begin() + std::ptrdiff_t(samples.size() / 2), samples.end());
    return samples[samples.size() / 2];
}

} // namespace

std::vector<std::uint64_t> measureRoof(qs_ctx& context, const std::string& kind, const BenchOptions& options,
                                       double& work) {
    auto& client = *context.client;
    auto& kept = context.roofs[kind];
    const bool cpu = client.platform() == "cpu";
    const auto stop = [&] { return context.stop(); };
    BenchOptions plain = options;
    plain.bufferSets = 1;
    if (kind == "f32" || kind == "bf16" || kind == "i8") {
        const std::int64_t side = cpu ? 1024 : 8192;
        work = 2.0 * double(side) * double(side) * double(side);
        plain.chain = std::max(options.chain, cpu ? 1u : 4u);
        if (!kept) kept = roofKernel(client, kind, side);
        return kept->bench(plain, stop);
    }
    if (kind != "read_bw") throw Fault{QS_UNIMPLEMENTED, "there is no program for the roof \"" + kind + "\""};
    // Reads 256 MiB on a CPU and 1 GiB elsewhere, more than any cache holds. A plugin may be slow with one way to read
    // memory, so the roof is the faster of two programs.
    const std::int64_t side = cpu ? 8192 : 16384;
    work = double(side) * double(side) * 4;
    if (kept) return kept->bench(plain, stop);
    std::vector<std::uint64_t> best;
    plain.maxSeconds = options.maxSeconds / 2;
    for (const char* program : {"read_bw", "read_bw_reduce"}) {
        auto kernel = roofKernel(client, program, side);
        auto samples = kernel->bench(plain, stop);
        if (!best.empty() && median(samples) >= median(best)) continue;
        best = std::move(samples);
        kept = std::move(kernel);
    }
    return best;
}

} // namespace qs::pjrt
