// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensors of a model a spec is for: the one meaning that all commands share.
//
// Without a filter these are the matrices whose role is taken (TensorInfo::isWeight()). A filter chooses among them. A
// filter that matches none of them adds the other matrices that it matches, a router for example. Norms and tensors with
// one axis are taken by their full name or with `vectors` alone.

#include "core/model/model.h"

#include <QRegularExpression>
#include <optional>
#include <string>
#include <vector>

namespace qs {

/// A float tensor with two or more axes, whatever its role is.
bool isMatrix(const TensorInfo& tensor);

/// The only text that a regular expression with or without ^ and $ can match, if it is a text with escaped characters.
std::optional<std::string> literalOf(std::string_view regex);

/// An expression over names, searched in them.
class TensorFilter {
public:
    /// The model must outlive the filter. Error: it is not a regular expression; `what`: "tensor filter".
    static Result<TensorFilter> of(const Model& model, const std::string& regex, const char* what = "tensor filter");
    bool matches(const TensorInfo& tensor) const;
    /// Whether a spec is for the tensor because of this filter. From one thread at a time.
    bool takes(const TensorInfo& tensor, bool vectors) const;
    /// The only name that it can match; "" if there may be several.
    const std::string& onlyName() const { return onlyName_; }

private:
    bool addsOthers() const;

    const Model* model_ = nullptr;
    QRegularExpression regex_;
    std::string fullName_; ///< it is this name of a tensor; "": it is none
    std::string onlyName_;
    mutable std::optional<bool> adds_; ///< it matches no matrix that is taken without a filter
};

/// What --tensor and --vectors say.
struct TensorChoice {
    TensorChoice() = default;
    explicit TensorChoice(std::vector<std::string> expressions) : filters(std::move(expressions)) {}
    /// One filter; "": none.
    TensorChoice(const std::string& filter) { // NOLINT(google-explicit-constructor)
        if (!filter.empty()) filters = {filter};
    }
    TensorChoice(const char* filter) : TensorChoice(std::string(filter)) {} // NOLINT(google-explicit-constructor)

    std::vector<std::string> filters; ///< a tensor is chosen if one of them takes it; none: see above
    bool vectors = false;
};

class Selection {
public:
    /// The model must outlive it. Errors: those of TensorFilter::of().
    static Result<Selection> of(const Model& model, const TensorChoice& choice);
    bool takes(const TensorInfo& tensor) const;
    /// Whether a filter matches the name; true without filters.
    bool matches(const TensorInfo& tensor) const;

private:
    std::vector<TensorFilter> filters_;
    bool vectors_ = false;
};

/// The chosen tensors in the order of the model. It is an error if there are none.
Result<std::vector<const TensorInfo*>> selectAny(const Model& model, const TensorChoice& choice);
/// "it is a router, which a spec takes only where it is named"; "" for matrices that are taken without a filter, and for vectors.
std::string addedText(const TensorInfo& tensor);
/// Why a choice takes nothing of a model, as a sentence without its full stop.
std::string whyNothing(const Model& model, const TensorChoice& choice);
/// All tensors whose names match the expression, whatever they are.
Result<std::vector<const TensorInfo*>> namedTensors(const Model& model, const std::string& regex);
/// Joins filters into one regular expression; "" without filters.
std::string joinedFilters(const std::vector<std::string>& filters);

} // namespace qs
