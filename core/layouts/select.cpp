// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/select.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/layouts/serve.h"
#include "core/layouts/taken_tensors.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kRegexMeta = "\\^$.|?*+()[]{}";

std::string countOf(std::size_t n, const char* one, const char* several) {
    return n == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", n, several);
}

} // namespace

bool isMatrix(const TensorInfo& tensor) { return info(tensor.dtype).quantizable && tensor.shape.size() >= 2; }

std::optional<std::string> literalOf(std::string_view regex) {
    if (regex.starts_with('^')) regex.remove_prefix(1);
    if (regex.ends_with('$') && !regex.ends_with("\\$")) regex.remove_suffix(1);
    std::string text;
    for (std::size_t i = 0; i < regex.size(); ++i) {
        if (regex[i] == '\\') {
            const bool isPlain = i + 1 < regex.size() && !std::isalnum(static_cast<unsigned char>(regex[i + 1]));
            if (!isPlain) return {};
            text += regex[++i];
        } else if (kRegexMeta.find(regex[i]) != kRegexMeta.npos) {
            return {};
        } else {
            text += regex[i];
        }
    }
    return text;
}

Result<TensorFilter> TensorFilter::of(const Model& model, const std::string& regex, const char* what) {
    TensorFilter out;
    out.model_ = &model;
    const auto literal = literalOf(regex);
    if (literal && model.find(*literal)) out.fullName_ = *literal;
    if (literal && regex.starts_with('^') && regex.ends_with('$')) {
        out.onlyName_ = *literal;
        return out;
    }
    // A name as it stands there, with its dots.
    std::string_view plain = regex;
    if (plain.starts_with('^')) plain.remove_prefix(1);
    if (plain.ends_with('$')) plain.remove_suffix(1);
    if (model.find(plain)) out.fullName_ = plain;
    out.regex_.setPattern(wideText(regex));
    if (out.regex_.isValid()) return out;
    return fail(fmt::format("the {} '{}' is not a regular expression: {} at character {}", what,
                            escapeForPeople(regex, 80), out.regex_.errorString().toStdString(),
                            out.regex_.patternErrorOffset()));
}

bool TensorFilter::matches(const TensorInfo& tensor) const {
    if (!onlyName_.empty()) return tensor.name == onlyName_;
    return regex_.match(wideText(tensor.name)).hasMatch();
}

bool TensorFilter::takes(const TensorInfo& tensor, bool vectors) const {
    if (tensor.role == TensorRole::Part || !matches(tensor)) return false;
    if (tensor.name == fullName_ || tensor.isWeight()) return true;
    if (!info(tensor.dtype).quantizable) return false;
    if (vectors && !tensor.shape.empty()) return true;
    return isMatrix(tensor) && tensor.role != TensorRole::Norm && addsOthers();
}

bool TensorFilter::addsOthers() const {
    if (!adds_)
        adds_ = std::ranges::none_of(model_->tensors,
                                     [&](const TensorInfo& one) { return one.isWeight() && matches(one); });
    return *adds_;
}

Result<Selection> Selection::of(const Model& model, const TensorChoice& choice) {
    Selection out;
    out.vectors_ = choice.vectors;
    for (const std::string& text : choice.filters) {
        auto filter = TensorFilter::of(model, text);
        if (!filter) return tl::unexpected(filter.error());
        out.filters_.push_back(std::move(*filter));
    }
    return out;
}

bool Selection::takes(const TensorInfo& tensor) const {
    if (!filters_.empty())
        return std::ranges::any_of(filters_, [&](const TensorFilter& one) { return one.takes(tensor, vectors_); });
    if (tensor.isWeight()) return true;
    return vectors_ && info(tensor.dtype).quantizable && !tensor.shape.empty() && tensor.role != TensorRole::Part &&
           (tensor.role == TensorRole::Norm || tensor.shape.size() < 2);
}

bool Selection::matches(const TensorInfo& tensor) const {
    return filters_.empty() ||
           std::ranges::any_of(filters_, [&](const TensorFilter& one) { return one.matches(tensor); });
}

std::string addedText(const TensorInfo& tensor) {
    if (tensor.isWeight() || !isMatrix(tensor)) return {};
    return fmt::format("it is a {}, which a spec takes only where it is named", rowOf(tensor.role).title);
}

std::string whyNothing(const Model& model, const TensorChoice& choice) {
    if (choice.filters.empty() && !model.undecoded.empty())
        return fmt::format("{} holds no matrix that is decoded. {}", escapeForPeople(model.path, 160),
                           leftOutSentence(model));
    if (choice.filters.empty())
        return fmt::format("{} holds no matrix that a spec is for: choose among its {} tensors with --tensor",
                           escapeForPeople(model.path, 160), model.tensors.size());
    const auto selection = Selection::of(model, choice);
    const auto matched = std::size_t(std::ranges::count_if(
        model.tensors, [&](const TensorInfo& one) { return selection && selection->matches(one); }));
    const auto fields = storedFields(model);
    for (const TensorInfo& tensor : model.tensors)
        if (const auto part = fields.find(tensor.name); part != fields.end() && selection && selection->matches(tensor))
            return fmt::format("tensor '{}' {}", escapeForPeople(tensor.name, 80), partReason(part->second));
    const std::string filter = escapeForPeople(choice.filters.front(), 80);
    if (matched > 0)
        return fmt::format(
            "--tensor {} matches {}, but no matrix: in analyze, sweep and quantize --vectors or a full name takes "
            "norms and tensors with one axis",
            filter, countOf(matched, "tensor", "tensors"));
    return fmt::format("No tensor of {} matches --tensor {}; inspect lists its {} tensors{}.",
                       escapeForPeople(model.path, 160), filter, model.tensors.size(),
                       model.undecoded.empty() ? "" : ". Parts of quantized layers are not taken");
}

Result<std::vector<const TensorInfo*>> selectAny(const Model& model, const TensorChoice& choice) {
    const auto selection = Selection::of(model, choice);
    if (!selection) return tl::unexpected(selection.error());
    std::vector<const TensorInfo*> taken;
    for (const TensorInfo& tensor : model.tensors)
        if (selection->takes(tensor)) taken.push_back(&tensor);
    if (taken.empty()) return fail(whyNothing(model, choice), model.path);
    return taken;
}

Result<std::vector<const TensorInfo*>> namedTensors(const Model& model, const std::string& regex) {
    const auto filter = TensorFilter::of(model, regex);
    if (!filter) return tl::unexpected(filter.error());
    std::vector<const TensorInfo*> taken;
    for (const TensorInfo& tensor : model.tensors)
        if (filter->matches(tensor)) taken.push_back(&tensor);
    return taken;
}

std::string joinedFilters(const std::vector<std::string>& filters) {
    if (filters.size() == 1) return filters.front();
    std::string out;
    for (const auto& filter : filters) out += (out.empty() ? "(?:" : "|(?:") + filter + ")";
    return out;
}

} // namespace qs
