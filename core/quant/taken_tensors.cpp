// SPDX-License-Identifier: GPL-3.0-or-later
// Which tensors of a model are written in another way, and under what spec: the filter, the rules, and what a layout
// leaves alone.
#include "core/base/text.h"
#include "core/quant/layout.h"

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

Result<std::vector<TakenTensor>> takenTensors(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                              WrittenFiles& kept) {
    const auto selected = selectTensors(model, request.tensorRegex);
    if (!selected) return tl::unexpected(selected.error());
    const auto rules = compiled(request.rules);
    if (!rules) return tl::unexpected(rules.error());
    std::vector<TakenTensor> taken;
    for (const TensorInfo* tensor : *selected) {
        const QuantSpec* spec = request.keepsRest ? nullptr : &request.spec;
        bool named = !request.tensorRegex.empty();
        for (const Rule& rule : *rules)
            if (rule.regex.match(QString::fromStdString(tensor->name)).hasMatch()) {
                spec = rule.said->spec ? &*rule.said->spec : nullptr;
                named = true;
                break;
            }
        if (!spec) continue;
        const auto held = layout.holds && !named ? layout.holds(*tensor) : Result<void>{};
        if (held) {
            taken.push_back({tensor, *spec});
            continue;
        }
        if (kept.keptByLayout++ == 0)
            kept.whyKept = fmt::format("tensor '{}': {}", escapeForPeople(tensor->name, 80), held.error().message);
    }
    if (taken.empty()) return none(model, request, kept);
    return taken;
}

} // namespace qs
