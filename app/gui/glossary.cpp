// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/glossary.h"

#include "core/analysis/analysis.h"

#include <algorithm>
#include <sstream>

namespace qs::gui {
namespace {

// In all texts: W is the weight, V what its codes decode to, E = V - W.
constexpr CardEntry kEntries[] = {
    // Overview
    {"Layer × role",
     "One cell for each layer and role, the worst tensor where several share it. Bright is worse. Hatched: not "
     "measured. A click opens the tensor. The title says what is drawn: a figure that was measured on the model's "
     "output, or a proxy, which ranks weights and says nothing of the output.",
     "nmse sqnr_db kl_alone"},
    {"Worst tensors first",
     "Tensors sorted by the metric chosen above, the worst one on top. The arrow says which way "
     "is better. A dot instead of a bar: the values lie far from 0.",
     "nmse sqnr_db"},
    {"SQNR of all tensors",
     "How many tensors have which SQNR under the recipe. The dashed line is the median. Tensors "
     "without an error have none and are counted apart.",
     "sqnr_db"},
    {"Cumulative squared error",
     "Tensors from the worst to the best; the height is the share of the whole squared "
     "error ||E||^2 that the first x of them make, in %.",
     "mse"},
    {"Bytes by format",
     "Bytes of all tensors before and after, by format. Codes, scales and padding are counted; "
     "bits per weight are 8 x bytes / elements.",
     ""},
    {"Specs × roles",
     "One row for each spec of the set, one column for each role (its worst tensor) or tensor. Bright is "
     "worse.",
     "nmse sqnr_db"},
    {"Whole model, per spec", "Totals over all tensors that accept the spec. Bits per weight are 8 x bytes / elements.",
     "sqnr_db nmse"},
    {"Spec set", "The specs that are measured side by side. A tick adds one; a preset can be typed.", ""},
    // Tensor
    {"Weight density and levels",
     "The distribution of weights divided by their scale, and the levels that they are rounded to. y is a density: "
     "the area is 1. A level where no weights are is wasted; a gap under a peak causes error.",
     "code_entropy dead_codes"},
    {"Signed error",
     "How often each error E = V - W occurs, with the percentiles p50, p95 and p99 of its size. ECDF "
     "shows the share of errors up to x. symlog keeps the largest error in view.",
     "p50 p95 p99 max_abs bias"},
    {"Channel profile",
     "The largest |w| and the error of each row of the matrix. A row far above the others is an "
     "outlier channel: it widens the scale of all that share it.",
     "outlier_channels kurtosis crest"},
    {"Block map: NMSE per block",
     "The error of each block that shares a scale, in its place in the matrix. Bright is "
     "worse. A click opens the block below.",
     "nmse"},
    {"Block", "The values of one block, its scale, the codes, what they decode to, and the cause of its error.",
     "nmse"},
    // Codebook
    {"Levels over the density",
     "The codes' levels over the density of the scaled weights. Drag a level to try another "
     "codebook; boundaries are the middles between levels.",
     "sqnr_db"},
    {"Occupancy and error",
     "For each code, its share of the weights and its share of the squared error. Equal error "
     "shares mean a good codebook for this tensor.",
     "code_entropy dead_codes"},
    {"Codes", "Each code with its level, its boundaries, its share of weights and of the error.",
     "code_entropy dead_codes"},
    {"Table against polynomial decode",
     "The difference between the levels of the table and those of the polynomial that "
     "some kernels evaluate, level by level.",
     ""},
    {"Distance to the best levels",
     "How many dB the best levels for this very tensor (Lloyd-Max), and the "
     "rate-distortion bound at the same bits, are above the format's levels.",
     "lloyd_gap_db sqnr_db"},
    // Compare
    {"Block map: NMSE",
     "The error of each block under this spec. With locked scales both sides share one range of "
     "colours.",
     "nmse"},
    {"Key figures", "The figures of A and B, and B minus A. The last column says which of them is better.",
     "sqnr_db nmse max_abs"},
    {"Signed error, B − A", "The share of errors under B minus that under A. Above 0: B has more errors of that size.",
     ""},
    {"Block map, B − A", "The error of B minus that of A, part by part. Blue: B is better.", "nmse"},
    // Sweep
    {"What is planned",
     "The specs that a tensor may get, the layout whose stored bytes count, and the loss whose sum is made least. NMSE "
     "needs only the analysis; the others are measured on the page Evidence. A proxy is not of the model's output.",
     "nmse"},
    {"Predicted loss against size",
     "The line is the least sum of losses for every size of the file; no mixture of that size has less. Dots: the "
     "plan, "
     "the recipe of the session, the same spec everywhere, rules of thumb. The band holds random plans. A click sets "
     "the "
     "budget. Down and left is better.",
     ""},
    {"Measured KL against size",
     "KL of the plans that were measured, on text that no loss was measured on, beside uniform specs, rules of thumb, "
     "shuffled and random plans of equal bytes. The dashed line is the prediction, where it is a KL.",
     ""},
    {"Speed × error × size",
     "Every spec everywhere, at one M, against the error, a colour for each backend. The time a token is the sum of "
     "the "
     "measured medians of all matrix products, divided by M. The area of a dot is the size of the file. A click takes "
     "its time as the budget.",
     ""},
    {"Which spec when",
     "On each backend, the M from which one spec is faster than another. A crossing counts only where the 95 % "
     "intervals "
     "of both times are apart.",
     ""},
    {"Assignment: layers × roles",
     "A row for each role, layers from left to right. The width of a cell is its bytes, its colour the bits of its "
     "spec, "
     "and hatched cells are locked. The context menu gives a cell another spec or locks it.",
     ""},
    {"Units",
     "Tensors that get one spec together, with their bytes and their loss. A lock is a rule of the recipe that decides "
     "instead of the plan. Enter opens the tensor.",
     ""},
    {"Against chance",
     "Whether the plan is better than its own specs shuffled, than random plans of equal bytes, and than the best "
     "uniform "
     "spec. Rank p is (1 + draws with no more KL) / (draws + 1). Inside the random band: no better than chance.",
     ""},
    {"Measured plans",
     "Mean KL of the plan and of what it was measured beside, with its error by chunk. KL - plan is paired token by "
     "token: above 0 the plan is better.",
     ""},
    {"What is swept", "Formats, block sizes and scale types; every combination that makes sense is measured.", ""},
    {"SQNR against true bits per weight",
     "One mark per spec: x is 8 x stored bytes / elements, y the SQNR over the class of tensors. The heavy line joins "
     "the specs that no other spec beats. Up and left is better.",
     "sqnr_db"},
    {"Frontier", "The specs that no other one beats in size and error together.", "sqnr_db nmse"},
    // Evidence
    {"What is evaluated",
     "A text, cut into chunks, that the model reads with its stored weights and with those of each ticked spec. "
     "Positions "
     "start at 0 in each chunk.",
     ""},
    {"Effect on the output",
     "One row for each spec. KL is the mean over tokens of sum p ln(p / q): p the next-token distribution of the "
     "stored "
     "weights, q that of the quantized ones; 0 is equal. Perplexity is exp(mean negative log likelihood). Compare "
     "specs by the error by chunk.",
     ""},
    {"Mean KL so far",
     "The mean KL over the first x scored tokens. The band is one standard error by chunk of the chosen spec: where it "
     "is narrow, more text would change little.",
     ""},
    {"KL per token",
     "How many tokens have which KL, on a logarithmic axis. The lines are percentiles; few tokens often make most of "
     "the mean.",
     ""},
    {"KL against position",
     "The mean KL at each position of a chunk. A rise to the right: errors add up with the context.", ""},
    {"Effect on the embeddings",
     "One row for each spec. The embedding of a chunk is the mean of its tokens' last hidden states. The cosine "
     "compares the embedding under the spec with that of the stored weights: 1 is the same direction.",
     ""},
    {"Cosine of each chunk", "The cosine of the two embeddings of each chunk, in the order of the text.", ""},
    {"Chunks up to a cosine",
     "The share of chunks whose cosine is not above x. A steep rise at 1: nearly all chunks keep their direction.", ""},
    {"Effect by layer × role",
     "One cell for each tensor: what quantizing it does to the model's output, by the way that is chosen above. Bright "
     "is worse. Hatched: not measured.",
     ""},
    {"Tensors by their effect",
     "The same figure as bars, the largest first, with one standard error by chunk. A click opens the tensor.", ""},
    {"Predicted against measured",
     "One dot for each tensor: KL predicted from its slope and its NMSE against the KL with this tensor alone "
     "quantized. "
     "On the dashed line both are equal.",
     ""},
    {"Proxies against the output",
     "One panel for each pair: the order by a figure of the weights against the order by a figure of the output. On a "
     "rising line the proxy ranks right. τ is Kendall's tau-b with its 95 % interval.",
     ""},
    {"Agreement of proxies",
     "Kendall's tau-b of both orders: 1 is the same, 0 none, -1 the reverse; the interval is over samples of what is "
     "ranked. The last column names what the proxy ranks wrongly most often.",
     ""},
    {"Worst tokens in their text", "The tokens with the largest KL under the chosen spec, each in the text around it.",
     ""},
    // Audit
    {"Findings",
     "What is wrong or unusual in the checkpoint, with the figures that say so. A fault changes values; a "
     "warning is likely a mistake; a note is worth knowing.",
     ""},
    {"What was looked for", "Every check of the audit, what it found, and how many tensors it could judge.", ""},
    {"Weights that were read", "The statistics of each weight, as far as they are measured. A click opens the tensor.",
     ""},
    {"Differences from another checkpoint", "The tensors of two checkpoints, paired by name or values. E is B minus A.",
     "nmse sqnr_db max_abs"},
    // Labs
    {"After the operation",
     "The tensor is quantized, an operation is done on its codes or values, and the result is "
     "measured against the same operation on W.",
     "sqnr_db"},
    {"SQNR afterwards", "The SQNR of the result of each operation. Longer is better.", "sqnr_db"},
    {"Most bytes on one device", "The codes and scales that the fullest device holds after the operation.", ""},
    {"Operations",
     "The operations that are tried. Each field offers values that fit the tensor's shape; others can be typed.", ""},
    {"Output error while training", "The error of the layer's output after each step, and the best one so far.",
     "output_nmse"},
    {"Result", "The error of rounding to nearest, of the best step, and what was gained.", "output_nmse nmse"},
    {"Training",
     "Adam on the unrounded weights; the gradient passes the rounding unchanged (straight-through). The learning "
     "rate falls along half a cosine. If the error doubles, training returns to the best step with half the rate.",
     "output_nmse"},
    {"Products of the layer",
     "Y = X W^T, dX = G W and dW = G^T X with a spec for each operand; the error is that of the "
     "product against f32.",
     "sqnr_db nmse"},
    {"SQNR of each product", "The SQNR of the three products. Longer is better.", "sqnr_db"},
    {"KV cache: error against size",
     "The error of the attention's output against bytes of K and V per token. Down and "
     "left is better.",
     "output_nmse"},
    {"KV cache",
     "K and V through each spec: bytes per token, their own error, KL of the attention in nats, and the "
     "error of the output.",
     "nmse"},
    {"Operands",
     "A spec for each operand of the three products. keep is f32; forward is the operand as the forward "
     "product quantized it. KV heads and head size come from config.json if there is one.",
     ""},
    {"Solutions",
     "GPTQ and AWQ choose codes that keep the layer's output close, not its weights. Both errors are shown; that of "
     "the weights is often worse.",
     "output_nmse nmse"},
    {"Output of the layer", "The SQNR of the layer's output, rounded to nearest and solved. Longer is better.",
     "output_nmse"},
    {"Solver", "The solver, its settings, and how many inputs it sees.", ""},
    // Export
    {"What would be written",
     "Every tensor and what the layout would make of it. Bits per weight are 8 x bytes / "
     "elements, scales included. A right click gives one tensor another spec.",
     ""},
    {"Proof", "Each tensor of the written file, opened again and compared with what was analysed, value for value.",
     ""},
    {"Files", "The written files with their SHA-256.", ""},
    {"Recipe and layout",
     "The layout, and rules REGEX=SPEC or REGEX=keep. The first line that matches a name decides; "
     "the others get spec A.",
     ""},
    // Backends
    {"What could run", "Rows are specs, columns backends. A cell says whether it runs, and why not.", ""},
    {"Latency against M",
     "The median time of a product x W^T against M, the rows of x. Both axes are logarithmic; the "
     "band is the 95 % interval of the median. Lower is better.",
     ""},
    {"Speed-up over f32 sgemm",
     "The time of OpenBLAS in f32 over the time of this row, measured in turns: the median of "
     "the ratios. Above 1 is faster.",
     ""},
    {"Roofline",
     "Products and sums per second against the products and sums for each byte read. The lines are roofs "
     "measured on this machine.",
     ""},
    {"What was run", "Everything about the chosen row, and the command that runs it again.", ""},
    {"Results", "One line for each measurement. Times are medians in µs; a wrong answer is never timed.", ""},
    {"Plan", "What is measured: backends, specs, shapes and how long.", ""},
    // Report
    {"Preview", "The document as it will be written, shortened where tables are long.", ""},
    {"Contents", "The parts of the report. The files hold what is ticked.", ""},
    {"Specs", "The specs that the report measures.", ""},
    {"Export", "The files that a press of the button writes.", ""},
};

QString metricLine(const Metric& metric) {
    return QString::fromUtf8(metric.title) + QStringLiteral(" = ") + QString::fromStdString(metricTip(metric));
}

} // namespace

std::span<const CardEntry> cardEntries() { return kEntries; }

QString aboutCard(const QString& title) {
    const auto* entry =
        std::ranges::find_if(kEntries, [&](const CardEntry& one) { return title == QString::fromUtf8(one.title); });
    if (entry == std::end(kEntries)) return {};
    QString text = QString::fromUtf8(entry->text);
    std::istringstream ids(entry->metrics);
    for (std::string id; ids >> id;)
        if (const auto* metric = findMetric(id)) text += u'\n' + metricLine(*metric);
    if (*entry->metrics) text += QStringLiteral("\nW: weights, V: what their codes decode to, E = V - W.");
    return text;
}

} // namespace qs::gui
