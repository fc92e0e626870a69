// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/refused_tensors.h"
#include "core/layouts/stored.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"
#include "core/model/conventions/convention.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace qs {
namespace {

bool hasConfig(const Model& model) {
    std::error_code failed;
    return !model.folder.empty() &&
           std::filesystem::exists(std::filesystem::path(model.folder) / "config.json", failed);
}

/// The matrix as the layout's readers take it, by its address; and where it comes from.
struct TurnedMatrix {
    const TensorInfo* original = nullptr;
    std::shared_ptr<const TensorInfo> turned;
};
using TurnedMatrices = std::map<const TensorInfo*, TurnedMatrix>;

TurnedMatrices turnMatrices(const Model& model, const std::string& config, std::vector<TakenTensor>& taken) {
    TurnedMatrices all;
    const Conv1dLayers layers(model, config);
    for (TakenTensor& one : taken)
        if (layers.has(*one.tensor))
            if (const auto other = turned(model, *one.tensor))
                all[other.get()] = {std::exchange(one.tensor, other.get()), other};
    return all;
}

/// What is written of a model: its files with their tensors, and what the proof must know.
class Writing {
public:
    Writing(const Model& model, const QuantizeRequest& request, const Layout& layout, std::vector<TakenTensor> taken,
            std::shared_ptr<std::atomic<bool>> nonFinite, const Job& job)
        : model_(model), request_(request), layout_(layout), job_(job), taken_(std::move(taken)),
          fields_(model, layout, taken_, request.solve, std::move(nonFinite), job) {}

    Result<WrittenFiles> run() {
        if (layout_.config) {
            auto config = layout_.config(model_, taken_);
            if (!config) return tl::unexpected(config.error());
            finish_.config = std::move(*config);
        }
        turned_ = turnMatrices(model_, finish_.config, taken_);
        if (auto listed = listTensors(); !listed) return tl::unexpected(listed.error());
        finishShards();
        auto remarks = writingRemarks(layout_, written_.tensors);
        auto result = layout_.writeFiles
                          ? layout_.writeFiles(model_, std::move(shards_), request_.output, job_, finish_)
                          : writeModel(model_, std::move(shards_), request_.output, job_, finish_);
        if (!result) return result;
        result->quantizedTensors = taken_.size();
        result->copiedTensors = written_.tensors.size() - taken_.size();
        result->remarks = std::move(remarks);
        fields_.leave();
        for (std::uint32_t i = 0; i < taken_.size(); ++i)
            for (const std::string& warning : fields_.warningsOf(i))
                result->warnings.push_back(
                    fmt::format("Tensor '{}': {}.", escapeForPeople(taken_[i].tensor->name, 80), warning));
        return result;
    }

private:
    static constexpr std::uint32_t kCopied = ~std::uint32_t(0);

    /// For each tensor of the model, its place among the taken ones.
    std::vector<std::uint32_t> placesOfTaken() const {
        std::vector<std::uint32_t> places(model_.tensors.size(), kCopied);
        for (std::size_t i = 0; i < taken_.size(); ++i)
            places[std::size_t(originalOf(*taken_[i].tensor) - model_.tensors.data())] = std::uint32_t(i);
        return places;
    }
    const TensorInfo* originalOf(const TensorInfo& taken) const {
        const auto found = turned_.find(&taken);
        return found == turned_.end() ? &taken : found->second.original;
    }

    Result<void> listTensors() {
        shards_.resize(model_.files.size());
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            shards_[i].fileName = shardName(model_.files[i]);
            shards_[i].metadata = model_.files[i].metadata;
            shards_[i].metadata.erase(kConfigKey);
            // A description of a tensor that the model has as it is says nothing; in the output it would.
            std::erase_if(shards_[i].metadata, [&](const auto& entry) {
                return entry.first.starts_with(kStoredPrefix) &&
                       model_.find(std::string_view(entry.first).substr(kStoredPrefix.size()));
            });
        }
        written_.layout = &layout_;
        written_.tensors.reserve(model_.tensors.size());
        const auto places = placesOfTaken();
        expected_.resize(shards_.size());
        for (const TensorInfo& tensor : model_.tensors) ++expected_[tensor.file];
        for (std::size_t i = 0; i < places.size(); ++i) {
            const TensorInfo& tensor = model_.tensors[i];
            auto listed = places[i] == kCopied ? listCopy(tensor) : listQuantized(tensor, places[i]);
            if (!listed) return listed;
        }
        return {};
    }

    Result<void> listCopy(const TensorInfo& tensor) {
        auto copy = layout_.copy ? layout_.copy(model_, tensor) : copyOf(model_, tensor);
        if (!copy) return tl::unexpected(copy.error());
        written_.tensors.push_back({&tensor, nullptr, bytesOf(*copy)});
        shards_[tensor.file].tensors.push_back(std::move(*copy));
        return {};
    }

    Result<void> listQuantized(const TensorInfo& tensor, std::uint32_t place) {
        OutputShard& shard = shards_[tensor.file];
        const std::size_t before = shard.tensors.size();
        auto written = fields_.list(place, shard.tensors);
        if (!written) return tl::unexpected(written.error());
        // A list that grows takes up to three times the memory; most tensors have as many fields as this one.
        auto& expected = expected_[tensor.file];
        shard.tensors.reserve(before + std::exchange(expected, 0) * (shard.tensors.size() - before));
        written_.tensors.push_back(*written);
        if (layout_.describes) {
            const Solved* solved = (*fields_.of(place))->tensor.solved();
            shard.metadata[std::string(kStoredPrefix) + tensor.name] =
                storedText(tensor, taken_[place].spec(), layout_, solved && !solved->columnScales.empty());
        }
        return {};
    }

    void finishShards() {
        // What was decoded lies in the first of several files.
        std::erase_if(shards_, [](const OutputShard& shard) { return shard.tensors.empty(); });
        // A file alone has no config.json to say what its readers must know.
        if (!finish_.config.empty() && !shards_.empty() && !fileEnding(request_.output).empty())
            shards_.front().metadata[kConfigKey] =
                nlohmann::ordered_json::parse(finish_.config).at("quantization_config").dump();
        written_.fieldsOf = [this](const WrittenTensor& one) { return fields_.of(one.taken); };
        if (request_.prove)
            finish_.prove = [this](const std::string& path, const std::vector<LeftOut>& leftOut) {
                return request_.prove(path, written_, leftOut);
            };
        finish_.before = request_.before, finish_.after = request_.after, finish_.stage = request_.stage;
    }

    const Model& model_;
    const QuantizeRequest& request_;
    const Layout& layout_;
    const Job& job_;
    std::vector<TakenTensor> taken_;
    TurnedMatrices turned_;
    ModelFields fields_;
    std::vector<OutputShard> shards_;
    std::vector<std::size_t> expected_; ///< of each shard: tensors of the model, until its list has its size
    WrittenModel written_;
    Finish finish_;
};

} // namespace

Result<WrittenFiles> quantizeModel(const Model& model, const QuantizeRequest& request, const Job& job) {
    const auto found = requestedLayout(request);
    if (!found) return tl::unexpected(found.error());
    const Layout* layout = *found;
    if (auto ok = checkModel(model, *layout); !ok) return tl::unexpected(ok.error());
    WrittenFiles kept;
    auto taken = takenTensors(model, request, *layout, kept);
    if (!taken) return tl::unexpected(taken.error());
    if (request.skipRefused)
        if (auto ok = skipRefused(model, *layout, *taken, kept, job); !ok) return tl::unexpected(ok.error());
    if (layout->warns)
        if (auto warning = layout->warns(*taken); !warning.empty()) kept.warnings.push_back(std::move(warning));
    if (request.solve && request.columnScales && !layout->columnScales)
        return fail(fmt::format("the {} layout cannot hold what has a scale per column: use layout native or plain",
                                layout->id));
    // Solvers and what was trained take values that were looked at.
    const bool looksFirst = request.solve || std::any_of(taken->begin(), taken->end(),
                                                         [](const TakenTensor& one) { return isTrained(one.spec()); });
    if (auto ok =
            checkAll(model, request, *taken, *layout, looksFirst ? NonFinites::Before : NonFinites::WhileWritten, job);
        !ok)
        return tl::unexpected(ok.error());
    const auto nonFinite = looksFirst ? nullptr : std::make_shared<std::atomic<bool>>(false);
    auto result = Writing(model, request, *layout, std::move(*taken), nonFinite, job).run();
    if (!result && nonFinite && *nonFinite) {
        WrittenFiles ignored;
        const auto asked = takenTensors(model, request, *layout, ignored);
        if (!asked) return tl::unexpected(asked.error());
        if (auto ok = checkAll(model, request, *asked, *layout, NonFinites::Before, job); !ok)
            return tl::unexpected(ok.error());
    }
    if (!result) return result;
    result->keptByLayout = kept.keptByLayout, result->whyKept = std::move(kept.whyKept);
    if (layout->config && fileEnding(request.output).empty() && !hasConfig(model))
        kept.warnings.push_back("The source has no config.json: the one that was written says how the weights are "
                                "quantized and nothing of the network, whose own loaders need too.");
    result->skipped = std::move(kept.skipped);
    result->warnings.insert(result->warnings.begin(), kept.warnings.begin(), kept.warnings.end());
    return result;
}

} // namespace qs
