// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/kernel.h"

#include <algorithm>

namespace qs::pjrt {
namespace {

std::string describe(const ArraySpec& spec) {
    std::string text = elementName(spec.type);
    if (text.empty()) text = "type " + std::to_string(int(spec.type));
    for (const auto dim : spec.dims) text += " x " + std::to_string(dim);
    return text;
}

} // namespace

int fusionVerdict(const CompiledFigures& figures, std::uint64_t weights, std::uint64_t decoded) {
    if (!figures.argumentBytes || !figures.tempBytes) return QS_FUSION_UNKNOWN;
    // A plugin that reports nothing leaves 0 for arguments and outputs. Every program of ours has both.
    if (*figures.argumentBytes == 0 && figures.outputBytes.value_or(0) == 0) return QS_FUSION_UNKNOWN;
    if (std::uint64_t(*figures.argumentBytes) < weights) return QS_FUSION_FOLDED;
    // Memory besides arguments and results. XLA's CPU plugin does not count temporaries in the peak; libtpu counts
    // large temporaries only there. So take the larger of both.
    const auto known = *figures.argumentBytes + figures.outputBytes.value_or(0);
    const auto beside = std::max(*figures.tempBytes, figures.peakBytes.value_or(0) - known);
    return beside >= std::int64_t(decoded) ? QS_FUSION_MATERIALISED : QS_FUSION_FUSED;
}

Kernel::Kernel(Client& client, Emitted program)
    : client_(client), program_(std::move(program)), compiled_(client.compile(program_.text)),
      figures_(compiled_->executable.figures()) {
    const auto outputs = compiled_->executable.outputs();
    if (!outputs.empty() && outputs != program_.results)
        throw Fault{QS_INTERNAL, "the PJRT plugin compiled a result of " + describe(outputs.front()) + " where " +
                                     describe(program_.results.front()) + " was asked for"};
}

void Kernel::uploadConstant(const void* data) {
    std::size_t index = 0, seen = 0;
    for (; index < program_.arguments.size(); ++index)
        if (!program_.arguments[index].perRun() && seen++ == sets_[0].size()) break;
    sets_[0].push_back(client_.upload(program_.arguments.at(index).spec, data));
}

void Kernel::setActivation(std::size_t index, const void* data) {
    std::size_t seen = 0;
    for (const auto& argument : program_.arguments)
        if (argument.perRun() && seen++ == index) {
            act_.resize(std::max(act_.size(), index + 1));
            act_[index] = client_.upload(argument.spec, data);
        }
}

void* Kernel::start(std::size_t set, std::vector<Owned>& outputs) const {
    std::vector<void*> arguments;
    std::size_t act = 0, constant = 0;
    for (const auto& argument : program_.arguments)
        arguments.push_back(argument.perRun() ? act_.at(act++).get() : sets_[set].at(constant++).get());
    return client_.execute(compiled_->executable, arguments, outputs, program_.results.size());
}

void Kernel::run() {
    outputs_.clear();
    client_.api().await(start(0, outputs_), "the run");
}

void Kernel::readResult(std::size_t index, void* out) const {
    client_.download(outputs_.at(index), program_.results.at(index), out);
}

void Kernel::copySets(std::size_t sets) {
    if (sets_.size() > sets) sets_.resize(sets); // frees copies that are not needed, because they are large
    if (sets_.size() == sets) return;
    std::vector<std::pair<const ArraySpec*, std::vector<std::byte>>> constants;
    for (const auto& argument : program_.arguments) {
        if (argument.perRun()) continue;
        std::vector<std::byte> bytes(argument.spec.bytes());
        client_.download(sets_[0].at(constants.size()), argument.spec, bytes.data());
        constants.emplace_back(&argument.spec, std::move(bytes));
    }
    while (sets_.size() < sets) {
        std::vector<Owned> copy;
        for (const auto& [spec, bytes] : constants) copy.push_back(client_.upload(*spec, bytes.data()));
        sets_.push_back(std::move(copy));
    }
}

void Kernel::sample(const BenchOptions& options, std::size_t& next) {
    // XLA's CPU client has several queues, so independent runs would overlap there. Each run is then awaited before the
    // next one starts.
    const bool serial = client_.platform() == "cpu";
    std::vector<std::vector<Owned>> outputs(options.chain);
    std::vector<void*> done;
    for (auto& out : outputs) {
        void* event = start(next++ % sets_.size(), out);
        if (serial)
            client_.api().await(event, "the run");
        else
            done.push_back(event);
    }
    for (void* event : done) client_.api().await(event, "the run");
    outputs_ = std::move(outputs.back());
}

std::vector<std::uint64_t> Kernel::bench(const BenchOptions& options, const ShouldStop& stop) {
    copySets(options.bufferSets);
    const auto check = [&] {
        if (stop()) throw Fault{QS_CANCELLED, "stopped"};
    };
    std::size_t next = 0;
    std::vector<std::uint64_t> samples;
    BenchOptions one = options;
    one.chain = 1;
    for (std::uint32_t i = 0; i < options.warmup; ++i) {
        check();
        sample(one, next);
    }
    const auto begin = nowNs();
    while (samples.size() < options.iterations) {
        check();
        if (!samples.empty() && millisecondsSince(begin) > options.maxSeconds * 1000) break;
        const auto start = nowNs();
        sample(options, next);
        samples.push_back((nowNs() - start) / options.chain);
    }
    return samples;
}

int Kernel::verdict() const {
    std::uint64_t codes = 0;
    for (const auto& argument : program_.arguments)
        if (argument.role == Role::Codes) codes += argument.spec.bytes();
    return fusionVerdict(figures_, codes, program_.decodedBytes);
}

std::uint64_t Kernel::weightBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& argument : program_.arguments)
        if (argument.role == Role::Codes || argument.role == Role::Scale || argument.role == Role::Table)
            bytes += argument.spec.bytes();
    return bytes;
}

} // namespace qs::pjrt
