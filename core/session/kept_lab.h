// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a lab kept of one tensor under a spec, read back: what all labs check.

#include "core/model/model.h"
#include "core/quant/spec/spec.h"
#include "core/session/kept_json.h"

namespace qs::kept {

template<class T> struct KeptLab {
    T all; ///< as it was written; has `tensor` and `spec`, their texts
    const TensorInfo* tensor = nullptr;
    QuantSpec spec;
};

/// `what`: the beginning of a sentence, "products are".
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
