// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/quant/pass.h"
#include "core/quant/produce.h"
#include "core/quant/refused_filter.h"
#include "core/quant/stored.h"
#include "core/quant/write_model.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

/// Why a taken tensor cannot be written; "" when it can.
Result<std::string> refusal(const Model& model, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout,
                            const Job& job) {
    if (auto ok = checkQuantizable(tensor); !ok) return ok.error().message;
    if (auto ok = layout.accepts(spec, tensor.shape); !ok)
        return fmt::format("tensor '{}': {}", escapeForPeople(tensor.name, 80), ok.error().message);
    if (spec.effectiveNan() == NanPolicy::Skip) return std::string();
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const auto found = countNonFinite(*view, job);
    if (!found) return tl::unexpected(found.error());
    return found->nan + found->inf > 0 ? nonFiniteReason(tensor, found->nan, found->inf) : std::string();
}

Result<void> checkAll(const Model& model, const std::vector<const TensorInfo*>& taken, const QuantizeRequest& request,
                      const Layout& layout, const Job& job) {
    std::vector<const TensorInfo*> refused;
    std::string first;
    for (const TensorInfo* tensor : taken) {
        if (job.cancelled()) return cancelledError();
        auto why = refusal(model, *tensor, request.spec, layout, job);
        if (!why) return tl::unexpected(why.error());
        if (why->empty()) continue;
        if (refused.empty()) first = std::move(*why);
        refused.push_back(tensor);
    }
    if (refused.empty()) return {};
    const std::string filter = filterWithout(model, taken, refused);
    std::string message = fmt::format("{}: {} of {} tensors cannot be quantized, nothing was written; {}",
                                      escapeForPeople(model.path, 160), refused.size(), taken.size(), first);
    if (!filter.empty()) message += fmt::format("; --tensor '{}' leaves them out", filter);
    return fail(std::move(message));
}

Result<std::vector<TensorToWrite>> writeSolved(const TensorView& view, const QuantizeRequest& request,
                                               const Layout& layout, bool& columnScales, const Job& job) {
    auto solved = request.solve(view);
    if (!solved) return tl::unexpected(solved.error());
    auto source = makeSource(view, request.spec, job);
    if (!source) return tl::unexpected(source.error());
    columnScales = !(*solved)->columnScales.empty();
    (*source)->solved = std::move(*solved);
    return layout.writeFrom(*source);
}

/// The source's name, as a file of safetensors.
std::string shardName(const ModelFile& file) {
    std::string name = std::filesystem::path(file.path).filename().replace_extension(".safetensors").string();
    if (name.starts_with("pytorch_model") && file.path.ends_with(".bin")) name.erase(0, 8); // where loaders look
    return name;
}

} // namespace

Result<WrittenFiles> quantizeModel(const Model& model, const QuantizeRequest& request, const Job& job) {
    if (auto ok = validate(request.spec); !ok) return tl::unexpected(ok.error());
    const Layout* layout = findLayout(request.layout.empty() ? "eformer" : request.layout);
    if (!layout) {
        std::string known;
        for (const Layout& row : layouts()) known += (known.empty() ? "" : ", ") + std::string(row.id);
        return fail(
            fmt::format("there is no layout '{}': known layouts are {}", escapeForPeople(request.layout, 40), known));
    }
    const auto taken = selectTensors(model, request.tensorRegex);
    if (!taken) return tl::unexpected(taken.error());
    if (taken->empty())
        return fail(request.tensorRegex.empty()
                        ? std::string("no tensor is a float tensor of rank 2 or more: name some with --tensor")
                        : fmt::format("the tensor filter '{}' takes none of {} tensors",
                                      escapeForPeople(request.tensorRegex, 80), model.tensors.size()));
    if (request.solve && (!layout->writeFrom || (request.columnScales && !layout->columnScales)))
        return fail(fmt::format("the {} layout cannot hold what {}: use layout native or plain", layout->id,
                                layout->writeFrom ? "has a scale per column" : "a solver decided"));
    if (auto ok = checkAll(model, *taken, request, *layout, job); !ok) return tl::unexpected(ok.error());

    const std::set<const TensorInfo*> quantized(taken->begin(), taken->end());
    std::vector<OutputShard> shards(model.files.size());
    std::uint64_t copies = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].fileName = shardName(model.files[i]);
        shards[i].metadata = model.files[i].metadata;
    }
    for (const TensorInfo& tensor : model.tensors) {
        OutputShard& shard = shards[tensor.file];
        if (!quantized.contains(&tensor)) {
            auto copy = copyOf(model, tensor);
            if (!copy) return tl::unexpected(copy.error());
            shard.tensors.push_back(std::move(*copy));
            ++copies;
            continue;
        }
        const auto view = model.view(tensor);
        if (!view) return tl::unexpected(view.error());
        bool columnScales = false;
        auto written = request.solve ? writeSolved(*view, request, *layout, columnScales, job)
                                     : layout->write(*view, request.spec, job);
        if (!written) return tl::unexpected(written.error());
        for (auto& part : *written) shard.tensors.push_back(std::move(part));
        shard.metadata[std::string(kStoredPrefix) + tensor.name] =
            storedText(tensor, request.spec, layout->id, columnScales);
    }
    auto result = writeModel(model, std::move(shards), request.output, job);
    if (result) result->quantizedTensors = taken->size(), result->copiedTensors = copies;
    return result;
}

Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job) {
    std::vector<OutputShard> shards(model.files.size());
    std::set<std::string> fields;
    std::uint64_t decoded = 0, copies = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].fileName = shardName(model.files[i]);
        for (const auto& [key, text] : model.files[i].metadata) {
            // A tensor of that name is there: it was stored plain, or in another way that needs no decoding.
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
