// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/audit.h"

#include "core/analysis/analysis_report.h"
#include "core/analysis/audit/audit_checks.h"
#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"
#include "core/records/input_hash.h"
#include "core/records/unit_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace qs {
namespace {

constexpr AuditCheck kChecks[] = {
    {"not_finite", "NaN and Inf", Severity::Fault,
     "Values that are not a number, or infinite: no scale can be found for them. Take the tensor from where it came "
     "from again.",
     findNotFinite},
    {"element_type", "Mislabelled element type", Severity::Fault,
     "16-bit floats whose magnitudes make sense only as the other 16-bit type: F16 for BF16 or BF16 for F16.",
     findElementType},
    {"codebook", "Codes that do not fit their codebook", Severity::Fault,
     "4-bit codes whose histogram is no density of weights under the labelled codebook, but is one under another one "
     "or in another order.",
     findCodebook},
    {"contradiction", "Layers that contradict what is said of them", Severity::Fault,
     "A quantized layer whose own tensors contradict its label or its settings. It would be decoded to wrong values, "
     "or "
     "cannot be decoded.",
     findContradictions, true},
    {"scales", "Scales that do not belong to their codes", Severity::Fault,
     "A group with large codes has a small scale, because the scale comes from its largest value. Where scales do not "
     "follow "
     "the codes, they are reversed, shuffled or of another layer. Take the layer from where it came from again.",
     findScales, true},
    {"zero_points", "Zero points that are one off", Severity::Fault,
     "Values of a layer that are all one step too high or too low, in rows of small steps as in rows of large ones; a "
     "matrix with a mean of its own is not meant. GPTQ's versions 1 and 2 store zero points that differ by one: the "
     "label of the version is wrong, or the writer was.",
     findZeroPoints},
    {"column_order", "Columns in another order", Severity::Fault,
     "Columns that follow those of the other tensors only after neighbours, or the halves of blocks of 32, change "
     "places: the mark of nibbles that were unpacked in the wrong order.",
     findColumnOrder, true},
    {"neighbours", "Values at another scale than in the layers beside", Severity::Warning,
     "A quantized matrix with about twice, or half, the magnitude of the same matrix in all other layers, which agree: "
     "its "
     "scales are probably wrong by that factor.",
     findNeighbours, true},
    {"label", "Labels that the contents contradict", Severity::Warning,
     "The file's name, its keys or its config.json name a type, bits or a group size that the weights do not have.",
     findLabel, true},
    {"undecoded", "Quantized layers that are not decoded", Severity::Warning,
     "Nothing in the checkpoint says how a quantized layer is stored, or no convention that is known here fits. The "
     "candidates "
     "are named with how plausible their values are; --as CONVENTION chooses one.",
     findUndecoded, true},
    {"missing", "Layers that are missing", Severity::Warning,
     "Layers whose numbers are left out, or that config.json counts and no file has. Fetch the missing files.",
     findMissing, true},
    {"already_quantized", "Already quantized", Severity::Warning,
     "Floats of few distinct values per block or row: they were quantized before. Quantizing them again adds error to "
     "error; begin with the original.",
     findAlreadyQuantized},
    {"channels", "Constant or dead channels", Severity::Warning,
     "Rows or columns of one value: of 0 they do nothing, of another one they are rarely meant.", findChannels},
    {"scales_alike", "Scales that cannot be compared with their codes", Severity::Note,
     "Layers whose groups all have nearly one scale, as layers have that were never trained: whether the scales belong "
     "to their codes cannot be told.",
     findAlikeScales, true},
    {"duplicate", "Duplicated tensors", Severity::Note,
     "Tensors of the same shape and values: stored twice, read twice.", findDuplicates, true},
};

} // namespace

const char* severityId(Severity severity) {
    switch (severity) {
    case Severity::Note: return "note";
    case Severity::Warning: return "warning";
    case Severity::Fault: return "fault";
    }
    return "";
}

std::span<const AuditCheck> auditChecks() { return kChecks; }

// Fields of the records of condensed facts, in the order of the structs; without TensorFacts::info and the sample.

template<class Archive, archive::Of<Channels> T> void fieldsOf(Archive& archive, T& c) { archive(c.count, c.first); }

template<class Archive, archive::Of<LogSpread> T> void fieldsOf(Archive& archive, T& s) { archive(s.n, s.s1, s.s2); }

template<class Archive, archive::Of<GroupFit> T> void fieldsOf(Archive& archive, T& g) {
    archive(g.n, g.follows, g.reversed, g.zero, g.zeroGroups, g.shift, g.shiftError, g.ofRows, g.areAlike);
}

template<class Archive, archive::Of<TensorFacts> T> void fieldsOf(Archive& archive, T& f) {
    archive(f.hasValues, f.rows, f.columns, f.nan, f.inf, f.firstBad, f.low, f.high, f.hash, f.zeroRows, f.equalRows,
            f.zeroColumns, f.equalColumns, f.columnRms, f.rowRms, f.asLabelled, f.asOther, f.groups, f.rms, f.grain);
}

namespace {

/// True if a check across tensors uses the tensor; they ignore smaller ones.
bool mayBeCompared(const TensorFacts& facts) {
    return facts.groups.n > 0 || facts.info->elements >= 256 || facts.columnRms.size() >= 64 ||
           facts.rowRms.size() >= 64;
}

/// Runs the checks of single tensors on the last tensors that were read, and keeps the facts that other checks need.
class AuditInPieces {
public:
    explicit AuditInPieces(std::shared_ptr<const Model> model) : piece_{model, {}}, kept_{model, {}} {
        found_.resize(auditChecks().size());
    }
    void add(TensorFacts facts) {
        piece_.tensors.push_back(std::move(facts));
        if (piece_.tensors.size() == kPiece) look();
    }
    void look() {
        run(piece_, false);
        for (auto& facts : piece_.tensors)
            if (mayBeCompared(facts))
                kept_.tensors.push_back(std::move(facts));
            else
                kept_.matricesLeftOut += facts.info->shape.size() == 2;
        piece_.tensors.clear();
    }
    std::vector<Finding> finish() {
        look();
        run(kept_, true);
        std::vector<Finding> all;
        for (const Severity severity : {Severity::Fault, Severity::Warning, Severity::Note})
            for (std::size_t i = 0; i < found_.size(); ++i)
                if (auditChecks()[i].severity == severity)
                    std::move(found_[i].begin(), found_[i].end(), std::back_inserter(all));
        return all;
    }

private:
    static constexpr std::size_t kPiece = 1024;
    void run(const AuditedModel& audited, bool acrossTensors) {
        for (std::size_t i = 0; i < found_.size(); ++i)
            if (const AuditCheck& check = auditChecks()[i]; check.acrossTensors == acrossTensors)
                check.find(audited, check, found_[i]);
    }
    AuditedModel piece_, kept_;
    std::vector<std::vector<Finding>> found_; ///< for each check
};

bool areIn(const Channels& channels, std::int64_t all) {
    return channels.count <= std::uint64_t(all) && channels.first.size() <= channels.count &&
           std::ranges::all_of(channels.first, [&](std::int64_t i) { return i >= 0 && i < all; });
}

/// True if facts that were read can be those of the tensor: indices are inside, and profiles have its rows and columns.
bool fits(const TensorFacts& facts, const TensorInfo& tensor) {
    const TensorFacts& f = facts;
    const bool isMatrix = f.rows != 0 || f.columns != 0;
    const std::uint64_t all = tensor.elements;
    if (isMatrix && (f.rows <= 0 || f.columns <= 0 || std::uint64_t(f.rows) > all ||
                     std::uint64_t(f.rows) * (all / std::uint64_t(f.rows)) != all ||
                     std::uint64_t(f.columns) != all / std::uint64_t(f.rows)))
        return false;
    const std::uint64_t columns = isMatrix ? std::uint64_t(f.columns) : all, bad = f.nan + f.inf;
    return f.nan <= all && f.inf <= all && bad <= all && f.firstBad >= (bad ? 0 : -1) &&
           f.firstBad < std::int64_t(bad ? all : 0) && std::isfinite(f.low) && std::isfinite(f.high) &&
           areIn(f.zeroRows, f.rows) && areIn(f.equalRows, f.rows) && areIn(f.zeroColumns, f.columns) &&
           areIn(f.equalColumns, f.columns) && (f.columnRms.empty() || f.columnRms.size() == columns) &&
           (f.rowRms.empty() || f.rowRms.size() == std::uint64_t(f.rows));
}

/// The condensed facts of a tensor, or those of its record. Nullopt: the unit is left out.
Result<std::optional<TensorFacts>> factsOf(const Model& model, const TensorInfo& tensor, UnitRun* units,
                                           const Job& job) {
    const std::function<Result<TensorFacts>()> compute = [&] {
        auto facts = gatherFacts(model, tensor, job);
        if (facts) condense(*facts); // frees the sampled rows, so that memory stays bounded
        return facts;
    };
    const auto key = [&]() -> Result<std::string> {
        const auto hash = hashOfFilesWith(model, tensor, job);
        return hash ? Result<std::string>(*hash + "\n" + tensor.name) : hash;
    };
    auto facts = unitOf(units, key, escapeForPeople(tensor.name, 60), double(tensor.bytes), compute,
                        [&](const TensorFacts& read) { return fits(read, tensor); });
    if (facts && *facts) (*facts)->info = &tensor;
    return facts;
}

} // namespace

Result<AuditResult> auditModel(std::shared_ptr<const Model> model, const Job& job, UnitRun* units) {
    const auto start = std::chrono::steady_clock::now();
    AuditInPieces audit(model);
    AuditResult result;
    const auto total = double(model->totalBytes());
    if (units) units->begin(total);
    for (const TensorInfo& tensor : model->tensors) {
        job.progress({double(result.bytes), total, "Auditing " + escapeForPeople(tensor.name, 60), result.tensors,
                      model->tensors.size()});
        auto facts = factsOf(*model, tensor, units, job);
        if (!facts) return tl::unexpected(facts.error());
        if (*facts) audit.add(std::move(**facts));
        ++result.tensors, result.bytes += tensor.bytes;
    }
    if (job.cancelled()) return cancelledError();
    result.findings = audit.finish();
    if (job.cancelled()) return cancelledError();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

namespace {

template<class Row, class Get>
Column<Row> wordColumn(const char* id, const char* title, const char* tip, Get get, Show show = Show::Text) {
    return columnOf<Row>({id, title, "", show, 2, Direction::None, tip}, get);
}

std::string foundText(std::size_t findings) {
    return findings ? fmt::format("{} finding{}", findings, findings == 1 ? "" : "s") : "nothing found";
}

} // namespace

const Columns<Finding>& findingColumns() {
    static const Columns<Finding> columns = {
        wordColumn<Finding>("severity", "Severity",
                            "fault: values are wrong; warning: likely a mistake; note: worth knowing",
                            [](const Finding& f) { return severityId(f.check->severity); }),
        wordColumn<Finding>("check", "Check", "Which check found it", [](const Finding& f) { return f.check->id; }),
        wordColumn<Finding>("title", "Finding", "What it is", [](const Finding& f) { return f.check->title; }),
        wordColumn<Finding>("tensor", "Tensor", "Where; empty when it is about the whole checkpoint", &Finding::tensor,
                            Show::Name),
        wordColumn<Finding>("evidence", "Evidence", "The figures that say so", &Finding::evidence),
    };
    return columns;
}

std::vector<CheckOutcome> checkOutcomes(const AuditResult& result) {
    std::vector<CheckOutcome> outcomes;
    for (const AuditCheck& check : auditChecks()) {
        const auto n = std::ranges::count_if(result.findings, [&](const Finding& f) { return f.check == &check; });
        outcomes.push_back({&check, std::size_t(n)});
    }
    return outcomes;
}

const Columns<CheckOutcome>& outcomeColumns() {
    static const Columns<CheckOutcome> columns = {
        wordColumn<CheckOutcome>("title", "Check", "What was looked for",
                                 [](const CheckOutcome& o) { return o.check->title; }),
        wordColumn<CheckOutcome>("severity", "Would be a",
                                 "fault: values are wrong; warning: likely a mistake; note: worth knowing",
                                 [](const CheckOutcome& o) { return severityId(o.check->severity); }),
        wordColumn<CheckOutcome>("outcome", "Outcome", "What it found",
                                 [](const CheckOutcome& o) { return foundText(o.findings); }),
        wordColumn<CheckOutcome>("summary", "Looks for", "What it looks for, and what to do about it",
                                 [](const CheckOutcome& o) { return o.check->summary; }),
    };
    return columns;
}

std::string findingsText(const std::vector<Finding>& findings) {
    std::string text;
    for (const Severity severity : {Severity::Fault, Severity::Warning, Severity::Note}) {
        const auto n = std::ranges::count_if(findings, [&](const Finding& f) { return f.check->severity == severity; });
        if (n) text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", n, severityId(severity), n == 1 ? "" : "s");
    }
    return text.empty() ? "nothing found" : text;
}

Result<Report> auditReport(const Model& model, const AuditResult& result, const std::string& commandLine,
                           const Job& job) {
    auto provenance = modelProvenance(model, "none", commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    Report report;
    report.title = model.title;
    report.subtitle = fmt::format("Audit of {} tensors: {}", result.tensors, findingsText(result.findings));
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, findingColumns(), result.findings);
    Section section;
    section.title = "Findings";
    section.brief = true;
    section.text = fmt::format("{} tensors, {} read once in {}: {}.", result.tensors, bytesText(result.bytes),
                               durationText(result.seconds), findingsText(result.findings));
    section.note = quantizedSource(model).sentence();
    if (!result.findings.empty())
        section.tables.push_back(withColumns(makeTable("Findings", findingColumns(), result.findings),
                                             {"severity", "title", "tensor", "evidence"}));
    report.sections.push_back(std::move(section));
    Section checks;
    checks.title = "What was looked for";
    for (const auto& [check, findings] : checkOutcomes(result))
        checks.text += fmt::format("{}{} ({}), {}: {}", checks.text.empty() ? "" : "\n\n", check->title,
                                   severityId(check->severity), foundText(findings), check->summary);
    report.sections.push_back(std::move(checks));
    return report;
}

} // namespace qs
