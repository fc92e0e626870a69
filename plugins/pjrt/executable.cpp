// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/abi/quantscope_backend.h"
#include "plugins/pjrt/client.h"

#include <charconv>

namespace qs::pjrt {

std::size_t elementBytes(ElementType type) {
    switch (type) {
    case ElementType::S8:
    case ElementType::U8:
    case ElementType::F8E5M2:
    case ElementType::F8E4M3FN: return 1;
    case ElementType::F16:
    case ElementType::BF16: return 2;
    case ElementType::S32:
    case ElementType::F32: return 4;
    case ElementType::Invalid: break;
    }
    return 0;
}

std::uint64_t ArraySpec::bytes() const {
    std::uint64_t bytes = elementBytes(type);
    for (const auto dim : dims) bytes *= std::uint64_t(dim);
    return bytes;
}

Executable::Executable(const Api* api, Owned loaded, Owned executable)
    : api_(api), loaded_(std::move(loaded)), executable_(std::move(executable)) {}

CompiledFigures Executable::figures() const {
    CompiledFigures figures;
    const auto known = [](std::int64_t value) -> std::optional<std::int64_t> {
        return value >= 0 ? std::optional(value) : std::nullopt;
    };
    try {
        Padded<MemoryStatsArgs> args;
        args.f.executable = executable_.get();
        api_->call(Slot::ExecutableMemoryStats, args);
        figures.argumentBytes = known(args.f.arguments);
        figures.outputBytes = known(args.f.outputs);
        figures.tempBytes = known(args.f.temp);
        if (args.f.peak > 0) figures.peakBytes = args.f.peak;
        if (args.f.code > 0) figures.codeBytes = args.f.code;
    } catch (const Fault&) { // some plugins do not report this
    }
    try {
        const auto code = api_->number(Slot::ExecutableCodeSize, executable_.get());
        if (code > 0) figures.codeBytes = code;
    } catch (const Fault&) {
    }
    try {
        Padded<CostAnalysisArgs> args;
        args.f.executable = executable_.get();
        api_->call(Slot::ExecutableCostAnalysis, args);
        for (const auto& [name, json] : attributes(args.f.values, args.f.count)) {
            double value = -1;
            std::from_chars(json.data(), json.data() + json.size(), value);
            if (value < 0) continue;
            if (name == "flops") figures.flops = value;
            if (name == "bytes accessed") figures.bytesAccessed = value;
        }
    } catch (const Fault&) {
    }
    return figures;
}

std::vector<ArraySpec> Executable::outputs() const {
    constexpr std::size_t kMostOutputs = 16, kMostRank = 8;
    Padded<ListOutArgs> types;
    Padded<DimensionsArgs> dims;
    try {
        types.f.handle = executable_.get();
        api_->call(Slot::ExecutableOutputTypes, types);
        dims.f.executable = executable_.get();
        api_->call(Slot::ExecutableOutputDimensions, dims);
    } catch (const Fault& fault) {
        if (fault.code == QS_UNIMPLEMENTED) return {};
        throw;
    }
    if (types.f.count == 0 || types.f.count > kMostOutputs || types.f.count != dims.f.count ||
        types.f.list == nullptr || dims.f.ranks == nullptr)
        throw Fault{QS_INTERNAL, "the PJRT plugin contradicts itself about the program's outputs"};
    std::vector<ArraySpec> specs;
    const auto* type = static_cast<const std::int32_t*>(types.f.list);
    const auto* dim = dims.f.dims;
    for (std::size_t i = 0; i < types.f.count; ++i) {
        const auto rank = dims.f.ranks[i];
        if (rank > kMostRank || (rank > 0 && dim == nullptr))
            throw Fault{QS_INTERNAL, "the PJRT plugin speaks of an output of rank " + std::to_string(rank)};
        specs.push_back({ElementType(type[i]),
                         rank > 0 ? std::vector<std::int64_t>(dim, dim + rank) : std::vector<std::int64_t>()});
        dim += rank;
    }
    return specs;
}

std::string Executable::optimizedProgram() const {
    constexpr std::size_t kLargest = std::size_t(1) << 30;
    Padded<ProgramText> program;
    Padded<OptimizedProgramArgs> args;
    args.f.executable = executable_.get();
    args.f.program = &program;
    api_->call(Slot::ExecutableOptimizedProgram, args); // without memory it only returns the size
    if (program.f.codeSize > kLargest)
        throw Fault{QS_INTERNAL,
                    "the optimized program is said to have " + std::to_string(program.f.codeSize) + " bytes"};
    std::string code(program.f.codeSize, '\0');
    if (code.empty()) return code;
    program.f.code = code.data();
    api_->call(Slot::ExecutableOptimizedProgram, args);
    return code;
}

} // namespace qs::pjrt
