// SPDX-License-Identifier: GPL-3.0-or-later
// Which tensors of a model are written in another way, and under what spec: the filter, the rules, and what a layout
// leaves alone.
#include "core/quant/taken_tensors.h"

#include "core/base/text.h"
#include "core/quant/pass.h"

#include <QRegularExpression>
#include <fmt/format.h>

namespace qs {
namespace {

struct Rule {
    QRegularExpression regex;
    const TensorRule* said;
};

Result<std::vector<Rule>> compiled(const std::vector<TensorRule>& rules) {
    std::vector<Rule> out;
    for (const TensorRule& rule : rules) {
        QRegularExpression regex(QString::fromStdString(rule.regex));
        if (!regex.isValid())
            return fail(fmt::format("the rule '{}' is not a regular expression: {} at character {}",
                                    escapeForPeople(rule.regex, 80), regex.errorString().toStdString(),
                                    regex.patternErrorOffset()));
        out.push_back({std::move(regex), &rule});
    }
    return out;
}

Result<std::vector<TakenTensor>> none(const Model& model, const QuantizeRequest& request, const WrittenFiles& kept) {
    if (kept.keptByLayout > 0)
        return fail(fmt::format("none of {} tensors is one that the {} layout holds; {}", kept.keptByLayout,
                                request.layout, kept.whyKept));
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
    if (const Layout* layout = findLayout(request.layout.empty() ? "eformer" : request.layout)) return layout;
    std::string known;
    for (const Layout& row : layouts()) known += (known.empty() ? "" : ", ") + std::string(row.id);
    return fail(
        fmt::format("there is no layout '{}': known layouts are {}", escapeForPeople(request.layout, 40), known));
}

Result<std::vector<AskedTensor>> askedTensors(const Model& model, const QuantizeRequest& request) {
    const auto selected = selectTensors(model, request.tensorRegex);
    if (!selected) return tl::unexpected(selected.error());
    const auto rules = compiled(request.rules);
    if (!rules) return tl::unexpected(rules.error());
    std::vector<AskedTensor> asked;
    for (const TensorInfo* tensor : *selected) {
        AskedTensor one{tensor, request.keepsRest ? nullptr : &request.spec, !request.tensorRegex.empty()};
        for (const Rule& rule : *rules)
            if (rule.regex.match(QString::fromStdString(tensor->name)).hasMatch()) {
                one.spec = rule.said->spec ? &*rule.said->spec : nullptr;
                one.named = true;
                break;
            }
        if (one.spec) asked.push_back(one);
    }
    return asked;
}

Result<void> leftAlone(const AskedTensor& asked, const Layout& layout) {
    return layout.holds && !asked.named ? layout.holds(*asked.tensor) : Result<void>{};
}

Result<void> checkWritable(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout) {
    if (auto ok = checkQuantizable(tensor); !ok) return ok;
    auto ok = layout.holds ? layout.holds(tensor) : Result<void>{};
    if (ok) ok = layout.accepts(forTensor(spec, tensor), tensor.shape);
    if (!ok) return fail(fmt::format("tensor '{}': {}", escapeForPeople(tensor.name, 80), ok.error().message));
    return {};
}

std::string partReason(const TensorInfo& tensor, const std::string& whole) {
    return fmt::format("tensor '{}' is a part of '{}', which is stored quantized: decode the model first",
                       escapeForPeople(tensor.name, 80), escapeForPeople(whole, 80));
}

Result<std::vector<TakenTensor>> takenTensors(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                              WrittenFiles& kept) {
    const auto asked = askedTensors(model, request);
    if (!asked) return tl::unexpected(asked.error());
    std::vector<TakenTensor> taken;
    for (const AskedTensor& one : *asked) {
        const auto held = leftAlone(one, layout);
        if (held)
            taken.push_back({one.tensor, forTensor(*one.spec, *one.tensor)});
        else if (kept.keptByLayout++ == 0)
            kept.whyKept = fmt::format("tensor '{}': {}", escapeForPeople(one.tensor->name, 80), held.error().message);
    }
    if (taken.empty()) return none(model, request, kept);
    return taken;
}

} // namespace qs
