// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A plan of an export: what would be written, tensor by tensor. It asks the layout the same questions as
// quantizeModel(). NaN, Inf and a full disk are found only while files are written.

#include "core/base/column.h"
#include "core/base/shared_text.h"
#include "core/layouts/layout.h"

namespace qs {

enum class Becomes {
    Quantized,
    Copied,
    Decoded, ///< stored quantized in the source, written as the values that it decodes to
    Stays,   ///< not quantized, because the layout's readers expect it as it is
    Unread,  ///< left out, because its values cannot be read
    Refused  ///< the layout cannot write it as asked; then nothing is written
};

struct PlannedTensor {
    std::string name;
    SharedText spec;  ///< "" unless Quantized or Refused
    SharedText dtype; ///< dtype in the source
    TensorShape shape;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0; ///< bytes that the layout will write; 0 if refused
    Becomes becomes = Becomes::Copied;
    std::string reason; ///< why it stays or is refused; does not name the tensor
};

/// A change that lets what is refused be written: another layout, a spec that the layout can write in the place of the
/// request's spec or of the spec of one of its rules, or that parts of the source may be missing.
struct PlanOffer {
    const Layout* layout = nullptr;  ///< set: this layout writes the whole request as it is
    std::optional<std::size_t> rule; ///< index of the rule; empty: `spec` replaces the request's spec
    QuantSpec spec;
    bool allowsMissing = false; ///< nothing else is set: QuantizeRequest::allowMissing
};

struct ExportPlan {
    std::vector<PlannedTensor> tensors;    ///< in the order of the model
    std::string problem;                   ///< one sentence: why nothing can be written; "" if no reason is known
    std::string warning;                   ///< what readers of the layout cannot do with it; "" if nothing
    std::vector<PlanOffer> offers;         ///< a layout if one fits, then specs, the nearest first
    std::vector<std::string> unmatched;    ///< rules that match no tensor
    std::vector<std::string> remarks;      ///< see writingRemarks()
    std::uint64_t bytes = 0, elements = 0; ///< sums over all tensors
    std::uint64_t quantized = 0, quantizedElements = 0, quantizedBytes = 0;
    std::uint64_t decoded = 0, stays = 0, refused = 0;
};

/// Fails if a rule is not a regular expression, a spec is not valid, or the layout does not exist.
Result<ExportPlan> planExport(const Model& model, const QuantizeRequest& request, const Job& job = {});
/// Passes the row of each tensor, in the order of the model, without a list of them: a model may have a million. The rows
/// are those of planExport(), and so are the errors. `only`: the row of this tensor alone; null: all.
Result<void> eachPlanned(const Model& model, const QuantizeRequest& request,
                         const std::function<void(const PlannedTensor& row)>& take, const Job& job,
                         const TensorInfo* only = nullptr);
/// "42 of 75 tensors at 4.5000 bpw, 3.41 MiB"
std::string summaryText(const ExportPlan& plan);
/// The text of the column "becomes": the spec, "copied", or "refused: ..." with the reason.
std::string becomesText(const PlannedTensor& row);
const Columns<PlannedTensor>& planColumns();

} // namespace qs
