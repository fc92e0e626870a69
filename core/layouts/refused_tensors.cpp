// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/refused_tensors.h"

#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/offers.h"
#include "core/layouts/refused_filter.h"
#include "core/layouts/serve.h"
#include "core/layouts/taken_tensors.h"
#include "core/quant/encode/pass.h"
#include "core/quant/spec/formats.h"
#include "core/quant/spec/scale_type.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace qs {
namespace {

constexpr float kSurelyHeld = 16384; ///< no scale of smaller values overflows a type of 16 bits
constexpr int kMostTrials = 24;      ///< writings of a tensor in the search of what fits

/// Why the fields of a tensor cannot be written; they go nowhere.
Result<void> tryWriting(const Model& model, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout,
                        const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto measured = MeasuredTensor::of(*view, spec, job);
    if (!measured) return tl::unexpected(measured.error());
    auto made = inLayout(layout, std::move(*measured));
    if (!made) return tl::unexpected(made.error());
    const std::vector<PutBytes> nowhere(made->fields.list.size(),
                                        [](std::uint64_t, std::span<const std::byte>) { return Result<void>(); });
    return writeFields(made->tensor, made->fields.list, nowhere);
}

/// Why a taken tensor cannot be written.
struct Refusal {
    std::string why = {};   ///< "": it can
    bool overflows = false; ///< what it becomes is not finite
};
Result<Refusal> refusal(const Model& model, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout,
                        NonFinites when, const Job& job) {
    if (auto ok = checkWritable(tensor, spec, layout); !ok) return Refusal{ok.error().sentence()};
    if (when == NonFinites::WhileWritten) return Refusal();
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const auto found = countNotTaken(forScan(*view, kReadBytes), spec, job);
    if (!found) return tl::unexpected(found.error());
    if (found->any() && spec.effectiveNan() != NanPolicy::Skip)
        return Refusal{notTakenError(tensor, spec, *found).sentence()};
    const auto calibration = spec.effectiveCalibration().arguments;
    const float factor = calibration.empty() ? 1.0f : std::max(1.0f, float(calibration.front()));
    if (found->largest * factor <= kSurelyHeld) return Refusal();
    const auto tried = tryWriting(model, tensor, spec, layout, job);
    if (!tried && tried.error().cancelled) return tl::unexpected(tried.error());
    return tried ? Refusal() : Refusal{tried.error().sentence(), true};
}

/// The same; a field of a stored tensor is refused too, because its reader needs it as it is. `fields`: storedFields()
/// of the model.
Result<Refusal> whyRefused(const Model& model, const TakenTensor& taken, const Layout& layout, NonFinites when,
                           const std::map<std::string, std::string>& fields, const Job& job) {
    const auto part = fields.find(taken.tensor->name);
    if (part != fields.end())
        return Refusal{
            fmt::format("tensor '{}' {}", escapeForPeople(taken.tensor->name, 80), partReason(part->second))};
    return refusal(model, *taken.tensor, taken.spec(), layout, when, job);
}

/// Specs that fit all tensors which the user gave the same spec as the refused one; none if no spec fits.
std::vector<QuantSpec> offersFor(const Model& model, const QuantizeRequest& request,
                                 const std::vector<TakenTensor>& taken, const TensorInfo& refused,
                                 const Layout& layout) {
    const auto found = std::ranges::find_if(taken, [&](const TakenTensor& one) { return one.tensor == &refused; });
    if (found == taken.end() || layout.accepts(found->spec(), asWritten(layout, refused).shape)) return {};
    const auto asked = askedTensors(model, request);
    if (!asked) return {};
    std::map<std::string_view, const QuantSpec*> specs; // before forTensor(), which differs from tensor to tensor
    for (const AskedTensor& one : *asked) specs[one.tensor->name] = one.spec;
    const QuantSpec* wanted = specs[refused.name];
    if (!wanted) return {};
    std::vector<const TensorInfo*> tensors;
    for (const TakenTensor& one : taken)
        if (const QuantSpec* spec = specs[one.tensor->name]; spec && *spec == *wanted) tensors.push_back(one.tensor);
    return specsThatFit(*wanted, tensors, &layout);
}

/// Specs under which what the tensor becomes is finite: other types of scales, then formats of about as many bits, those
/// with scales beside their codes first.
std::vector<QuantSpec> finiteNear(const Model& model, const TakenTensor& refused, const Layout& layout,
                                  const Job& job) {
    const QuantSpec& wanted = refused.spec();
    std::vector<QuantSpec> candidates, out;
    for (const auto id : scaleTypesOf(wanted)) {
        candidates.push_back(wanted);
        candidates.back().scaleType = std::string(id);
    }
    std::vector<const FormatTraits*> near;
    for (const FormatTraits& format : formats()) near.push_back(&format);
    const auto distance = [&](const FormatTraits* format) {
        return std::pair(format->kind == FormatKind::Superblock, std::abs(format->bits - wanted.traits().bits));
    };
    std::ranges::stable_sort(near, {}, distance);
    for (const FormatTraits* format : near) {
        candidates.emplace_back().format = format->id;
        candidates.back().nan = wanted.nan;
    }
    int trials = 0;
    for (const QuantSpec& spec : candidates) {
        if (out.size() == 2 || trials == kMostTrials) break;
        if (spec == wanted || !validate(spec) || !layout.accepts(spec, refused.tensor->shape)) continue;
        ++trials;
        if (tryWriting(model, *refused.tensor, spec, layout, job)) out.push_back(spec);
    }
    return out;
}

} // namespace

Result<void> checkAll(const Model& model, const QuantizeRequest& request, const std::vector<TakenTensor>& taken,
                      const Layout& layout, NonFinites when, const Job& job) {
    std::vector<const TensorInfo*> refused, all;
    Refusal first;
    const TakenTensor* firstTaken = nullptr;
    const auto fields = storedFields(model);
    for (const TakenTensor& one : taken) {
        if (job.cancelled()) return cancelledError();
        all.push_back(one.tensor);
        auto why = whyRefused(model, one, layout, when, fields, job);
        if (!why) return tl::unexpected(why.error());
        if (why->why.empty()) continue;
        if (refused.empty()) first = std::move(*why), firstTaken = &one;
        refused.push_back(one.tensor);
    }
    if (refused.empty()) return {};
    if (when == NonFinites::WhileWritten) return checkAll(model, request, taken, layout, NonFinites::Before, job);
    first.why += offersText(first.overflows ? finiteNear(model, *firstTaken, layout, job)
                                            : offersFor(model, request, taken, *refused.front(), layout));
    const std::string filter = filterWithout(model, all, refused);
    std::string message = fmt::format("{}: {} of {} tensors cannot be quantized, nothing was written; {}",
                                      escapeForPeople(model.path, 160), refused.size(), taken.size(), first.why);
    if (!filter.empty()) message += fmt::format("; --tensor '{}' leaves them out", filter);
    return fail(std::move(message));
}

Result<void> skipRefused(const Model& model, const Layout& layout, std::vector<TakenTensor>& taken, WrittenFiles& kept,
                         const Job& job) {
    std::vector<TakenTensor> fine;
    const auto fields = storedFields(model);
    for (TakenTensor& one : taken) {
        if (job.cancelled()) return cancelledError();
        auto why = whyRefused(model, one, layout, NonFinites::Before, fields, job);
        if (!why) return tl::unexpected(why.error());
        if (why->why.empty())
            fine.push_back(std::move(one));
        else
            kept.skipped.push_back({one.tensor->name, std::move(why->why)});
    }
    if (fine.empty())
        return fail(fmt::format("{}: all {} tensors are refused, nothing was written; {}",
                                escapeForPeople(model.path, 160), taken.size(), kept.skipped.front().reason));
    taken = std::move(fine);
    return {};
}

} // namespace qs
