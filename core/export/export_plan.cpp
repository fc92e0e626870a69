// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/export_plan.h"

#include "core/base/text.h"
#include "core/export/recipe.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/offers.h"
#include "core/layouts/serve.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"
#include "core/model/derived_tensor.h"

#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

/// What a quantized tensor will be in the file.
struct InFile {
    std::uint64_t bytes = 0;
    std::size_t tensors = 0;
};

Result<InFile> inFile(const Model& model, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout,
                      const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto measured = MeasuredTensor::of(*view, spec, job);
    if (!measured) return tl::unexpected(measured.error());
    const auto made = inLayout(layout, std::move(*measured));
    if (!made) return tl::unexpected(made.error());
    return InFile{bytesOf(made->fields), made->fields.list.size()};
}

Result<void> planCopy(const Model& model, const Layout& layout, PlannedTensor& row, const TensorInfo& tensor) {
    const auto copy = layout.copy ? layout.copy(model, tensor) : copyOf(model, tensor);
    if (!copy) return tl::unexpected(copy.error());
    row.bytes = bytesOf(*copy);
    const bool stored = tensor.packed || (tensor.derived && !tensor.derived->fields().empty());
    if (row.becomes == Becomes::Copied && stored && row.bytes != storedBytes(tensor)) row.becomes = Becomes::Decoded;
    return {};
}

void count(ExportPlan& plan, const PlannedTensor& row) {
    plan.bytes += row.bytes, plan.elements += row.elements;
    switch (row.becomes) {
    case Becomes::Quantized:
        ++plan.quantized, plan.quantizedElements += row.elements, plan.quantizedBytes += row.bytes;
        break;
    case Becomes::Decoded: ++plan.decoded; break;
    case Becomes::Stays: ++plan.stays; break;
    case Becomes::Refused: ++plan.refused; break;
    case Becomes::Copied:
    case Becomes::Unread: break;
    }
}

/// The tensors that the request's spec or that of a rule is for, and whether it fits them all.
struct Given {
    std::vector<const TensorInfo*> tensors;
    bool fits = true;
};

std::vector<PlanOffer> offersOf(const std::map<const QuantSpec*, Given>& given, const QuantizeRequest& request,
                                const Layout& layout) {
    std::vector<PlanOffer> offers;
    const auto add = [&](std::optional<std::size_t> rule, const QuantSpec& spec) {
        const auto found = given.find(&spec);
        if (found == given.end() || found->second.fits) return;
        for (QuantSpec& one : specsThatFit(spec, found->second.tensors, &layout))
            offers.push_back({nullptr, rule, std::move(one), false});
    };
    add({}, request.spec);
    // Offers changes for the first wrong rule only. The next rule gets its offers after this one is corrected.
    for (std::size_t i = 0; i < request.rules.size() && offers.empty(); ++i)
        if (request.rules[i].spec) add(i, *request.rules[i].spec);
    return offers;
}

/// What becomes of the tensors, before the bytes are known.
struct Decided {
    std::vector<TakenTensor> taken;
    std::string refusal; ///< the first
    std::map<const QuantSpec*, Given> given;
};

/// Decides what becomes of a tensor, before its bytes are known. Valid while the request is.
class Decider {
public:
    static Result<Decider> of(const Model& model, const QuantizeRequest& request, const Layout& layout) {
        auto ask = Ask::of(model, request);
        if (!ask) return tl::unexpected(ask.error());
        return Decider(model, std::move(*ask), storedFields(model), layout);
    }
    /// The row of a tensor. If the tensor is asked for and the layout does not leave it alone, `spec` and `asked` are set.
    struct Row {
        PlannedTensor planned;
        std::optional<QuantSpec> spec;    ///< for this tensor
        const QuantSpec* asked = nullptr; ///< in the request
    };
    Row of(const TensorInfo& tensor) const {
        Row out;
        PlannedTensor& row = out.planned;
        row.name = tensor.name, row.dtype = tensor.typeId(), row.shape = tensor.shape, row.elements = tensor.elements;
        const auto one = ask_(tensor);
        if (!one) {
            row.reason = ask_.whyLeft(tensor);
            if (!row.reason.empty()) row.becomes = Becomes::Stays;
            return out;
        }
        if (auto held = leftAlone(model_, *one, *layout_); !held) {
            row.becomes = Becomes::Stays, row.reason = held.error().sentence();
            return out;
        }
        out.asked = one->spec, out.spec = forTensor(*one->spec, asWritten(*layout_, tensor));
        row.spec = specText(*out.spec);
        const auto part = parts_.find(tensor.name);
        row.reason =
            part != parts_.end() ? "it " + partReason(part->second) : whyNotWritable(tensor, *out.spec, *layout_);
        row.becomes = row.reason.empty() ? Becomes::Quantized : Becomes::Refused;
        return out;
    }

private:
    Decider(const Model& model, Ask ask, std::map<std::string, std::string> parts, const Layout& layout)
        : model_(&model), ask_(std::move(ask)), parts_(std::move(parts)), layout_(&layout) {}

    const Model* model_;
    Ask ask_;
    std::map<std::string, std::string> parts_;
    const Layout* layout_;
};

Result<Decided> decideAll(const Model& model, const QuantizeRequest& request, const Layout& layout,
                          std::vector<PlannedTensor>* rows = nullptr) {
    const auto decider = Decider::of(model, request, layout);
    if (!decider) return tl::unexpected(decider.error());
    Decided all;
    if (rows) rows->reserve(model.tensors.size());
    for (const TensorInfo& tensor : model.tensors) {
        auto row = decider->of(tensor);
        if (row.spec) {
            const std::string& reason = row.planned.reason;
            if (!reason.empty() && all.refusal.empty())
                all.refusal = fmt::format("tensor '{}': {}", escapeForPeople(tensor.name, 80), reason);
            Given& mates = all.given[row.asked];
            mates.tensors.push_back(&tensor);
            mates.fits = mates.fits && layout.accepts(*row.spec, asWritten(layout, tensor).shape);
            all.taken.push_back({&tensor, sharedSpec(std::move(*row.spec), all.taken)});
        }
        if (rows) rows->push_back(std::move(row.planned));
    }
    return all;
}

/// The entries of config.json, or an error: why nothing would be written.
Result<std::string> configOf(const Model& model, const QuantizeRequest& request, const Layout& layout,
                             const Decided& all) {
    if (const auto can = checkModel(model, layout); !can) return tl::unexpected(can.error());
    if (!all.refusal.empty()) return fail(all.refusal);
    WrittenFiles kept;
    if (const auto some = takenTensors(model, request, layout, kept); !some) return tl::unexpected(some.error());
    auto taken = all.taken;
    auto together = takenTogether(model, taken, layout, [](const Model&) { return Result<void>(); });
    if (!together) return tl::unexpected(together.error());
    return std::move(together->config);
}

/// The layout in which `quantize` stores the specs, else the first one, in files of the same kind, that can write all of the
/// request.
std::optional<PlanOffer> otherLayout(const Model& model, const QuantizeRequest& request, const Layout& layout) {
    QuantizeRequest any = request;
    any.layout.clear(), any.output.clear();
    const auto own = requestedLayout(any);
    std::vector<const Layout*> order;
    if (own) order.push_back(*own);
    for (const Layout& other : layouts()) order.push_back(&other);
    for (const Layout* other : order) {
        if (other == &layout || other->fileEnding) continue;
        const auto decided = decideAll(model, request, *other);
        if (decided && configOf(model, request, *other, *decided)) return PlanOffer{other, {}, {}};
    }
    return {};
}

/// Sets the bytes of a row. `taken`: the spec of the tensor; null: it is copied. Returns how many tensors of the file hold
/// it.
Result<std::size_t> setBytes(const Model& model, const Layout& layout, const TensorInfo& tensor, const QuantSpec* taken,
                             PlannedTensor& row, const Job& job) {
    if (tensor.isUnread()) {
        row.becomes = Becomes::Unread, row.reason = "it cannot be read";
        return 0;
    }
    if (!taken) {
        if (auto ok = planCopy(model, layout, row, tensor); !ok) return tl::unexpected(ok.error());
        return 1;
    }
    if (row.becomes != Becomes::Quantized) return 0;
    const auto other = isTurned(layout, tensor) ? turned(model, tensor) : nullptr;
    const auto there = inFile(model, other ? *other : tensor, *taken, layout, job);
    if (!there) return tl::unexpected(there.error());
    row.bytes = there->bytes;
    return there->tensors;
}

/// Sets the bytes of all rows. Returns the number of tensors that the output will have.
Result<std::size_t> countBytes(const Model& model, const Layout& layout, const std::vector<TakenTensor>& taken,
                               ExportPlan& plan, const Job& job) {
    std::vector<WrittenTensor> sizes;
    std::size_t next = 0, written = 0; // of taken; tensors of the file
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        if (job.cancelled()) return cancelledError();
        const TensorInfo& tensor = model.tensors[i];
        PlannedTensor& row = plan.tensors[i];
        const QuantSpec* spec = next < taken.size() && taken[next].tensor == &tensor ? &taken[next++].spec() : nullptr;
        const auto tensors = setBytes(model, layout, tensor, spec, row, job);
        if (!tensors) return tl::unexpected(tensors.error());
        written += *tensors;
        if (spec && row.becomes == Becomes::Quantized) sizes.push_back({&tensor, spec, row.bytes});
        count(plan, row);
    }
    plan.remarks = writingRemarks(layout, {sizes.size(), [&](std::size_t i) { return sizes[i]; }});
    return written;
}

} // namespace

std::string becomesText(const PlannedTensor& row) {
    switch (row.becomes) {
    case Becomes::Quantized: return row.spec;
    case Becomes::Copied: return "copied";
    case Becomes::Decoded: return "decoded to its values";
    case Becomes::Stays: return "stays: " + row.reason;
    case Becomes::Unread: return "left out: " + row.reason;
    case Becomes::Refused: break;
    }
    return "refused: " + row.reason;
}

Result<ExportPlan> planExport(const Model& model, const QuantizeRequest& request, const Job& job) {
    const auto found = requestedLayout(request);
    if (!found) return tl::unexpected(found.error());
    const Layout& layout = **found;
    ExportPlan plan;
    auto decided = decideAll(model, request, layout, &plan.tensors);
    if (!decided) return tl::unexpected(decided.error());
    plan.unmatched = unmatchedRules({std::nullopt, request.rules}, model);
    if (!decided->refusal.empty() && !request.skipRefused)
        if (auto offer = otherLayout(model, request, layout)) plan.offers.push_back(std::move(*offer));
    for (PlanOffer& offer : offersOf(decided->given, request, layout)) plan.offers.push_back(std::move(offer));
    if (const auto whole = checkWhole(model, request.allowMissing); !whole) {
        plan.problem = whole.error().sentence();
        plan.offers.insert(plan.offers.begin(), PlanOffer{nullptr, {}, {}, true});
        return plan;
    }
    if (layout.warns) plan.warning = layout.warns(decided->taken);
    const auto config = configOf(model, request, layout, *decided);
    if (!config) plan.problem = config.error().sentence();
    const auto written = countBytes(model, layout, decided->taken, plan, job);
    if (!written) return tl::unexpected(written.error());
    if (const auto fits = checkCount(model, layout, *written); !fits && plan.problem.empty()) {
        plan.problem = fits.error().sentence();
        if (auto offer = otherLayout(model, request, layout))
            plan.offers.insert(plan.offers.begin(), std::move(*offer));
    }
    return plan;
}

Result<void> eachPlanned(const Model& model, const QuantizeRequest& request,
                         const std::function<void(const PlannedTensor& row)>& take, const Job& job,
                         const TensorInfo* only) {
    const auto layout = requestedLayout(request);
    if (!layout) return tl::unexpected(layout.error());
    const auto decider = Decider::of(model, request, **layout);
    if (!decider) return tl::unexpected(decider.error());
    for (const TensorInfo& tensor : model.tensors) {
        if (job.cancelled()) return cancelledError();
        if (only && only != &tensor) continue;
        auto row = decider->of(tensor);
        const auto set = setBytes(model, **layout, tensor, row.spec ? &*row.spec : nullptr, row.planned, job);
        if (!set) return tl::unexpected(set.error());
        take(row.planned);
    }
    return {};
}

std::string summaryText(const ExportPlan& plan) {
    if (!plan.problem.empty())
        return plan.refused > 0 ? fmt::format("{} of {} tensors cannot be written this way, so nothing would be: {}.",
                                              plan.refused, plan.refused + plan.quantized, plan.problem)
                                : plan.problem + '.';
    std::string text =
        fmt::format("{} of {} tensors quantized at {:.4f} bpw; {:.4f} bpw over all tensors of the file, {}.",
                    plan.quantized, plan.tensors.size(),
                    plan.quantizedElements ? 8.0 * double(plan.quantizedBytes) / double(plan.quantizedElements) : 0.0,
                    plan.elements ? 8.0 * double(plan.bytes) / double(plan.elements) : 0.0, bytesText(plan.bytes));
    if (plan.stays > 0) text += fmt::format(" {} stay as they are in this layout.", plan.stays);
    if (plan.decoded > 0)
        text += fmt::format(" {} are stored quantized in the source and are written as the values that they decode to.",
                            plan.decoded);
    if (!plan.warning.empty()) text += ' ' + plan.warning;
    for (const std::string& remark : plan.remarks) text += " " + remark;
    for (const std::string& rule : plan.unmatched)
        text += fmt::format(" The rule '{}' matches no tensor.", escapeForPeople(rule, 60));
    return text;
}

const Columns<PlannedTensor>& planColumns() {
    using P = PlannedTensor;
    const auto text = [](const char* id, const char* title, Value (*value)(const P&)) {
        return Column<P>{{id, title, "", Show::Text, 0, Direction::None, ""}, value};
    };
    static const Columns<P> columns = {
        {{"tensor", "Tensor", "", Show::Name, 0, Direction::None, ""},
         [](const P& p) -> Value { return escapeForPeople(p.name, 500); }},
        text("becomes", "Becomes", [](const P& p) -> Value { return becomesText(p); }),
        text("dtype", "From", [](const P& p) -> Value { return p.dtype.text(); }),
        text("shape", "Shape", [](const P& p) -> Value { return shapeTimes(p.shape); }),
        {{"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, "8 x bytes / elements", false},
         [](const P& p) -> Value {
             return p.bytes && p.elements ? Value{8.0 * double(p.bytes) / double(p.elements)} : Value{};
         }},
        {{"bytes", "Bytes", "", Show::Bytes, 0, Direction::None, "Bytes that the layout will write", false},
         [](const P& p) -> Value { return p.becomes == Becomes::Refused ? Value{} : Value{std::int64_t(p.bytes)}; }}};
    return columns;
}

} // namespace qs
