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
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

namespace qs {
namespace {

bool hasConfig(const Model& model) {
    std::error_code failed;
    return !model.folder.empty() &&
           std::filesystem::exists(std::filesystem::path(model.folder) / "config.json", failed);
}

template<class Bits> std::uint64_t nonFinitesIn(std::span<const std::byte> bytes, Bits exponent) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
        Bits value;
        std::memcpy(&value, &bytes[at], sizeof value);
        count += (value & exponent) == exponent;
    }
    return count;
}
/// NaN and Inf among whole values of a type; 0 for types of less than 16 bits.
std::uint64_t nonFinitesIn(DType dtype, std::span<const std::byte> bytes) {
    switch (dtype) {
    case DType::F16: return nonFinitesIn<std::uint16_t>(bytes, 0x7c00);
    case DType::BF16: return nonFinitesIn<std::uint16_t>(bytes, 0x7f80);
    case DType::F32: return nonFinitesIn<std::uint32_t>(bytes, 0x7f800000);
    case DType::F64: return nonFinitesIn<std::uint64_t>(bytes, 0x7ff0000000000000);
    default: return 0;
    }
}

/// The matrix as the layout's readers take it, by its address; and where it comes from.
struct TurnedMatrix {
    const TensorInfo* original = nullptr;
    std::shared_ptr<const TensorInfo> turned;
};
using TurnedMatrices = std::map<const TensorInfo*, TurnedMatrix>;

TurnedMatrices turnMatrices(const Model& model, const Layout& layout, std::vector<TakenTensor>& taken) {
    TurnedMatrices all;
    for (TakenTensor& one : taken)
        if (isTurned(layout, *one.tensor))
            if (const auto other = turned(model, *one.tensor))
                all[other.get()] = {std::exchange(one.tensor, other.get()), other};
    return all;
}

/// What is written of a model: its files with their tensors, and what the proof must know.
class Writing final : private TensorMaker {
public:
    Writing(const Model& model, const QuantizeRequest& request, const Layout& layout, std::vector<TakenTensor> taken,
            std::string config, std::shared_ptr<std::atomic<bool>> nonFinite, const Job& job)
        : model_(model), request_(request), layout_(layout), job_(job), taken_(std::move(taken)),
          fields_(model, layout, taken_, request.solve, std::move(nonFinite), job) {
        finish_.config = std::move(config);
    }

    Result<WrittenFiles> run() {
        turned_ = turnMatrices(model_, layout_, taken_);
        if (auto listed = listTensors(); !listed) return tl::unexpected(listed.error());
        finishShards();
        auto remarks = writingRemarks(layout_, written_.tensors);
        auto result = layout_.writeFiles
                          ? layout_.writeFiles(model_, std::move(shards_), request_.output, job_, finish_)
                          : writeModel(model_, std::move(shards_), request_.output, job_, finish_);
        if (!result) return result;
        result->quantizedTensors = taken_.size();
        result->copiedTensors = model_.tensors.size() - taken_.size();
        result->remarks.insert(result->remarks.begin(), remarks.begin(), remarks.end());
        if (auto sentence = nonFinitesSentence(); !sentence.empty()) result->warnings.push_back(std::move(sentence));
        fields_.leave();
        for (std::uint32_t i = 0; i < taken_.size(); ++i)
            for (const std::string& warning : fields_.warningsOf(i))
                result->warnings.push_back(
                    fmt::format("Tensor '{}': {}.", escapeForPeople(taken_[i].tensor->name, 80), warning));
        return result;
    }

private:
    static constexpr std::uint32_t kCopied = ~std::uint32_t(0);

    // The sources of the lists are the tensors of the model.
    std::string_view nameOf(std::uint32_t source) const override { return model_.tensors[source].name; }
    Result<TensorToWrite> make(std::uint32_t source, std::uint32_t field) override {
        return places_[source] == kCopied ? copy(model_.tensors[source]) : fields_.field(places_[source], field);
    }
    std::pair<std::string, std::string> metadataOf(std::uint32_t source) const override {
        const TensorInfo& tensor = model_.tensors[source];
        const std::uint32_t place = places_[source];
        return {std::string(kStoredPrefix) + tensor.name,
                storedText(tensor, taken_[place].spec(), layout_, fields_.hasColumnScales(place))};
    }

    Result<TensorToWrite> copy(const TensorInfo& tensor) {
        auto out = layout_.copy ? layout_.copy(model_, tensor) : copyOf(model_, tensor);
        if (!out || out->packed) return out;
        out->produce = [this, &tensor, dtype = out->dtype,
                        produce = std::move(out->produce)](const TensorToWrite::Sink& sink) {
            std::uint64_t count = 0;
            auto done = produce([&](std::span<const std::byte> piece) {
                count += nonFinitesIn(dtype, piece);
                return sink(piece);
            });
            const std::lock_guard lock(nonFinitesMutex_);
            if (count > 0) nonFinites_[&tensor] = count; // it may be written twice
            return done;
        };
        return out;
    }
    std::string nonFinitesSentence() const {
        std::uint64_t values = 0;
        for (const auto& [tensor, count] : nonFinites_) values += count;
        if (values == 0) return {};
        return fmt::format("{} of the copied tensors hold{} {} values that are NaN or infinite, such as '{}'.",
                           nonFinites_.size(), nonFinites_.size() == 1 ? "s" : "", values,
                           escapeForPeople(nonFinites_.begin()->first->name, 80));
    }
    const TensorInfo* originalOf(const TensorInfo& taken) const {
        const auto found = turned_.find(&taken);
        return found == turned_.end() ? &taken : found->second.original;
    }

    Result<void> listTensors() {
        places_.assign(model_.tensors.size(), kCopied);
        for (std::size_t i = 0; i < taken_.size(); ++i)
            places_[std::size_t(originalOf(*taken_[i].tensor) - model_.tensors.data())] = std::uint32_t(i);
        for (const ModelFile& file : model_.files) {
            OutputShard& shard = shards_.emplace_back(shardName(file), TensorsToWrite(*this), metadataToCopy(file));
            forgetDecoded(model_, shard.metadata);
            // A description of a tensor that the model has as it is says nothing; in the output it would.
            std::erase_if(shard.metadata, [&](const auto& entry) {
                return entry.first.starts_with(kStoredPrefix) &&
                       model_.find(std::string_view(entry.first).substr(kStoredPrefix.size()));
            });
        }
        expected_.resize(shards_.size());
        for (const TensorInfo& tensor : model_.tensors) ++expected_[tensor.file];
        bytes_.reserve(places_.size());
        std::size_t written = 0;
        for (std::uint32_t i = 0; i < places_.size(); ++i) {
            if (job_.cancelled()) return cancelledError();
            const TensorsToWrite& list = shards_[model_.tensors[i].file].tensors;
            const std::size_t before = list.size();
            auto bytes = places_[i] == kCopied ? listCopy(i) : listQuantized(i);
            written += list.size() - before;
            if (!bytes) return tl::unexpected(bytes.error());
            bytes_.push_back(*bytes);
            if (auto fine = checkCount(model_, layout_, written); !fine) return fine;
        }
        written_.layout = &layout_;
        written_.tensors = {places_.size(), [this](std::size_t i) {
                                const std::uint32_t place = places_[i];
                                if (place == kCopied) return WrittenTensor{&model_.tensors[i], nullptr, bytes_[i]};
                                return WrittenTensor{taken_[place].tensor, &taken_[place].spec(), bytes_[i], place};
                            }};
        return {};
    }

    Result<std::uint64_t> listCopy(std::uint32_t source) {
        const TensorInfo& tensor = model_.tensors[source];
        const auto copied = copy(tensor);
        if (!copied) return tl::unexpected(copied.error());
        shards_[tensor.file].tensors.add(source, 0, copied->name, {copied->dtype, copied->shape, copied->packed});
        return bytesOf(*copied);
    }

    Result<std::uint64_t> listQuantized(std::uint32_t source) {
        const std::uint32_t file = model_.tensors[source].file;
        TensorsToWrite& list = shards_[file].tensors;
        const std::size_t before = list.size();
        auto bytes = fields_.list(places_[source], source, list);
        if (!bytes) return bytes;
        // A list that grows takes up to three times the memory; most tensors have as many fields as this one.
        const std::size_t expected = std::exchange(expected_[file], 0);
        list.reserve(before + expected * (list.size() - before), expected);
        if (layout_.describes) list.describe(source);
        return bytes;
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
        finish_.copyAll = request_.copyAll;
    }

    const Model& model_;
    const QuantizeRequest& request_;
    const Layout& layout_;
    const Job& job_;
    std::vector<TakenTensor> taken_;
    TurnedMatrices turned_;
    ModelFields fields_;
    std::vector<std::uint32_t> places_; ///< of each tensor of the model, among the taken ones
    std::vector<std::uint64_t> bytes_;  ///< of each tensor of the model, as predicted
    std::vector<OutputShard> shards_;
    std::mutex nonFinitesMutex_;
    std::map<const TensorInfo*, std::uint64_t> nonFinites_; ///< of copied tensors that have some
    std::vector<std::size_t> expected_; ///< of each shard: tensors of the model, until its list has its size
    WrittenModel written_;
    Finish finish_;
};

} // namespace

Result<WrittenFiles> quantizeModel(const Model& opened, const QuantizeRequest& request, const Job& job) {
    if (auto whole = checkWhole(opened, request.allowMissing); !whole) return tl::unexpected(whole.error());
    const auto readable = readableOf(opened);
    if (readable && request.solve) return fail("A solver takes only models whose tensors can all be read.");
    const Model& model = readable ? *readable : opened;
    const auto found = requestedLayout(request);
    if (!found) return tl::unexpected(found.error());
    const Layout* layout = *found;
    if (auto ok = checkModel(model, *layout); !ok) return tl::unexpected(ok.error());
    WrittenFiles kept;
    auto taken = takenTensors(model, request, *layout, kept);
    if (!taken) return tl::unexpected(taken.error());
    if (request.skipRefused)
        if (auto ok = skipRefused(model, *layout, *taken, kept, job); !ok) return tl::unexpected(ok.error());
    // Solvers and what was trained take values that were looked at.
    const bool looksFirst = request.solve || std::any_of(taken->begin(), taken->end(),
                                                         [](const TakenTensor& one) { return isTrained(one.spec()); });
    const auto each = [&](const Model& source) -> Result<void> {
        if (layout->warns)
            if (auto warning = layout->warns(*taken); !warning.empty()) kept.warnings.push_back(std::move(warning));
        for (const TakenTensor& one : *taken)
            if (const std::string added = addedText(*one.tensor); !added.empty())
                kept.warnings.push_back(fmt::format("Tensor '{}': {}.", escapeForPeople(one.tensor->name, 80), added));
        if (request.solve && request.columnScales && !layout->columnScales)
            return fail(fmt::format("the {} layout cannot hold what has a scale per column: use layout native or plain",
                                    layout->id));
        return checkAll(source, request, *taken, *layout, looksFirst ? NonFinites::Before : NonFinites::WhileWritten,
                        job);
    };
    auto together = takenTogether(model, *taken, *layout, each);
    if (!together) return tl::unexpected(together.error());
    const Model& source = together->stacked ? *together->stacked : model;
    const auto nonFinite = looksFirst ? nullptr : std::make_shared<std::atomic<bool>>(false);
    auto result =
        Writing(source, request, *layout, std::move(*taken), std::move(together->config), nonFinite, job).run();
    if (!result && nonFinite && *nonFinite) {
        WrittenFiles ignored;
        const auto asked = takenTensors(model, request, *layout, ignored);
        if (!asked) return tl::unexpected(asked.error());
        if (auto ok = checkAll(model, request, *asked, *layout, NonFinites::Before, job); !ok)
            return tl::unexpected(ok.error());
    }
    if (!result) return result;
    result->kept = std::move(kept.kept);
    if (layout->config && fileEnding(request.output).empty() && !hasConfig(model))
        kept.warnings.push_back("The source has no config.json: the one that was written says how the weights are "
                                "quantized and nothing of the network, whose own loaders need too.");
    if (auto sentence = leftOutSentence(model); !sentence.empty()) kept.warnings.push_back(std::move(sentence));
    result->skipped = std::move(kept.skipped);
    result->warnings.insert(result->warnings.begin(), kept.warnings.begin(), kept.warnings.end());
    return result;
}

} // namespace qs
