// SPDX-License-Identifier: GPL-3.0-or-later
// Which tensors of a model are quantized, and under what spec: the filter, the rules, and the layout decide.
#include "core/layouts/taken_tensors.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/quant/encode/pass.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
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

std::string layoutIdOf(std::string_view output) {
    const auto id = layoutOfEnding(output).first;
    return std::string(id.empty() ? layouts().front().id : id);
}

struct Rule {
    QRegularExpression regex;
    const TensorRule* said;
};

Result<std::vector<Rule>> compiled(const std::vector<TensorRule>& rules) {
    std::vector<Rule> out;
    for (const TensorRule& rule : rules) {
        QRegularExpression regex(wideText(rule.regex));
        if (!regex.isValid())
            return fail(fmt::format("the rule '{}' is not a regular expression: {} at character {}",
                                    escapeForPeople(rule.regex, 80), regex.errorString().toStdString(),
                                    regex.patternErrorOffset()));
        out.push_back({std::move(regex), &rule});
    }
    return out;
}

Result<std::vector<TakenTensor>> none(const Model& model, const QuantizeRequest& request, const char* layoutId,
                                      const WrittenFiles& kept) {
    if (kept.keptByLayout > 0)
        return fail(fmt::format("none of {} tensors is one that the {} layout holds; {}", kept.keptByLayout, layoutId,
                                kept.whyKept));
    if (!request.rules.empty() || request.keepsRest)
        return fail(fmt::format("none of the rules gives one of {} tensors a spec", model.tensors.size()));
    if (request.tensorRegex.empty())
        return fail("no tensor is a float tensor of rank 2 or more: name some with --tensor");
    return fail(fmt::format("the tensor filter '{}' takes none of {} tensors", escapeForPeople(request.tensorRegex, 80),
                            model.tensors.size()));
}

} // namespace

Result<const Layout*> requestedLayout(const QuantizeRequest& request) {
    if (auto ok = validate(request.spec); !ok) return tl::unexpected(ok.error());
    for (const TensorRule& rule : request.rules)
        if (rule.spec)
            if (auto ok = validate(*rule.spec); !ok) return tl::unexpected(ok.error());
    const Layout* layout = findLayout(request.layout.empty() ? layoutIdOf(request.output) : request.layout);
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

Result<void> checkModel(const Model& model, const Layout& layout) {
    if (layout.takesModel)
        if (auto ok = layout.takesModel(model); !ok) return ok;
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

Result<Ask> askOf(const QuantizeRequest& request) {
    const auto takes = tensorFilter(request.tensorRegex);
    if (!takes) return tl::unexpected(takes.error());
    const auto rules = compiled(request.rules);
    if (!rules) return tl::unexpected(rules.error());
    return Ask([&request, takes = *takes, rules = *rules](const TensorInfo& tensor) -> std::optional<AskedTensor> {
        if (!takes(tensor)) return {};
        AskedTensor one{&tensor, request.keepsRest ? nullptr : &request.spec, !request.tensorRegex.empty()};
        for (const Rule& rule : rules)
            if (rule.regex.match(wideText(tensor.name)).hasMatch()) {
                one.spec = rule.said->spec ? &*rule.said->spec : nullptr;
                one.named = true;
                break;
            }
        return one.spec ? std::optional(one) : std::nullopt;
    });
}

Result<std::vector<AskedTensor>> askedTensors(const Model& model, const QuantizeRequest& request) {
    const auto ask = askOf(request);
    if (!ask) return tl::unexpected(ask.error());
    std::vector<AskedTensor> asked;
    asked.reserve(model.tensors.size()); // pages that are never written use no memory
    for (const TensorInfo& tensor : model.tensors)
        if (const auto one = (*ask)(tensor)) asked.push_back(*one);
    return asked;
}

Result<void> leftAlone(const AskedTensor& asked, const Layout& layout) {
    return layout.holds && !asked.named ? layout.holds(*asked.tensor) : Result<void>{};
}

/// Why the layout does not take the tensor's name, its shape or the spec.
static Result<void> accepted(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout) {
    auto ok = layout.holds ? layout.holds(tensor) : Result<void>{};
    return ok ? layout.accepts(forTensor(spec, tensor), tensor.shape) : ok;
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

Result<std::vector<TakenTensor>> takenTensors(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                              WrittenFiles& kept) {
    const auto asked = askedTensors(model, request);
    if (!asked) return tl::unexpected(asked.error());
    std::vector<TakenTensor> taken;
    taken.reserve(asked->size());
    for (const AskedTensor& one : *asked) {
        const auto held = leftAlone(one, layout);
        if (held)
            taken.push_back({one.tensor, sharedSpec(forTensor(*one.spec, *one.tensor), taken)});
        else if (kept.keptByLayout++ == 0)
            kept.whyKept =
                fmt::format("tensor '{}': {}", escapeForPeople(one.tensor->name, 80), held.error().sentence());
    }
    if (taken.empty()) return none(model, request, layout.id, kept);
    return taken;
}

} // namespace qs
