// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an export would write, tensor by tensor, before anything is written. It asks the layout what quantizeModel()
// asks. NaN, Inf and a full disk are found only by writing.

#include "core/base/column.h"
#include "core/base/shared_text.h"
#include "core/layouts/layout.h"

namespace qs {

enum class Becomes {
    Quantized,
    Copied,
    Decoded, ///< stored quantized in the source, written as the values that it decodes to
    Stays,   ///< would be quantized, but the layout's readers take it as it is
    Refused  ///< asked for, and the layout cannot: nothing is written
};

struct PlannedTensor {
    std::string name;
    SharedText spec;  ///< "" unless Quantized or Refused
    SharedText dtype; ///< of the source
    TensorShape shape;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0; ///< that the layout will write; 0 when refused
    Becomes becomes = Becomes::Copied;
    std::string reason; ///< of Stays and Refused
};

/// A spec that the layout writes for all tensors that the request's own spec, or that of a rule, is for.
struct PlanOffer {
    std::optional<std::size_t> rule; ///< of the request's rules; none: in the place of the request's spec
    QuantSpec spec;
};

struct ExportPlan {
    std::vector<PlannedTensor> tensors;    ///< in the order of the model
    std::string problem;                   ///< why nothing can be written as it stands, one sentence; "": nothing known
    std::string warning;                   ///< what readers of the layout do not do with it; "": nothing to say
    std::vector<PlanOffer> offers;         ///< in the place of specs that are refused, the nearest first
    std::vector<std::string> unmatched;    ///< rules that match no tensor
    std::vector<std::string> remarks;      ///< see writingRemarks()
    std::uint64_t bytes = 0, elements = 0; ///< of all tensors
    std::uint64_t quantized = 0, quantizedElements = 0, quantizedBytes = 0;
    std::uint64_t decoded = 0, stays = 0, refused = 0;
};

/// Fails on a rule that is no regular expression, a spec that is none, a layout that does not exist.
Result<ExportPlan> planExport(const Model& model, const QuantizeRequest& request, const Job& job = {});
/// "42 of 75 tensors at 4.5000 bpw, 3.41 MiB"
std::string summaryText(const ExportPlan& plan);
const Columns<PlannedTensor>& planColumns();

} // namespace qs
