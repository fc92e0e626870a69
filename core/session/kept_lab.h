// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the result of a lab for one tensor under a spec from a session file, with the checks that all labs share.

#include "core/model/model.h"
#include "core/quant/spec/spec.h"
#include "core/session/kept_json.h"

namespace qs::kept {

template<class T> struct KeptLab {
    T all; ///< the fields of the text, among them `tensor` and `spec` as texts
    const TensorInfo* tensor = nullptr;
    QuantSpec spec;
};

/// `what` is the beginning of a sentence: "products are".
inline tl::unexpected<Error> damaged(const char* what, const std::string& why) {
    return fail(fmt::format("the kept {} damaged: {}", what, why));
}

template<class T> Result<KeptLab<T>> readLab(const std::string& text, const Model& model, const char* what) {
    auto all = fromText<T>(text);
    if (!all) return damaged(what, all.error());
    const auto* tensor = model.find(all->tensor);
    if (!tensor) return fail(fmt::format("the kept {} of another tensor", what));
    auto spec = parseSpec(all->spec);
    if (!spec) return tl::unexpected(spec.error());
    return KeptLab<T>{std::move(*all), tensor, std::move(*spec)};
}

} // namespace qs::kept
