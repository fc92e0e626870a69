// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/capture/chunk_parts.h"

#include "core/records/input_hash.h"

#include <fmt/format.h>

namespace qs::eval {

Result<std::string> keyOfParts(const InputPass& pass, const CapturePlan& plan, const std::string& kind,
                               const Job& job) {
    const auto hash = hashOfModel(pass.model(), job);
    if (!hash) return tl::unexpected(hash.error());
    return fmt::format("{}\ncapture {} context {} first {}", *hash, kind, plan.context, plan.text.first.value_or(-1));
}

tl::unexpected<Error> partIsMissing(std::size_t chunk) {
    return fail(fmt::format("The records of chunk {} are not complete: a file of them was changed or deleted. Begin in "
                            "an empty folder.",
                            chunk + 1));
}

} // namespace qs::eval
