// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/architecture.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/network/families/family.h"
#include "core/model/conventions/convention.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::eval {
namespace {

bool isOf(const Architecture& row, Config& config) {
    if (!config.isGguf()) return std::count(row.modelTypes.begin(), row.modelTypes.end(), config.modelType()) > 0;
    return row.gguf == config.modelType() && row.hasExperts == config.has("num_experts");
}

} // namespace

std::span<const Architecture> architectures() {
    static const Architecture rows[] = {kLlamaRow,    kMistralRow, kMixtralRow, kQwen2Row, kQwen3Row,
                                        kQwen3MoeRow, kSmollm3Row, kOlmo2Row,   kPhi3Row,  kGemmaRow,
                                        kGemma2Row,   kGemma3Row,  kGpt2Row,    kBertRow};
    return rows;
}

std::span<const FusedWeight> fusedWeights() {
    static constexpr WeightRole kAttention[] = {WeightRole::Query, WeightRole::Key, WeightRole::Value};
    static constexpr WeightRole kMlp[] = {WeightRole::Gate, WeightRole::Up};
    static constexpr WeightRole kExperts[] = {WeightRole::ExpertGate, WeightRole::ExpertUp};
    static constexpr FusedWeight kRows[] = {
        {WeightRole::QueryKeyValue, kAttention}, {WeightRole::GateUp, kMlp}, {WeightRole::ExpertGateUp, kExperts}};
    return kRows;
}

Result<Network> readNetwork(const Model& model) {
    auto config = Config::of(model);
    if (!config) return tl::unexpected(config.error());
    const auto rows = architectures();
    const auto row = std::ranges::find_if(rows, [&](const Architecture& a) { return isOf(a, *config); });
    if (row == rows.end()) {
        std::vector<std::string_view> known;
        for (const auto& architecture : rows) known.push_back(architecture.title);
        return fail(fmt::format("{} is a network of type {}, which cannot be evaluated: known are {}.",
                                shownPath(model.path), quotedName(config->modelType()), fmt::join(known, ", ")),
                    model.path);
    }
    if (auto fine = checkTransforms(model); !fine) return tl::unexpected(fine.error());
    Network net = row->read(*config);
    net.architecture = &*row;
    if (auto read = config->finish(); !read) return tl::unexpected(read.error());
    return net;
}

} // namespace qs::eval
