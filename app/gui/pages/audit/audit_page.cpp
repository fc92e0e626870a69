// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/audit/audit_page.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/pages/audit/audited_tensors.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/open_dialogs.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"
#include "core/session/kept_results.h"

#include <QFileDialog>
#include <QGridLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedLayout>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kChecks = 420; ///< pixels for the text of the checks
constexpr int kAround = 64;  ///< pixels for title and margins of a card
/// pixels for the card of differences if it shows only one sentence
constexpr int kNotCompared = 120;
constexpr std::uint64_t kAtOnce = std::uint64_t(1) << 28; ///< bytes; smaller models are audited automatically

constexpr const char *kAuditKept = "audit", *kDiffKept = "diff"; // names in session files

QString plain(const std::string& text) { return QString::fromStdString(text); }

Columns<CheckOutcome> shownOutcomes() { return outcomeColumns().pick({"title", "severity", "outcome", "summary"}); }

/// Columns get the width of their text, up to a limit; the last one gets the rest.
void fit(QTableView& table) {
    table.resizeColumnsToContents();
    for (int i = 0; i < table.model()->columnCount(); ++i)
        if (!table.isColumnHidden(i)) table.setColumnWidth(i, std::min(table.columnWidth(i), 360));
}

} // namespace

AuditPage::AuditPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), task_(&session.tasks()), stack_(new QStackedLayout(this)),
      empty_(new EmptyState(session)), facts_(new QLabel), status_(new StatusLine("auditStatus")),
      start_(named(new QPushButton(tr("Audit")), "auditStart", "primary")),
      file_(named(new QPushButton(tr("Compare with a file…")), "auditFile")),
      folder_(named(new QPushButton(tr("Compare with a folder…")), "auditFolder")),
      findingsCard_(new Card(tr("Findings"))), checksCard_(new Card(tr("What was looked for"))),
      differingCard_(new Card(tr("Differences from another checkpoint"))),
      findings_(named(new QTableView, "auditFindings")), checks_(named(new QTableView, "auditChecks")),
      differing_(named(new QTableView, "auditDifferences")), tensors_(new AuditedTensors(session)),
      found_(new RowModel<Finding>(findingColumns().pick({"severity", "title", "tensor", "evidence"}), this)),
      outcomes_(new RowModel<CheckOutcome>(shownOutcomes(), this)),
      rows_(new RowModel<DiffRow>(diffColumns().pick({"tensor", "other", "status", "nmse", "sqnr_db", "max_abs",
                                                      "differing", "dtype", "other_dtype", "placement", "reason"}),
                                  this)) {
    setAccessibleName(tr("Audit"));
    auto* content = new QWidget;
    auto* grid =
        spaced(new QGridLayout(content), Theme::kGap, {Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kGap});
    auto* title = dressed(new QLabel(tr("Audit")), Theme::words(18, QFont::DemiBold));
    dress(*facts_, Theme::numbers(), "muted");
    status_->hideWhenEmpty();
    status_->listenTo(task_);
    auto* header = spaced(new QHBoxLayout, Theme::kSpace);
    header->addWidget(title);
    header->addSpacing(Theme::kSpace);
    header->addWidget(facts_, 1);
    for (QPushButton* button : {start_, file_, folder_}) header->addWidget(button);
    grid->addLayout(header, 0, 0);
    grid->addWidget(status_, 1, 0);
    asDataTable(*findings_, tr("Findings of the audit"));
    asDataTable(*checks_, tr("Checks of the audit and what each found"));
    asDataTable(*differing_, tr("Differences from another checkpoint"));
    findings_->setModel(found_);
    checks_->setModel(outcomes_);
    differing_->setModel(rows_);
    for (QTableView* table : {findings_, checks_, differing_}) table->horizontalHeader()->setStretchLastSection(true);
    findingsCard_->setBody(findings_);
    checksCard_->setBody(checks_);
    differingCard_->setBody(differing_);
    findingsCard_->setSketch(
        new Sketch(Sketch::Kind::Table, {tr("Severity"), tr("Finding"), tr("Tensor"), tr("Evidence")}));
    differingCard_->setSketch(new Sketch(
        Sketch::Kind::Table, {tr("Tensor"), tr("In the other"), tr("Status"), tr("NMSE"), tr("SQNR"), tr("Largest")}));
    auto* audited = spaced(new QHBoxLayout, Theme::kGap);
    audited->addWidget(findingsCard_, 1);
    audited->addWidget(checksCard_);
    grid->addLayout(audited, 2, 0);
    grid->addWidget(tensors_, 3, 0);
    grid->addWidget(differingCard_, 4, 0);
    for (const int row : {2, 4}) grid->setRowStretch(row, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);

    connect(start_, &QPushButton::clicked, this, &AuditPage::audit);
    connect(file_, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getOpenFileName(this, tr("Compare with a checkpoint"), {},
                                                          tr("Weights (%1);;All files (*)").arg(weightFilePatterns()));
        if (!path.isEmpty()) compareWith(path);
    });
    connect(folder_, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getExistingDirectory(this, tr("Compare with a checkpoint"));
        if (!path.isEmpty()) compareWith(path);
    });
    connect(findings_, &QTableView::clicked, this,
            [this](const QModelIndex& index) { open(found_->row(index.row()).tensor); });
    connect(checks_, &QTableView::clicked, this,
            [this](const QModelIndex& index) { show(outcomes_->row(index.row()).check); });
    connect(differing_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (const auto* tensor = rows_->row(index.row()).a) open(tensor->name);
    });
    connect(tensors_, &AuditedTensors::clicked, this, [this](const QString& name) { open(name.toStdString()); });
    connect(&session_, &Session::jobFinished, tensors_, [this] { // more statistics are known
        if (tensors_->isVisible()) tensors_->showAll();
    });
    connect(&session_, &Session::modelChanged, this, &AuditPage::modelChanged);
    connect(&task_, &Task::cancelled, this, [this] { status_->say(tr("Cancelled.")); });
    for (const Task* task : {&task_, &restoring_})
        connect(task, &Task::over, this, [this] {
            draw();
            Q_EMIT settled();
        });
    modelChanged();
}

void AuditPage::open(const std::string& tensor) {
    const auto* found = session_.model() ? session_.model()->find(tensor) : nullptr;
    if (!found) return; // a finding about the whole checkpoint
    session_.selectTensor(found);
    session_.showPage(kTensorPage);
}

void AuditPage::show(const AuditCheck* check) {
    const auto& rows = found_->rows();
    const auto first = std::ranges::find_if(rows, [&](const Finding& f) { return f.check == check; });
    if (first == rows.end()) return findings_->clearSelection();
    const int row = int(first - rows.begin());
    findings_->selectRow(row);
    findings_->scrollTo(found_->index(row, 0));
}

void AuditPage::modelChanged() {
    task_.drop();
    restoring_.drop();
    result_.reset();
    rows_->setRows({});
    diff_.reset();
    plan_.reset();
    fresh_ = true;
    empty_->askForModel();
    stack_->setCurrentIndex(session_.model() ? 1 : 0);
    status_->say({});
    draw();
    if (isVisible()) showEvent(nullptr);
}

void AuditPage::showEvent(QShowEvent* event) {
    if (event) QWidget::showEvent(event);
    if (!session_.model() || !std::exchange(fresh_, false)) return;
    if (!takeRestored() && session_.model()->totalBytes() <= kAtOnce) audit();
}

bool AuditPage::takeRestored() {
    const auto found = session_.restored(QLatin1String(kAuditKept)), diff = session_.restored(QLatin1String(kDiffKept));
    if (!found && !diff) return false;
    struct Answer {
        std::optional<Result<AuditResult>> audit;
        std::optional<Result<KeptDiff>> diff;
    };
    const auto work = [found, diff, model = session_.model()](const Job& job) -> Result<Answer> {
        Answer answer;
        if (found) answer.audit = auditKept(*found);
        if (diff) answer.diff = diffKept(*diff, model, job);
        return answer;
    };
    restoring_.run({}, work, [this](Answer answer) {
        auto& [audited, compared] = answer;
        if (audited && *audited && !result_) result_ = std::move(**audited);
        if (compared && *compared && !diff_)
            plan_ = std::move((*compared)->plan), diff_ = std::move((*compared)->result);
        if (audited && !*audited) status_->say(errorSentence(audited->error()), true);
        if (compared && !*compared) status_->say(errorSentence(compared->error()), true);
    });
    return found != nullptr;
}

void AuditPage::audit() {
    if (!session_.model()) return;
    struct Answer {
        AuditResult result;
        std::string kept;
    };
    const auto work = [model = session_.model()](const Job& job) -> Result<Answer> {
        auto result = auditModel(model, job);
        if (!result) return tl::unexpected(result.error());
        auto kept = keptAudit(*result);
        return Answer{std::move(*result), std::move(kept)};
    };
    task_.run("Auditing", work, [this](Answer answer) {
        result_ = std::move(answer.result);
        session_.keep(QLatin1String(kAuditKept), [kept = std::move(answer.kept)] { return kept; });
    });
    status_->say({});
    draw();
}

void AuditPage::compareWith(const QString& path) {
    if (!session_.model()) return;
    struct Answer {
        KeptDiff diff;
        std::string kept;
    };
    readsBeside(session_, path, tr("the checkpoint beside it"));
    const auto work = [a = session_.model(), path = path.toStdString()](const Job& job) -> Result<Answer> {
        auto b = openModel(path);
        if (b) b = servedModel(*b, job); // stored codes and scales are decoded
        if (!b) return tl::unexpected(b.error());
        Answer answer{{diffPlan(a, *b), {}}, {}};
        auto result = diffModels(answer.diff.plan, job);
        if (!result) return tl::unexpected(result.error());
        answer.diff.result = std::move(*result);
        answer.kept = keptDiff(answer.diff);
        return answer;
    };
    task_.run("Comparing two checkpoints", work, [this](Answer answer) {
        rows_->setRows({}); // the old rows belong to other models
        plan_ = std::move(answer.diff.plan);
        diff_ = std::move(answer.diff.result);
        session_.keep(QLatin1String(kDiffKept), [kept = std::move(answer.kept)] { return kept; });
    });
    status_->say({});
    draw();
}

/// Without findings there is more room for the checks and for the tensors that were read.
void AuditPage::share(bool clean) {
    const bool alone = clean && !diff_;
    findingsCard_->setVisible(!clean);
    checksCard_->setMinimumWidth(clean ? 0 : kChecks);
    checksCard_->setMaximumWidth(clean ? QWIDGETSIZE_MAX : kChecks);
    checks_->setColumnHidden(int(shownOutcomes().indexOf("summary")), !clean);
    const int rows = checks_->horizontalHeader()->height() + checks_->verticalHeader()->length();
    checksCard_->setMaximumHeight(alone ? rows + kAround : QWIDGETSIZE_MAX);
    differingCard_->setMaximumHeight(alone ? kNotCompared : QWIDGETSIZE_MAX);
    tensors_->setVisible(alone);
    if (alone) tensors_->showAll();
}

void AuditPage::draw() {
    const bool busy = running();
    for (QPushButton* button : {start_, file_, folder_}) button->setEnabled(session_.model() && !busy);
    findingsCard_->setLoading(busy && result_);
    checksCard_->setLoading(busy && result_);
    differingCard_->setLoading(busy && diff_);
    checks_->setColumnHidden(int(shownOutcomes().indexOf("outcome")), !result_);
    if (!result_) {
        found_->setRows({});
        outcomes_->setRows(checkOutcomes({})); // what the checks look for
        fit(*checks_);
        facts_->clear();
        findingsCard_->setNote({});
        checksCard_->setNote(tr("%1 checks").arg(auditChecks().size()));
        checksCard_->setMessage(busy ? tr("Auditing…") : QString());
        if (busy)
            findingsCard_->setMessage(tr("Auditing…"));
        else
            findingsCard_->setEmpty(tr("Not audited yet: press Audit."));
    } else {
        found_->setRows(result_->findings);
        fit(*findings_);
        facts_->setText(tr("%1, %2 read once in %3")
                            .arg(result_->tensors == 1 ? tr("1 tensor") : tr("%1 tensors").arg(result_->tensors))
                            .arg(plain(bytesText(result_->bytes)), plain(durationText(result_->seconds))));
        findingsCard_->setNote(plain(findingsText(result_->findings)));
        findingsCard_->setMessage({});
        outcomes_->setRows(checkOutcomes(*result_));
        fit(*checks_);
        checksCard_->setNote(result_->findings.empty() ? tr("%1 checks: none found anything").arg(auditChecks().size())
                                                       : tr("%1 checks").arg(auditChecks().size()));
        checksCard_->setMessage({});
    }
    share(result_ && result_->findings.empty());
    if (!diff_) {
        differingCard_->setNote({});
        const QString sentence = tr("Not compared yet: choose another checkpoint. Names of Hugging Face, GGUF and "
                                    "ONNX, fused, transposed and permuted tensors are aligned.");
        if (result_ && result_->findings.empty())
            differingCard_->setMessage(sentence); // the card is small
        else
            differingCard_->setEmpty(sentence);
        return;
    }
    auto rows = diff_->rows; // what differs most comes first
    std::ranges::stable_sort(rows, [](const DiffRow& a, const DiffRow& b) {
        const auto rank = [](const DiffRow& row) {
            return row.status == DiffStatus::Different ? 0 : row.status == DiffStatus::Equal ? 2 : 1;
        };
        return rank(a) != rank(b) ? rank(a) < rank(b) : a.nmse().value_or(0) > b.nmse().value_or(0);
    });
    rows_->setRows(std::move(rows));
    fit(*differing_);
    differingCard_->setNote(plain(escapeForPeople(plan_->b->title, 40) + ": " + diffText(*diff_)));
    differingCard_->setMessage({});
}

QWidget* createAuditPage(Session& session, QWidget* parent) { return new AuditPage(session, parent); }

} // namespace qs::gui
