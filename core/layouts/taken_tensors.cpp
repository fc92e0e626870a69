// SPDX-License-Identifier: GPL-3.0-or-later
// Which tensors of a model are quantized, and under what spec: the filter, the rules, and the layout decide.
#include "core/layouts/taken_tensors.h"

#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace qs {
namespace {

/// File endings that this program does not write. A folder with such a name would look like a file.
constexpr std::string_view kForeign[] = {".pt",     ".pth",     ".bin",       ".ckpt",    ".pkl",  ".pickle", ".onnx",
                                         ".tflite", ".keras",   ".hdf5",      ".npy",     ".zip",  ".tar",    ".json",
                                         ".pb",     ".mlmodel", ".mlpackage", ".msgpack", ".zarr", ".ggml"};

std::string lowerEnding(std::string_view output) {
    while (output.ends_with('/')) output.remove_suffix(1);
    const auto name = output.substr(output.rfind('/') + 1);
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return {};
    std::string ending(name.substr(dot));
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return ending;
}

/// The layout whose files end like the output, and that ending; empty: there is none.
std::pair<std::string_view, std::string_view> layoutOfEnding(std::string_view output) {
    const std::string ending = lowerEnding(output);
    for (const Layout& layout : layouts())
        if (layout.fileEnding && ending == layout.fileEnding) return {layout.id, layout.fileEnding};
    return {};
}

std::string layoutIdOf(const QuantizeRequest& request) {
    if (const auto id = layoutOfEnding(request.output).first; !id.empty()) return std::string(id);
    std::vector<const QuantSpec*> specs;
    if (!request.keepsRest) specs.push_back(&request.spec);
    for (const TensorRule& rule : request.rules)
        if (rule.spec) specs.push_back(&*rule.spec);
    return defaultLayout(specs).id;
}

tl::unexpected<Error> none(const Model& model, const QuantizeRequest& request, const char* layoutId,
                           const WrittenFiles& kept) {
    if (!kept.kept.empty())
        return fail(fmt::format("none of {} tensors is one that the {} layout holds; tensor '{}': {}", kept.kept.size(),
                                layoutId, escapeForPeople(kept.kept.front().name, 80), kept.kept.front().reason));
    if (!request.rules.empty() || request.keepsRest)
        return fail(fmt::format("none of the rules gives one of {} tensors a spec", model.tensors.size()));
    return fail(whyNothing(model, request.choice));
}

} // namespace

Result<const Layout*> requestedLayout(const QuantizeRequest& request) {
    if (auto ok = validate(request.spec); !ok) return tl::unexpected(ok.error());
    for (const TensorRule& rule : request.rules)
        if (rule.spec)
            if (auto ok = validate(*rule.spec); !ok) return tl::unexpected(ok.error());
    const Layout* layout = findLayout(request.layout.empty() ? layoutIdOf(request) : request.layout);
    if (!layout) {
        std::string known;
        for (const Layout& row : layouts()) known += (known.empty() ? "" : ", ") + std::string(row.id);
        return fail(
            fmt::format("there is no layout '{}': known layouts are {}", escapeForPeople(request.layout, 40), known));
    }
    if (layout->fileEnding && !request.output.empty() && !request.output.ends_with(layout->fileEnding))
        return fail(fmt::format("the {} layout writes one file: call it {}{}", layout->id,
                                escapeForPeople(request.output, 160), layout->fileEnding));
    if (!layout->fileEnding)
        if (auto fine = namesSafetensors(request.output); !fine) {
            const auto [id, ending] = layoutOfEnding(request.output);
            if (id.empty()) return tl::unexpected(fine.error());
            return fail(
                fmt::format("the {} layout writes safetensors, not {}: name a .safetensors file or a folder, or "
                            "take layout {}",
                            layout->id, ending, id));
        }
    return layout;
}

Result<void> namesSafetensors(std::string_view output) {
    const std::string ending = lowerEnding(output);
    const bool isOther = !layoutOfEnding(output).first.empty() ||
                         std::find(std::begin(kForeign), std::end(kForeign), ending) != std::end(kForeign);
    if (!isOther) return {};
    std::string written;
    for (const Layout& layout : layouts())
        if (layout.fileEnding) written += fmt::format(", {} (layout {})", layout.fileEnding, layout.id);
    return fail(
        fmt::format("{} is the name of a file, and no {} file is written: name a .safetensors file or a folder; "
                    "quantize writes .safetensors{} too",
                    escapeForPeople(output, 160), ending, written));
}

Result<void> checkWhole(const Model& model, bool allowMissing) {
    auto missing = allowMissing ? std::string() : missingSentence(model);
    if (missing.empty()) return {};
    missing.pop_back();
    if (missing.starts_with('M')) missing.front() = 'm';
    return fail(fmt::format("{} is not whole ({}): put what is missing there, or write the rest with --allow-missing",
                            escapeForPeople(model.path, 120), escapeForPeople(missing, 280)),
                model.path);
}

Result<void> checkModel(const Model& model, const Layout& layout) {
    if (layout.takesModel)
        if (auto ok = layout.takesModel(model); !ok) return ok;
    if (layout.config && !model.undecoded.empty())
        return fail(
            fmt::format("{} holds {} quantized layers that are not decoded, and the settings of layout {} would "
                        "replace those that describe them: use layout native, or decode them first (the first is "
                        "{}: {})",
                        escapeForPeople(model.path, 120), model.undecoded.size(), layout.id,
                        quotedName(model.undecoded.front().name), escapeForPeople(model.undecoded.front().why, 120)));
    if (layout.config && model.format == "gguf")
        return fail(fmt::format("{} is a GGUF file: its names, its order of rows and its metadata are those of "
                                "llama.cpp, and what reads the {} layout takes those of Hugging Face: use layout gguf, "
                                "native, plain, npz or hdf5, or quantize the model that it was made of",
                                escapeForPeople(model.path, 160), layout.id));
    return {};
}

Result<void> checkCount(const Model& model, const Layout& layout, std::size_t tensors) {
    if (layout.mostTensors == 0 || tensors <= layout.mostTensors) return {};
    std::string others; // that write any model into as many files as it has
    for (const Layout& other : layouts())
        if (!other.fileEnding && !other.config) others += (others.empty() ? "" : ", ") + std::string(other.id);
    return fail(fmt::format("the {} layout writes at most {} tensors into its file, because each takes memory when the "
                            "file is read back, and {} needs more: use one of the layouts {}",
                            layout.id, layout.mostTensors, escapeForPeople(model.path, 160), others));
}

Result<Ask> Ask::of(const Model& model, const QuantizeRequest& request) {
    Ask out;
    out.request_ = &request;
    auto selection = Selection::of(model, request.choice);
    if (!selection) return tl::unexpected(selection.error());
    out.selection_ = std::move(*selection);
    for (std::size_t i = 0; i < request.rules.size(); ++i) {
        auto filter = TensorFilter::of(model, request.rules[i].regex, "rule");
        if (!filter) return tl::unexpected(filter.error());
        if (filter->onlyName().empty())
            out.others_.push_back({i, std::move(*filter)});
        else
            out.byName_.emplace(filter->onlyName(), i);
    }
    return out;
}

std::optional<AskedTensor> Ask::operator()(const TensorInfo& tensor) const {
    const bool hasFilters = !request_->choice.filters.empty();
    const bool isChosen = selection_.takes(tensor);
    if (hasFilters && !isChosen) return {};
    const std::size_t none = request_->rules.size();
    std::size_t first = none;
    if (!byName_.empty())
        if (const auto named = byName_.find(tensor.name); named != byName_.end()) first = named->second;
    for (const auto& [place, filter] : others_) {
        if (place > first) break;
        if (isChosen ? !filter.matches(tensor) : !filter.takes(tensor, request_->choice.vectors)) continue;
        first = place;
        break;
    }
    if (first < none) {
        const auto& spec = request_->rules[first].spec;
        return spec ? std::optional(AskedTensor{&tensor, &*spec, true}) : std::nullopt;
    }
    if (!isChosen || request_->keepsRest) return {};
    return AskedTensor{&tensor, &request_->spec, hasFilters};
}

std::string Ask::whyLeft(const TensorInfo& tensor) const {
    const bool isOther = isMatrix(tensor) && !tensor.isWeight() && tensor.role != TensorRole::Part;
    return isOther && !request_->keepsRest && selection_.matches(tensor) ? rowOf(tensor.role).why : std::string();
}

Result<std::vector<AskedTensor>> askedTensors(const Model& model, const QuantizeRequest& request) {
    const auto ask = Ask::of(model, request);
    if (!ask) return tl::unexpected(ask.error());
    std::vector<AskedTensor> asked;
    asked.reserve(model.tensors.size()); // pages that are never written use no memory
    for (const TensorInfo& tensor : model.tensors)
        if (const auto one = (*ask)(tensor)) asked.push_back(*one);
    return asked;
}

Result<AskedSpecs> askedSpecs(const Model& model, const QuantizeRequest& request, const Layout* layout) {
    const auto ask = Ask::of(model, request);
    if (!ask) return tl::unexpected(ask.error());
    AskedSpecs out;
    std::map<const QuantSpec*, std::shared_ptr<const QuantSpec>> shared; // the specs of the request
    std::unordered_map<std::string, std::shared_ptr<const QuantSpec>> specs;
    for (const TensorInfo& tensor : model.tensors) {
        const auto one = isMatrix(tensor) ? (*ask)(tensor) : std::nullopt;
        if (!one || (layout && !leftAlone(&model, *one, *layout))) continue;
        addOnce(out.all, *one->spec);
        auto& known = shared[one->spec];
        if (!known) known = std::make_shared<const QuantSpec>(*one->spec);
        specs.emplace(tensor.name, known);
    }
    out.of = [specs = std::make_shared<const decltype(specs)>(std::move(specs))](const TensorInfo& tensor) {
        const auto found = specs->find(tensor.name);
        return found == specs->end() ? nullptr : found->second.get();
    };
    return out;
}

Result<void> leftAlone(const Model* model, const AskedTensor& asked, const Layout& layout) {
    if (layout.config && asked.tensor->elements == 0)
        return fail("it has no values, and what reads the layout wants some in each quantized matrix");
    const bool isMost =
        asked.tensor->role == TensorRole::Experts || isExpertMatrix(asked.tensor->name) || isConv1d(*asked.tensor);
    if (asked.named || isMost) return {};
    if (model && layout.staysIn)
        if (const std::string why = layout.staysIn(*model, *asked.tensor); !why.empty()) return fail(why);
    return layout.holds ? layout.holds(*asked.tensor) : Result<void>{};
}

static const Layout* ofOthers(const Model& model, const Layout& layout) {
    return layout.config && checkModel(model, layout) ? &layout : nullptr;
}

const Layout* followedLayout(const Model& model, const QuantSpec& spec) { return ofOthers(model, defaultLayout(spec)); }

const Layout* followedLayout(const Model& model, const QuantizeRequest& request) {
    const auto layout = requestedLayout(request);
    return layout ? ofOthers(model, **layout) : nullptr;
}

std::string refusedBy(const Layout& layout, const Error& error) {
    return fmt::format("layout {}, in which quantize stores it, refuses it: {}", layout.id,
                       oneSentence(error.sentence()));
}

std::string whyKept(const Layout* layout, const Model& model, const TensorInfo& tensor, bool named) {
    const auto taken = layout ? leftAlone(&model, {&tensor, nullptr, named}, *layout) : Result<void>();
    return taken ? std::string() : fmt::format("layout {} keeps it as it is: {}", layout->id, taken.error().sentence());
}

/// Why the layout does not take the tensor's name, its shape or the spec.
static Result<void> accepted(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout) {
    if (auto ok = layout.holds ? layout.holds(tensor) : Result<void>{}; !ok) return ok;
    const TensorInfo written = asWritten(layout, tensor);
    return layout.accepts(forTensor(spec, written), written.shape);
}

Result<void> checkWritable(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout) {
    if (auto ok = checkQuantizable(tensor); !ok) return ok;
    auto ok = accepted(tensor, spec, layout);
    return ok ? ok : failAt(fmt::format("tensor '{}'", escapeForPeople(tensor.name, 80)), ok.error());
}

std::string whyNotWritable(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout) {
    if (const auto why = whyNotQuantizable(tensor); !why.empty()) return "it " + why;
    const auto ok = accepted(tensor, spec, layout);
    return ok ? std::string() : ok.error().sentence();
}

Result<Together> takenTogether(const Model& model, std::vector<TakenTensor>& taken, const Layout& layout,
                               const std::function<Result<void>(const Model& source)>& each) {
    Together out;
    if (layout.stacked) {
        auto made = layout.stacked(model, taken);
        if (!made) return tl::unexpected(made.error());
        out.stacked = std::move(*made);
    }
    const Model& source = out.stacked ? *out.stacked : model;
    if (auto fine = each(source); !fine) return tl::unexpected(fine.error());
    if (!layout.config) return out;
    auto config = layout.config(source, taken);
    if (!config) return tl::unexpected(config.error());
    out.config = std::move(*config);
    return out;
}

RefusedRequest refusalOf(const Model& model, std::vector<TakenTensor> taken, const Layout& layout) {
    RefusedRequest out;
    if (auto fine = checkModel(model, layout); !fine) return {{}, fine.error()};
    if (taken.empty()) return out;
    const auto each = [&](const Model&) -> Result<void> {
        for (const TakenTensor& one : taken)
            if (auto fine = checkWritable(*one.tensor, one.spec(), layout); !fine) {
                out.tensor = fine.error();
                return fine;
            }
        return {};
    };
    const auto together = takenTogether(model, taken, layout, each);
    if (!together && !out.tensor) out.whole = together.error();
    return out;
}

RefusedRequest refusalOf(const Model& model, const QuantizeRequest& request, const Layout& layout) {
    if (auto fine = checkModel(model, layout); !fine) return {{}, fine.error()}; // before a layout that holds nothing
    WrittenFiles kept;
    auto taken = takenTensors(model, request, layout, kept);
    return taken ? refusalOf(model, std::move(*taken), layout) : RefusedRequest{{}, taken.error()};
}

std::string partReason(const std::string& whole) {
    return fmt::format("is a part of '{}', which is stored quantized: decode the model first",
                       escapeForPeople(whole, 80));
}

std::shared_ptr<const QuantSpec> sharedSpec(QuantSpec spec, std::span<const TakenTensor> taken) {
    constexpr std::size_t lookedAt = 4; // neighbours have the same, or that of their role
    for (std::size_t i = 0; i < lookedAt && i < taken.size(); ++i)
        if (const auto& known = taken[taken.size() - 1 - i].shared; *known == spec) return known;
    return std::make_shared<const QuantSpec>(std::move(spec));
}

void addTaken(std::vector<TakenTensor>& taken, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout) {
    taken.push_back({&tensor, sharedSpec(forTensor(spec, asWritten(layout, tensor)), taken)});
}

Result<std::vector<TakenTensor>> takenTensors(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                              WrittenFiles& kept) {
    const auto ask = Ask::of(model, request);
    if (!ask) return tl::unexpected(ask.error());
    std::vector<TakenTensor> taken;
    taken.reserve(model.tensors.size()); // pages that are never written use no memory
    for (const TensorInfo& tensor : model.tensors) {
        const auto one = (*ask)(tensor);
        if (!one) {
            if (auto why = ask->whyLeft(tensor); !why.empty()) kept.kept.push_back({tensor.name, std::move(why)});
            continue;
        }
        if (const auto held = leftAlone(&model, *one, layout); !held)
            kept.kept.push_back({tensor.name, held.error().sentence()});
        else
            addTaken(taken, tensor, *one->spec, layout);
    }
    if (taken.empty()) return none(model, request, layout.id, kept);
    return taken;
}

} // namespace qs
