// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/sensitivity_run.h"

#include "core/base/cache_folder.h"
#include "core/base/text.h"
#include "core/eval/run/self_noise.h"
#include "core/eval/sensitivity/noise.h"
#include "core/quant/encode/quantizer.h"
#include "core/report/report.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// Of the arithmetic of runs and of the numbers that are kept of them.
constexpr int kRecordsVersion = 2;

/// Everything on which all runs of a model and a text depend.
Result<std::string> aboutRuns(const Model& model, const SensitivityPlan& plan, const ScoredText& scored,
                              const Job& job) {
    std::string out = fmt::format("runs {}\n", kRecordsVersion);
    for (const auto& [key, value] : machineProvenance())
        if (key == "version" || key == "formats_version" || key == "isa") out += key + " " + value + "\n";
    std::vector<std::string> paths;
    for (const ModelFile& file : model.files) paths.push_back(file.path);
    std::error_code error;
    const auto config = std::filesystem::path(model.files.front().path).parent_path() / "config.json";
    if (std::filesystem::is_regular_file(config, error)) paths.push_back(config.string());
    for (const std::string& path : paths) {
        const auto hash = sha256OfFile(path, job);
        if (!hash) return tl::unexpected(hash.error());
        out += *hash + "\n";
    }
    for (std::size_t i = 0; i <= scored.inputs && i < plan.text.tokens.size(); ++i)
        out += fmt::format("{} ", plan.text.tokens[i]);
    return out + fmt::format("\ncontext {} scored {} first {}\n", plan.context, int(plan.scored),
                             plan.text.first.value_or(-1));
}

/// Changes the matrices of some units, as another change says.
WeightChange within(WeightChange change, std::set<const TensorInfo*> tensors) {
    change.touches = [all = std::move(change.touches), tensors = std::move(tensors)](const TensorInfo& tensor) {
        return tensors.contains(&tensor) && all(tensor);
    };
    return change;
}

std::set<const TensorInfo*> tensorsOf(const Unit& unit) {
    std::set<const TensorInfo*> out;
    for (const LayerMatrix& matrix : unit.matrices) out.insert(matrix.tensor);
    return out;
}

} // namespace

std::string defaultSensitivityCache() {
    const std::string folder = cacheFolder();
    return folder.empty() ? folder : folder + "/sensitivity";
}

Result<std::unique_ptr<SensitivityRun>> SensitivityRun::of(std::shared_ptr<const Model> model,
                                                           const SensitivityPlan& plan, const Job& job) {
    std::unique_ptr<SensitivityRun> out(new SensitivityRun(model, plan));
    auto network = readNetwork(*model);
    if (!network) return tl::unexpected(network.error());
    out->network_ = std::move(*network);
    auto weights = NetworkWeights::of(model, *out->network_);
    if (!weights) return tl::unexpected(weights.error());
    out->weights_.emplace(std::move(*weights));
    std::vector<LayerMatrix> matrices;
    for (const LayerMatrix& matrix : out->weights_->matrices())
        if (!plan.takes || plan.takes(*matrix.tensor)) matrices.push_back(matrix);
    out->units_ = unitsOf(matrices, *plan.by);
    if (out->units_.empty())
        return fail(fmt::format("No matrix of a layer of {} is selected; --tensor must match one.",
                                escapeForPeople(model->title, 100)),
                    model->path);
    if (plan.how->needsSpecs && plan.specs.empty())
        return fail(fmt::format("\"{}\" measures specs: name one with --spec.", plan.how->id));
    auto scored = scoredText(plan.text.tokens, plan.context, plan.chunks, plan.scored, *out->network_);
    if (!scored) return tl::unexpected(scored.error());
    out->scored_ = std::move(*scored);
    if (auto fine = checkTokens(inputsOf(plan.text, out->scored_.inputs, plan.context), plan.context, *out->network_);
        !fine)
        return tl::unexpected(fine.error());
    out->result_.tokens = out->scored_.inputs, out->result_.chunks = out->scored_.chunks;
    const auto about = plan.cache.empty() ? Result<std::string>() : aboutRuns(*model, plan, out->scored_, job);
    if (!about) return tl::unexpected(about.error());
    auto records = Records::open(plan.cache, *about);
    if (!records) return tl::unexpected(records.error());
    out->records_ = std::move(*records);
    auto head = Head::load(*out->network_, *out->weights_, nullptr, job);
    if (!head) return tl::unexpected(head.error());
    out->head_.emplace(std::move(*head));
    return out;
}

SensitivityRow SensitivityRun::rowOf(const Unit& unit, const QuantSpec* spec) const {
    SensitivityRow row;
    row.unit = unit.name, row.isTensor = unit.matrices.size() == 1 && unit.matrices.front().tensor->name == unit.name;
    for (const LayerMatrix& matrix : unit.matrices) row.tensors.push_back(matrix.tensor->name);
    row.layer = unit.layer, row.role = unit.role, row.how = plan_.how->id;
    if (spec) row.spec = specText(*spec);
    return row;
}

void SensitivityRun::put(std::size_t unit, std::size_t spec, SensitivityRow row) {
    if (plan_.arrived) plan_.arrived(row);
    rows_[{unit, spec}] = std::move(row);
}

Sensitivity SensitivityRun::result() const {
    Sensitivity out = result_;
    for (const auto& [place, row] : rows_) out.rows.push_back(row);
    return out;
}

Result<std::optional<double>> SensitivityRun::nmseOf(const Unit& unit, const QuantSpec& spec, const Job& job) {
    double error = 0, power = 0;
    for (const LayerMatrix& matrix : unit.matrices) {
        const auto view = model_->view(*matrix.tensor);
        if (!view) return tl::unexpected(view.error());
        const auto sums = squaredError(*matrix.tensor, *view, quantizedAs(spec), job);
        if (!sums) return tl::unexpected(sums.error());
        error += sums->error, power += sums->power;
    }
    return power > 0 ? std::optional(error / power) : std::nullopt;
}

Branch SensitivityRun::quantized(const Unit& unit, const QuantSpec& spec) const {
    WeightChange change = quantizedAs(spec);
    std::string key = "quantized " + change.detail;
    for (const LayerMatrix& matrix : unit.matrices) key += "\n" + matrix.tensor->name;
    return {within(std::move(change), tensorsOf(unit)), unit.layers(), std::move(key)};
}

Result<BranchResult> SensitivityRun::allAtOnce(const QuantSpec& spec, const Job& job) {
    Unit all{"all matrices", {}, -1, {}};
    for (const Unit& unit : units_) all.matrices.insert(all.matrices.end(), unit.matrices.begin(), unit.matrices.end());
    BranchResult out;
    const auto keep = [&](std::size_t, const BranchResult& result) -> Result<void> {
        out = result;
        return {};
    };
    if (auto done = score(nullptr, {quantized(all, spec)}, keep, job); !done) return tl::unexpected(done.error());
    return out;
}

Result<double> SensitivityRun::floor(const Job& job) {
    if (floor_) return *floor_;
    Branch branch{inAnotherOrder(), {}, "floor"};
    for (std::size_t layer = 0; layer < network_->layers.size(); ++layer) branch.layers.insert(layer);
    const auto keep = [&](std::size_t, const BranchResult& result) -> Result<void> {
        if (!result.reason.empty()) return fail(result.reason);
        const auto mean = divergenceOf(result.scores);
        floor_ = mean ? std::max(0.0, mean->mean) : 0;
        return {};
    };
    if (auto done = score(nullptr, {std::move(branch)}, keep, job); !done) return tl::unexpected(done.error());
    return *floor_;
}

} // namespace qs::eval
