// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/page.h"

namespace qs::gui {

constinit const PageTraits kStartPage = {.id = "start",
                                         .title = "Open",
                                         .icon = "open",
                                         .tip = "Open a checkpoint, a recent one or the sample.",
                                         .guide = "file-formats.md",
                                         .sketch = Sketch::Kind::Text,
                                         .group = PageGroup::Open,
                                         .usesSpecBar = false,
                                         .usesBrowser = false,
                                         .create = createStartPage};
constinit const PageTraits kOverviewPage = {.id = "overview",
                                            .title = "Overview",
                                            .icon = "overview",
                                            .tip = "The whole model: which tensor hurts.",
                                            .guide = "find-the-layer.md",
                                            .sketch = Sketch::Kind::Map,
                                            .group = PageGroup::Look,
                                            .create = createOverviewPage};
constinit const PageTraits kTensorPage = {
    .id = "tensor",
    .title = "Tensor",
    .icon = "tensor",
    .tip = "One tensor: density and levels, error, block map, the block under the mouse.",
    .guide = "reading-the-figures.md#what-each-one-means-and-what-it-does-not",
    .sketch = Sketch::Kind::Levels,
    .group = PageGroup::Look,
    .create = createTensorPage};
constinit const PageTraits kCodebookPage = {.id = "codebook",
                                            .title = "Codebook",
                                            .icon = "codebook",
                                            .tip = "Levels, boundaries, occupancy, and what the decode costs.",
                                            .guide = "add-a-format.md#levels-of-your-own",
                                            .sketch = Sketch::Kind::Histogram,
                                            .group = PageGroup::Look,
                                            .create = createCodebookPage};
constinit const PageTraits kComparePage = {.id = "compare",
                                           .title = "Compare",
                                           .icon = "compare",
                                           .tip = "One tensor under two specs, and the difference.",
                                           .guide = "choose-a-format.md",
                                           .sketch = Sketch::Kind::Levels,
                                           .group = PageGroup::Look,
                                           .create = createComparePage};
constinit const PageTraits kEvidencePage = {
    .id = "evidence",
    .title = "Evidence",
    .icon = "evidence",
    .tip = "What quantization does to the model's output on a text: KL, perplexity, the worst tokens.",
    .guide = "find-the-layer.md#2-measure-the-output",
    .sketch = Sketch::Kind::Curves,
    .group = PageGroup::Check,
    .usesBrowser = false,
    .create = createEvidencePage};
constinit const PageTraits kBackendsPage = {
    .id = "backends",
    .title = "Backends",
    .icon = "backends",
    .tip = "Quantized matrix products on every backend: right first, then how fast.",
    .guide = "backends.md#comparing",
    .sketch = Sketch::Kind::Roof,
    .group = PageGroup::Check,
    .usesBrowser = false,
    .create = createBackendsPage};
constinit const PageTraits kReportPage = {.id = "report",
                                          .title = "Report",
                                          .icon = "report",
                                          .tip = "The whole model as a document: HTML, PDF, Markdown, JSON, CSV.",
                                          .guide = "reading-the-figures.md",
                                          .sketch = Sketch::Kind::Text,
                                          .group = PageGroup::Deliver,
                                          .usesBrowser = false,
                                          .create = createReportPage};
constinit const PageTraits kExportPage = {
    .id = "export",
    .title = "Export",
    .icon = "export",
    .tip = "Write the quantized model, open it again, and prove every value: the certificate.",
    .guide = "plan-and-export.md#3-export",
    .sketch = Sketch::Kind::Table,
    .group = PageGroup::Deliver,
    .usesBrowser = false,
    .create = createExportPage};
constinit const PageTraits kPlanPage = {
    .id = "plan",
    .title = "Plan",
    .icon = "plan",
    .tip = "A spec for every tensor under a budget: exact, tested against chance, then the recipe.",
    .guide = "plan-and-export.md#1-plan",
    .sketch = Sketch::Kind::Frontier,
    .group = PageGroup::Decide,
    .usesBrowser = false,
    .create = createPlanPage};

std::span<const PageTraits> pages() {
    static const PageTraits list[] = {
        kStartPage,
        kOverviewPage,
        kTensorPage,
        kCodebookPage,
        kComparePage,
        {.id = "sweep",
         .title = "Sweep",
         .icon = "sweep",
         .tip = "Formats times block sizes: SQNR against true bits per weight, and the frontier.",
         .guide = "choose-a-format.md#1-leave-a-few-sweep",
         .sketch = Sketch::Kind::Frontier,
         .group = PageGroup::Decide,
         .create = createSweepPage},
        kPlanPage,
        {.id = "labs",
         .title = "Labs",
         .icon = "labs",
         .tip = "Tensor operations, training through the rounding, the products of a layer, the KV cache.",
         .guide = "formats-and-specs.md#solvers",
         .sketch = Sketch::Kind::Curves,
         .group = PageGroup::Decide,
         .create = createLabsPage},
        kEvidencePage,
        {.id = "audit",
         .title = "Audit",
         .icon = "audit",
         .tip = "Whether the checkpoint is what it says it is, and how it differs from another one.",
         .guide = "file-formats.md#checkpoints-that-are-quantized-already",
         .sketch = Sketch::Kind::Table,
         .group = PageGroup::Check,
         .usesSpecBar = false,
         .create = createAuditPage},
        kBackendsPage,
        kReportPage,
        kExportPage,
    };
    return list;
}

const char* groupTitle(PageGroup group) {
    switch (group) {
    case PageGroup::Open: return "";
    case PageGroup::Look: return "Look";
    case PageGroup::Decide: return "Decide";
    case PageGroup::Check: return "Check";
    case PageGroup::Deliver: return "Deliver";
    }
    return "";
}

} // namespace qs::gui
