// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/page.h"

namespace qs::gui {

// A row belongs here as soon as its page exists; the order is the rail's.
std::span<const PageTraits> pages() {
    static const PageTraits list[] = {
        {.id = "start",
         .title = "Open",
         .icon = "open",
         .tip = "Open a checkpoint, a recent one or the sample.",
         .usesSpecBar = false,
         .usesBrowser = false,
         .create = createStartPage},
        {.id = "overview",
         .title = "Overview",
         .icon = "overview",
         .tip = "The whole model: which tensor hurts.",
         .usesSpecBar = true,
         .usesBrowser = true,
         .create = createOverviewPage},
        {.id = "tensor",
         .title = "Tensor",
         .icon = "tensor",
         .tip = "One tensor: density and levels, error, block map, the block under the mouse.",
         .usesSpecBar = true,
         .usesBrowser = true,
         .create = createTensorPage},
        {.id = "codebook",
         .title = "Codebook",
         .icon = "codebook",
         .tip = "Levels, boundaries, occupancy, and what the decode costs.",
         .usesSpecBar = true,
         .usesBrowser = true,
         .create = createCodebookPage},
        {.id = "compare",
         .title = "Compare",
         .icon = "compare",
         .tip = "One tensor under two specs, and the difference.",
         .usesSpecBar = true,
         .usesBrowser = true,
         .create = createComparePage},
        {.id = "labs",
         .title = "Labs",
         .icon = "labs",
         .tip = "Tensor operations, training through the rounding, the products of a layer, the KV cache.",
         .usesSpecBar = true,
         .usesBrowser = true,
         .create = createLabsPage},
        {.id = "backends",
         .title = "Backends",
         .icon = "backends",
         .tip = "Quantized matrix products on every backend: right first, then how fast.",
         .usesSpecBar = true,
         .usesBrowser = false,
         .create = createBackendsPage},
        {.id = "report",
         .title = "Report",
         .icon = "report",
         .tip = "The whole model as a document: HTML, PDF, Markdown, JSON, CSV.",
         .usesSpecBar = true,
         .usesBrowser = false,
         .create = createReportPage},
    };
    return list;
}

} // namespace qs::gui
