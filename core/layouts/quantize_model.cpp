// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/offers.h"
#include "core/layouts/produce.h"
#include "core/layouts/refused_filter.h"
#include "core/layouts/serve.h"
#include "core/layouts/stored.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"
#include "core/model/conventions/convention.h"
#include "core/quant/encode/pass.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace qs {
namespace {

/// When NaN and Inf are looked for: reading all values for that alone takes as long as writing small codes.
enum class NonFinites { Before, WhileWritten };

/// Why a taken tensor cannot be written; "" when it can.
Result<std::string> refusal(const Model& model, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout,
                            NonFinites when, const Job& job) {
    if (auto ok = checkWritable(tensor, spec, layout); !ok) return ok.error().message;
    if (spec.effectiveNan() == NanPolicy::Skip || when == NonFinites::WhileWritten) return std::string();
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const auto found = countNotTaken(forScan(*view, kReadBytes), spec, job);
    if (!found) return tl::unexpected(found.error());
    return found->any() ? notTakenReason(tensor, spec, *found) : std::string();
}

/// The same, or that it is a field of a stored tensor: the scales of codes that stay would no longer be those that their
/// reader looks for. `fields`: storedFields() of the model.
Result<std::string> whyRefused(const Model& model, const TakenTensor& taken, const Layout& layout, NonFinites when,
                               const std::map<std::string, std::string>& fields, const Job& job) {
    const auto part = fields.find(taken.tensor->name);
    if (part != fields.end()) return partReason(*taken.tensor, part->second);
    return refusal(model, *taken.tensor, taken.spec(), layout, when, job);
}

/// What would do for all tensors that were asked for under the spec of the refused one; none where no other spec helps.
std::vector<QuantSpec> offersFor(const Model& model, const QuantizeRequest& request,
                                 const std::vector<TakenTensor>& taken, const TensorInfo& refused,
                                 const Layout& layout) {
    const auto found =
        std::find_if(taken.begin(), taken.end(), [&](const TakenTensor& one) { return one.tensor == &refused; });
    if (found == taken.end() || layout.accepts(found->spec(), refused.shape)) return {};
    const auto asked = askedTensors(model, request);
    if (!asked) return {};
    std::map<std::string_view, const QuantSpec*> specs; // before forTensor(), which differs from tensor to tensor
    for (const AskedTensor& one : *asked) specs[one.tensor->name] = one.spec;
    const QuantSpec* wanted = specs[refused.name];
    if (!wanted) return {};
    std::vector<const TensorInfo*> tensors;
    for (const TakenTensor& one : taken)
        if (const QuantSpec* spec = specs[one.tensor->name]; spec && *spec == *wanted) tensors.push_back(one.tensor);
    return specsThatFit(*wanted, tensors, &layout);
}

/// A refusal counts all tensors that are refused, whenever the first of them is met.
Result<void> checkAll(const Model& model, const QuantizeRequest& request, const std::vector<TakenTensor>& taken,
                      const Layout& layout, NonFinites when, const Job& job) {
    std::vector<const TensorInfo*> refused, all;
    std::string first;
    const auto fields = storedFields(model);
    for (const TakenTensor& one : taken) {
        if (job.cancelled()) return cancelledError();
        all.push_back(one.tensor);
        auto why = whyRefused(model, one, layout, when, fields, job);
        if (!why) return tl::unexpected(why.error());
        if (why->empty()) continue;
        if (refused.empty()) first = std::move(*why);
        refused.push_back(one.tensor);
    }
    if (refused.empty()) return {};
    if (when == NonFinites::WhileWritten) return checkAll(model, request, taken, layout, NonFinites::Before, job);
    first += offersText(offersFor(model, request, taken, *refused.front(), layout));
    const std::string filter = filterWithout(model, all, refused);
    std::string message = fmt::format("{}: {} of {} tensors cannot be quantized, nothing was written; {}",
                                      escapeForPeople(model.path, 160), refused.size(), taken.size(), first);
    if (!filter.empty()) message += fmt::format("; --tensor '{}' leaves them out", filter);
    return fail(std::move(message));
}

/// Leaves the refused ones out and notes them. Fails when none is left.
Result<void> skipRefused(const Model& model, const Layout& layout, std::vector<TakenTensor>& taken, WrittenFiles& kept,
                         const Job& job) {
    std::vector<TakenTensor> fine;
    const auto fields = storedFields(model);
    for (TakenTensor& one : taken) {
        if (job.cancelled()) return cancelledError();
        auto why = whyRefused(model, one, layout, NonFinites::Before, fields, job);
        if (!why) return tl::unexpected(why.error());
        if (why->empty())
            fine.push_back(std::move(one));
        else
            kept.skipped.push_back({one.tensor->name, std::move(*why)});
    }
    if (fine.empty())
        return fail(fmt::format("{}: all {} tensors are refused, nothing was written; {}",
                                escapeForPeople(model.path, 160), taken.size(), kept.skipped.front().reason));
    taken = std::move(fine);
    return {};
}

/// What was measured of a tensor, and the descriptor that it is read by, go when a field of another one is written.
using Measured = std::shared_ptr<std::weak_ptr<Source>>;
void dropWhenOthersAreWritten(const Measured& last, const std::shared_ptr<Source>& source,
                              std::vector<TensorToWrite>& fields) {
    for (TensorToWrite& field : fields)
        field.produce = [last, source, produce = std::move(field.produce)](const TensorToWrite::Sink& sink) {
            if (const auto before = last->lock(); before && before != source) before->pass.reset();
            *last = source;
            return produce(sink);
        };
}

bool hasConfig(const Model& model) {
    std::error_code failed;
    return !model.folder.empty() &&
           std::filesystem::exists(std::filesystem::path(model.folder) / "config.json", failed);
}

/// What a tensor becomes: its fields, the record of them, and whether columns have scales of their own.
struct Parts {
    std::vector<TensorToWrite> tensors;
    WrittenTensor record;
    bool columnScales = false;
};
Result<Parts> partsOf(const Model& model, const TakenTensor& taken, const QuantizeRequest& request,
                      const Layout& layout, const Measured& last, const std::shared_ptr<std::atomic<bool>>& nonFinite,
                      const Job& job) {
    const auto view = model.view(*taken.tensor);
    if (!view) return tl::unexpected(view.error());
    auto source = makeSource(*view, taken.spec(), job);
    if (!source) return tl::unexpected(source.error());
    Parts parts;
    if (request.solve) {
        auto solved = request.solve(*view);
        if (!solved) return tl::unexpected(solved.error());
        parts.columnScales = !(*solved)->columnScales.empty();
        (*source)->solved = std::move(*solved);
    }
    if (taken.spec().effectiveNan() != NanPolicy::Skip) (*source)->nonFinite = nonFinite;
    auto tensors = layout.writeFrom ? layout.writeFrom(*source) : layout.write(*view, taken.spec(), job);
    if (!tensors) return tl::unexpected(tensors.error());
    parts.tensors = std::move(*tensors);
    dropWhenOthersAreWritten(last, *source, parts.tensors);
    produceTogether(*source, parts.tensors);
    parts.record = {taken.tensor, std::move(*source), {}, &layout, 0, &taken.spec()};
    for (const TensorToWrite& tensor : parts.tensors) {
        parts.record.fields.push_back(tensor.name);
        parts.record.bytes += bytesOf(tensor);
    }
    return parts;
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

// Of a tensor that is written, kilobytes are kept until it is proved; of very many small ones little more than the names
// of what they become. The rest is made when they are written, and again for their proof.
constexpr std::size_t kManyTaken = 1024;
constexpr std::uint64_t kMadeAgain = std::uint64_t(1) << 16; ///< elements: reading larger ones anew takes time

class MadeAgain {
public:
    MadeAgain(const std::vector<TakenTensor>& taken, std::function<Result<Parts>(const TakenTensor&)> make)
        : taken_(taken), make_(std::move(make)) {}

    /// Of the tensor at a place of `taken`, until another one is asked for.
    Result<Parts*> of(std::uint32_t index) {
        if (!parts_ || index_ != index) {
            leave();
            auto made = make_(taken_[index]);
            if (!made) return tl::unexpected(made.error());
            parts_ = std::move(*made), index_ = index;
        }
        return &*parts_;
    }
    TensorToWrite field(std::uint32_t index, std::uint32_t number, const TensorToWrite& like) {
        const auto produce = [this, index, number](const TensorToWrite::Sink& sink) -> Result<void> {
            auto parts = of(index);
            return parts ? (*parts)->tensors[number].produce(sink) : tl::unexpected(parts.error());
        };
        static_assert(sizeof produce <= 2 * sizeof(void*)); // kept without an allocation
        return {like.name, like.dtype, like.shape, produce, like.packed};
    }
    WrittenTensor record(std::uint32_t index, const WrittenTensor& like) {
        WrittenTensor out{like.original, nullptr, {}, like.layout, like.bytes, &taken_[index].spec()};
        out.again = [this, index]() -> Result<std::pair<std::shared_ptr<Source>, std::vector<std::string>>> {
            auto parts = of(index);
            if (!parts) return tl::unexpected(parts.error());
            return std::pair((*parts)->record.source, (*parts)->record.fields);
        };
        return out;
    }
    /// What was measured of the last one goes; what had to be said of it stays.
    void leave() {
        if (parts_ && !parts_->record.source->warnings.empty())
            warnings_.try_emplace(taken_[index_].tensor, parts_->record.source->warnings);
        parts_.reset();
    }
    const std::vector<std::string>& warningsOf(const TensorInfo* tensor) const {
        static const std::vector<std::string> none;
        const auto found = warnings_.find(tensor);
        return found == warnings_.end() ? none : found->second;
    }

private:
    const std::vector<TakenTensor>& taken_;
    std::function<Result<Parts>(const TakenTensor&)> make_;
    std::optional<Parts> parts_;
    std::uint32_t index_ = 0;
    std::map<const TensorInfo*, std::vector<std::string>> warnings_;
};

/// The source's name, as a file of safetensors.
std::string shardName(const ModelFile& file) {
    std::string name = std::filesystem::path(file.path).filename().replace_extension(".safetensors").string();
    if (name.starts_with("pytorch_model") && file.path.ends_with(".bin")) name.erase(0, 8); // where loaders look
    return name;
}

/// All tensors in a layout that takes them; `nonFinite` is set where that fails for a NaN or Inf.
Result<WrittenFiles> writeTaken(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                std::vector<TakenTensor> taken, const std::shared_ptr<std::atomic<bool>>& nonFinite,
                                const Job& job) {
    Finish finish;
    if (layout.config) {
        auto config = layout.config(model, taken);
        if (!config) return tl::unexpected(config.error());
        finish.config = std::move(*config);
    }
    const auto turnedOnes = turnMatrices(model, finish.config, taken);

    constexpr std::uint32_t notTaken = ~std::uint32_t(0);
    std::vector<std::uint32_t> takenOf(model.tensors.size(), notTaken); // places in `taken`
    for (std::size_t i = 0; i < taken.size(); ++i) {
        const auto original = turnedOnes.find(taken[i].tensor);
        const TensorInfo* is = original == turnedOnes.end() ? taken[i].tensor : original->second.original;
        takenOf[std::size_t(is - model.tensors.data())] = std::uint32_t(i);
    }
    std::vector<OutputShard> shards(model.files.size());
    std::vector<WrittenTensor> records;
    records.reserve(model.tensors.size());
    std::uint64_t copies = 0;
    const auto last = std::make_shared<std::weak_ptr<Source>>();
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].fileName = shardName(model.files[i]);
        shards[i].metadata = model.files[i].metadata;
        shards[i].metadata.erase(kConfigKey);
    }
    const auto make = [&](const TakenTensor& one) {
        auto parts = partsOf(model, one, request, layout, last, nonFinite, job);
        const auto turned = turnedOnes.find(one.tensor);
        if (parts && turned != turnedOnes.end()) parts->record.source->turned = turned->second.turned;
        return parts;
    };
    MadeAgain madeAgain(taken, make);
    const bool many = taken.size() > kManyTaken && !request.solve; // what a solver decided is kept
    for (const TensorInfo& tensor : model.tensors) {
        OutputShard& shard = shards[tensor.file];
        const std::uint32_t at = takenOf[std::size_t(&tensor - model.tensors.data())];
        if (at == notTaken) {
            auto copy = layout.copy ? layout.copy(model, tensor) : copyOf(model, tensor);
            if (!copy) return tl::unexpected(copy.error());
            records.push_back({&tensor, nullptr, {copy->name}, &layout, bytesOf(*copy), nullptr});
            shard.tensors.push_back(std::move(*copy));
            ++copies;
            continue;
        }
        bool columnScales = false;
        if (many && tensor.elements < kMadeAgain) {
            const auto parts = madeAgain.of(at);
            if (!parts) return tl::unexpected(parts.error());
            for (std::size_t i = 0; i < (*parts)->tensors.size(); ++i)
                shard.tensors.push_back(madeAgain.field(at, std::uint32_t(i), (*parts)->tensors[i]));
            records.push_back(madeAgain.record(at, (*parts)->record));
        } else {
            auto parts = make(taken[at]);
            if (!parts) return tl::unexpected(parts.error());
            columnScales = parts->columnScales;
            for (auto& part : parts->tensors) shard.tensors.push_back(std::move(part));
            records.push_back(std::move(parts->record));
        }
        if (layout.describes)
            shard.metadata[std::string(kStoredPrefix) + tensor.name] =
                storedText(tensor, taken[at].spec(), layout.id, columnScales);
    }
    std::vector<WrittenSize> sizes;
    for (const WrittenTensor& record : records)
        if (record.spec) sizes.push_back({record.original, record.spec, record.bytes});
    auto remarks = writingRemarks(layout, sizes);
    // What was decoded lies in the first of several files.
    std::erase_if(shards, [](const OutputShard& shard) { return shard.tensors.empty(); });
    // A file alone has no config.json to say what its readers must know.
    if (!finish.config.empty() && !shards.empty() && !fileEnding(request.output).empty())
        shards.front().metadata[kConfigKey] =
            nlohmann::ordered_json::parse(finish.config).at("quantization_config").dump();
    if (request.prove)
        finish.prove = [&](const std::string& path, const std::vector<LeftOut>& leftOut) {
            return request.prove(path, records, leftOut);
        };
    finish.before = request.before, finish.after = request.after;
    auto result = layout.writeFiles ? layout.writeFiles(model, std::move(shards), request.output, job, finish)
                                    : writeModel(model, std::move(shards), request.output, job, finish);
    if (!result) return result;
    result->quantizedTensors = taken.size(), result->copiedTensors = copies;
    result->remarks = std::move(remarks);
    madeAgain.leave();
    for (const WrittenTensor& record : records)
        if (record.spec)
            for (const std::string& warning :
                 record.source ? record.source->warnings : madeAgain.warningsOf(record.original))
                result->warnings.push_back(
                    fmt::format("Tensor '{}': {}.", escapeForPeople(record.original->name, 80), warning));
    return result;
}

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
    if (request.solve && (!layout->writeFrom || (request.columnScales && !layout->columnScales)))
        return fail(fmt::format("the {} layout cannot hold what {}: use layout native or plain", layout->id,
                                layout->writeFrom ? "has a scale per column" : "a solver decided"));
    // Solvers and what was trained take values that were looked at.
    const bool looksFirst = request.solve || std::any_of(taken->begin(), taken->end(),
                                                         [](const TakenTensor& one) { return isTrained(one.spec()); });
    if (auto ok =
            checkAll(model, request, *taken, *layout, looksFirst ? NonFinites::Before : NonFinites::WhileWritten, job);
        !ok)
        return tl::unexpected(ok.error());
    const auto nonFinite = looksFirst ? nullptr : std::make_shared<std::atomic<bool>>(false);
    auto result = writeTaken(model, request, *layout, std::move(*taken), nonFinite, job);
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

Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job) {
    if (auto fine = namesSafetensors(output); !fine) return tl::unexpected(fine.error());
    std::vector<OutputShard> shards(model.files.size());
    std::set<std::string> fields;
    std::uint64_t decoded = 0, copies = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].fileName = shardName(model.files[i]);
        for (const auto& [key, text] : model.files[i].metadata) {
            // A tensor of that name is there: it was stored plain, or in another way that needs no decoding.
            if (key == kConfigKey) continue; // of what is decoded now
            if (!key.starts_with(kStoredPrefix))
                shards[i].metadata[key] = text;
            else if (!model.find(key.substr(kStoredPrefix.size()))) {
                const auto inFile = [&](const Error& error) {
                    return fail(fmt::format("{}: {}", escapeForPeople(model.files[i].path, 160), error.message),
                                model.files[i].path);
                };
                auto stored = parseStored(key, text);
                if (!stored) return inFile(stored.error());
                for (auto& name : stored->fields()) fields.insert(std::move(name));
                auto tensor = decodeStored(model, std::move(*stored), decode);
                if (!tensor) return inFile(tensor.error());
                shards[i].tensors.push_back(std::move(*tensor));
                ++decoded;
            }
        }
    }
    for (const TensorInfo& tensor : model.tensors) {
        if (fields.contains(tensor.name)) continue;
        auto copy = copyOf(model, tensor);
        if (!copy) return tl::unexpected(copy.error());
        shards[tensor.file].tensors.push_back(std::move(*copy));
        ++(tensor.packed || tensor.derived ? decoded : copies);
    }
    auto result = writeModel(model, std::move(shards), output, job);
    if (result) result->quantizedTensors = decoded, result->copiedTensors = copies;
    return result;
}

} // namespace qs
