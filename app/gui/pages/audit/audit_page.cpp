// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/audit/audit_page.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/open_dialogs.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"
#include "core/session/kept_results.h"

#include <QFileDialog>
#include <QGridLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kChecks = 420;                              ///< px: the words of the checks
constexpr std::uint64_t kAtOnce = std::uint64_t(1) << 28; ///< bytes that are audited without being asked

constexpr const char *kAuditKept = "audit", *kDiffKept = "diff"; // in session files

QString plain(const std::string& text) { return QString::fromStdString(text); }

template<class Row> Columns<Row> chosen(const Columns<Row>& all, std::initializer_list<const char*> ids) {
    Columns<Row> out;
    for (const char* id : ids)
        for (const auto& column : all)
            if (column.id == id) out.push_back(column);
    return out;
}

/// The columns fit their words, within reason; the last one takes what is left.
void fit(QTableView& table) {
    table.resizeColumnsToContents();
    for (int i = 0; i < table.model()->columnCount(); ++i) table.setColumnWidth(i, std::min(table.columnWidth(i), 360));
}

} // namespace

AuditPage::AuditPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), stack_(new QStackedLayout(this)), empty_(new EmptyState(session)),
      facts_(new QLabel), status_(new QLabel), start_(new QPushButton(tr("Audit"))),
      file_(new QPushButton(tr("Compare with a file…"))), folder_(new QPushButton(tr("Compare with a folder…"))),
      findingsCard_(new Card(tr("Findings"))), checksCard_(new Card(tr("What was looked for"))),
      differingCard_(new Card(tr("Differences from another checkpoint"))), findings_(new QTableView),
      checks_(new QTableView), differing_(new QTableView),
      found_(new RowModel<Finding>(chosen(findingColumns(), {"severity", "title", "tensor", "evidence"}), this)),
      outcomes_(new RowModel<CheckOutcome>(chosen(outcomeColumns(), {"title", "severity", "outcome"}), this)),
      rows_(new RowModel<DiffRow>(chosen(diffColumns(), {"tensor", "other", "status", "nmse", "sqnr_db", "max_abs",
                                                         "differing", "dtype", "other_dtype", "placement", "reason"}),
                                  this)) {
    setObjectName(QStringLiteral("audit"));
    setAccessibleName(tr("Audit"));
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kGap);
    grid->setSpacing(Theme::kGap);
    auto* title = new QLabel(tr("Audit"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    facts_->setFont(Theme::numbers());
    facts_->setProperty("role", QStringLiteral("muted"));
    status_->setObjectName(QStringLiteral("auditStatus"));
    status_->setFont(Theme::words(11));
    status_->setTextFormat(Qt::PlainText);
    status_->setWordWrap(true);
    start_->setObjectName(QStringLiteral("auditStart"));
    start_->setProperty("role", QStringLiteral("primary"));
    file_->setObjectName(QStringLiteral("auditFile"));
    folder_->setObjectName(QStringLiteral("auditFolder"));
    auto* header = new QHBoxLayout;
    header->setSpacing(Theme::kSpace);
    header->addWidget(title);
    header->addSpacing(Theme::kSpace);
    header->addWidget(facts_, 1);
    for (QPushButton* button : {start_, file_, folder_}) header->addWidget(button);
    grid->addLayout(header, 0, 0);
    grid->addWidget(status_, 1, 0);
    asDataTable(*findings_, tr("Findings of the audit"));
    asDataTable(*checks_, tr("Checks of the audit and what each found"));
    asDataTable(*differing_, tr("Differences from another checkpoint"));
    findings_->setObjectName(QStringLiteral("auditFindings"));
    differing_->setObjectName(QStringLiteral("auditDifferences"));
    checks_->setObjectName(QStringLiteral("auditChecks"));
    findings_->setModel(found_);
    checks_->setModel(outcomes_);
    differing_->setModel(rows_);
    for (QTableView* table : {findings_, checks_, differing_}) table->horizontalHeader()->setStretchLastSection(true);
    findingsCard_->setBody(findings_);
    checksCard_->setBody(checks_);
    checksCard_->setFixedWidth(kChecks);
    differingCard_->setBody(differing_);
    auto* audited = new QHBoxLayout;
    audited->setSpacing(Theme::kGap);
    audited->addWidget(findingsCard_, 1);
    audited->addWidget(checksCard_);
    grid->addLayout(audited, 2, 0);
    grid->addWidget(differingCard_, 3, 0);
    grid->setRowStretch(2, 1);
    grid->setRowStretch(3, 1);
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
    connect(&session_, &Session::modelChanged, this, &AuditPage::modelChanged);
    connect(&session_, &Session::jobCancelled, this, [this] {
        if (!lane_) return;
        lane_.reset();
        say(tr("Cancelled."));
        draw();
        Q_EMIT settled();
    });
    modelChanged();
}

AuditPage::~AuditPage() {
    restoring_.cancel();
    if (lane_) lane_->job().cancel();
}

void AuditPage::say(const QString& text, bool warn) {
    status_->setText(text);
    status_->setVisible(!text.isEmpty());
    status_->setProperty("role", warn ? QStringLiteral("warn") : QStringLiteral("muted"));
    status_->style()->unpolish(status_);
    status_->style()->polish(status_);
}

void AuditPage::open(const std::string& tensor) {
    const auto* found = session_.model() ? session_.model()->find(tensor) : nullptr;
    if (!found) return; // a finding about the whole checkpoint
    session_.selectTensor(found);
    session_.showPage(QStringLiteral("tensor"));
}

void AuditPage::show(const AuditCheck* check) {
    const auto& rows = found_->rows();
    const auto first = std::find_if(rows.begin(), rows.end(), [&](const Finding& f) { return f.check == check; });
    if (first == rows.end()) return findings_->clearSelection();
    const int row = int(first - rows.begin());
    findings_->selectRow(row);
    findings_->scrollTo(found_->index(row, 0));
}

void AuditPage::modelChanged() {
    lane_.reset();
    restoring_.cancel();
    result_.reset();
    rows_->setRows({});
    diff_.reset();
    plan_.reset();
    fresh_ = true;
    empty_->setState(tr("No model is open."), tr("Open a checkpoint"), QStringLiteral("start"));
    stack_->setCurrentIndex(session_.model() ? 1 : 0);
    say({});
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
    restoring_ = Job();
    const auto work = [found, diff, model = session_.model()](const Job& job) -> Result<Answer> {
        Answer answer;
        if (found) answer.audit = auditKept(*found);
        if (diff) answer.diff = diffKept(*diff, model, job);
        return answer;
    };
    runJob<Answer>(this, restoring_, work, [this](Result<Answer> answer) {
        if (!answer) return;
        auto& [audited, compared] = *answer;
        if (audited && *audited && !result_) result_ = std::move(**audited);
        if (compared && *compared && !diff_)
            plan_ = std::move((*compared)->plan), diff_ = std::move((*compared)->result);
        if (audited && !*audited) say(plain(oneSentence(audited->error().message)), true);
        if (compared && !*compared) say(plain(oneSentence(compared->error().message)), true);
        draw();
        Q_EMIT settled();
    });
    return found != nullptr;
}

void AuditPage::audit() {
    if (!session_.model()) return;
    lane_ = std::make_unique<LaneWork>(session_, "Auditing");
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
    runJob<Answer>(this, lane_->job(), work, [this](Result<Answer> result) {
        lane_.reset();
        if (result) {
            result_ = std::move(result->result);
            session_.keep(QLatin1String(kAuditKept), [kept = std::move(result->kept)] { return kept; });
        } else if (!result.error().cancelled) {
            say(plain(oneSentence(result.error().message)), true);
        }
        draw();
        Q_EMIT settled();
    });
    say({});
    draw();
}

void AuditPage::compareWith(const QString& path) {
    if (!session_.model()) return;
    struct Answer {
        KeptDiff diff;
        std::string kept;
    };
    lane_ = std::make_unique<LaneWork>(session_, "Comparing two checkpoints");
    readsBeside(session_, path, tr("the checkpoint beside it"));
    const auto work = [a = session_.model(), path = path.toStdString()](const Job& job) -> Result<Answer> {
        auto b = openModel(path);
        if (b) b = servedModel(*b, job); // what `quantize` stored as what it decodes to
        if (!b) return tl::unexpected(b.error());
        Answer answer{{{a, *b}, {}}, {}};
        auto result = diffModels(answer.diff.plan, job);
        if (!result) return tl::unexpected(result.error());
        answer.diff.result = std::move(*result);
        answer.kept = keptDiff(answer.diff);
        return answer;
    };
    runJob<Answer>(this, lane_->job(), work, [this](Result<Answer> answer) {
        lane_.reset();
        if (answer) {
            rows_->setRows({}); // of the other models
            plan_ = std::move(answer->diff.plan);
            diff_ = std::move(answer->diff.result);
            session_.keep(QLatin1String(kDiffKept), [kept = std::move(answer->kept)] { return kept; });
            say({});
        } else if (!answer.error().cancelled) {
            say(plain(oneSentence(answer.error().message)), true);
        }
        draw();
        Q_EMIT settled();
    });
    say({});
    draw();
}

void AuditPage::draw() {
    const bool busy = running();
    for (QPushButton* button : {start_, file_, folder_}) button->setEnabled(session_.model() && !busy);
    findingsCard_->setLoading(busy && result_);
    checksCard_->setLoading(busy && result_);
    differingCard_->setLoading(busy && diff_);
    if (!result_) {
        found_->setRows({});
        outcomes_->setRows({});
        facts_->clear();
        findingsCard_->setNote({});
        checksCard_->setNote({});
        checksCard_->setMessage(busy ? tr("Auditing…") : tr("An audit fills this: what each check found."));
        findingsCard_->setMessage(busy ? tr("Auditing…") : tr("Not audited yet: press Audit."));
    } else {
        found_->setRows(result_->findings);
        fit(*findings_);
        facts_->setText(tr("%1, %2 read once in %3")
                            .arg(result_->tensors == 1 ? tr("1 tensor") : tr("%1 tensors").arg(result_->tensors))
                            .arg(plain(bytesText(result_->bytes)), plain(durationText(result_->seconds))));
        findingsCard_->setNote(plain(findingsText(result_->findings)));
        findingsCard_->setMessage(result_->findings.empty() ? tr("Every check found nothing.") : QString());
        outcomes_->setRows(checkOutcomes(*result_));
        fit(*checks_);
        checksCard_->setNote(tr("%1 checks").arg(auditChecks().size()));
        checksCard_->setMessage({});
    }
    if (!diff_) {
        differingCard_->setNote({});
        differingCard_->setMessage(
            tr("Not compared yet: choose another checkpoint. Names of Hugging Face, GGUF and ONNX, "
               "fused, transposed and permuted tensors are aligned."));
        return;
    }
    auto rows = diff_->rows; // what differs most is read first
    std::stable_sort(rows.begin(), rows.end(), [](const DiffRow& a, const DiffRow& b) {
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
