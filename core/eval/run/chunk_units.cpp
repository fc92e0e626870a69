// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/chunk_units.h"

#include "core/base/text.h"
#include "core/eval/network/served_matrix.h"
#include "core/records/input_hash.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

/// Everything that the weights of a change depend on.
Result<std::string> keyOfChange(const Model& model, const WeightChange& change, const Job& job) {
    std::string out = fmt::format("{}\n{}\n{}\n", change.name, change.detail, change.everywhere);
    if (change.server) out += "on " + change.server->title() + "\n";
    if (change.network) {
        const auto hash = hashOfModel(*change.network, job);
        if (!hash) return tl::unexpected(hash.error());
        return out + *hash + "\n";
    }
    if (!change.specOf) return out;
    for (const TensorInfo& tensor : model.tensors) {
        const QuantSpec* spec = change.touches && change.touches(tensor) ? change.specOf(tensor) : nullptr;
        if (spec) out += tensor.name + " " + canonicalText(*spec) + "\n";
    }
    return out;
}

} // namespace

Result<std::string> keyOfChunks(const Model& model, const EvaluationPlan& plan, const Job& job) {
    auto key = hashOfModel(model, job);
    if (!key) return key;
    *key +=
        fmt::format("\ncontext {} scored {} first {} frame {} {} reference {}\n", plan.context, int(plan.scored),
                    plan.text.first.value_or(-1), plan.text.frame ? plan.text.frame->first : -1,
                    plan.text.frame ? plan.text.frame->second : -1, plan.reference ? plan.reference->vocabulary : 0);
    for (const WeightChange& change : plan.changes) {
        const auto one = keyOfChange(model, change, job);
        if (!one) return one;
        *key += sha256OfText(*one) + "\n";
    }
    return sha256OfText(*key);
}

std::string keyOfChunk(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunk) {
    std::string out = fmt::format("\nchunk {}", chunk);
    for (std::size_t i = chunk * context; i <= (chunk + 1) * context && i < tokens.size(); ++i)
        out += fmt::format(" {}", tokens[i]);
    return out;
}

std::string nameOfChunk(const EvaluationPlan& plan, std::size_t chunk) {
    std::string out = fmt::format("chunk {}", chunk + 1);
    if (plan.changes.empty()) return out;
    out += " under " + escapeForPeople(plan.changes.front().name, 60);
    return plan.changes.size() == 1 ? out : out + fmt::format(" and {} more", plan.changes.size() - 1);
}

} // namespace qs::eval
