// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/serve/serving.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::serve {
namespace {

/// The variant to use when none is named: the first that computes the format's own values and is no baseline, else an
/// exact baseline, else the first.
const Variant& firstOf(const std::vector<Variant>& variants) {
    const auto find = [&](bool baselines) {
        return std::ranges::find_if(variants, [&](const Variant& one) {
            return !one.approx && !one.experimental && (baselines || !one.baseline);
        });
    };
    for (const bool baselines : {false, true})
        if (const auto found = find(baselines); found != variants.end()) return *found;
    return variants.front();
}

} // namespace

std::string Serving::place() const { return "the backend " + escapeForPeople(choice_.source.id, 60); }

Error Serving::errorOf(const Failure& failure) const {
    std::string reason = failure.reason;
    while (reason.ends_with('.')) reason.pop_back();
    std::string text = fmt::format("{}: {}", place(), reason);
    if (!failure.hint.empty()) text += "; " + failure.hint;
    text.front() = 'T';
    return Error{text + ".", choice_.source.path, -1, false};
}

void Serving::fail(const Failure& failure) {
    opened_.note(failure);
    if (failure.state != RowState::Cancelled && !failure_) failure_ = errorOf(failure);
}

Result<Taken> Serving::take(const Problem& problem) {
    if (!backend()) return tl::unexpected(errorOf(opened_.failure));
    const auto support = backend()->query(0, problem);
    if (!support) {
        fail(support.error());
        return support.error().state == RowState::Cancelled ? cancelledError()
                                                            : tl::unexpected(errorOf(support.error()));
    }
    if (support->level == 0 || support->variants.empty())
        return Taken{{}, support->reason.empty() ? "it gave no reason" : support->reason};
    if (choice_.variant.empty()) return Taken{firstOf(support->variants).id, {}};
    std::vector<std::string> ids;
    for (const Variant& one : support->variants) {
        if (one.id == choice_.variant) return Taken{one.id, {}};
        ids.push_back(one.id);
    }
    return Taken{{},
                 fmt::format("it has no variant {} for this; it has {}", escapeForPeople(choice_.variant, 60),
                             fmt::join(ids, ", "))};
}

Result<HostTensor> Serving::shared(const char* role, const char* dtype, std::vector<std::int64_t> dims) {
    HostTensor out{role, dtype, std::move(dims), nullptr, 0, dtypeBytes(dtype)};
    for (const std::int64_t dim : out.dims) out.bytes *= std::uint64_t(dim);
    auto& buffer = buffers_[{role, out.bytes}];
    if (!buffer) {
        auto made = SharedBuffer::create(out.bytes);
        if (!made) return tl::unexpected(made.error());
        buffer = std::move(*made);
    }
    out.buffer = buffer;
    return out;
}

} // namespace qs::serve
