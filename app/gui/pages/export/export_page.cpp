// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/export/export_page.h"

#include "app/gui/output_check.h"
#include "app/gui/pages/export/export_plan_view.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/tensor_menu.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/rule_editor.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/export/certificate_columns.h"
#include "core/export/decoded_tensors.h"
#include "core/export/recipe.h"
#include "core/export/rule_book.h"
#include "core/session/kept_results.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

constexpr int kSide = 344;
constexpr int kExportStatusLines = 4;
constexpr const char* kExportKept = "export"; ///< name in session files

QLabel* wrapped(const char* name, const char* role) {
    auto* label = new QLabel;
    label->setObjectName(QLatin1String(name));
    label->setProperty("role", QLatin1String(role));
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

ExportPage::ExportPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), tensors_(new RowModel<TensorProof>(proofColumns(), this)),
      files_(new RowModel<CertifiedFile>(certifiedFileColumns().pick({"name", "sha256", "bytes"}), this)),
      planCard_(new Card(tr("What would be written"))), proofCard_(new Card(tr("Proof"))),
      filesCard_(new Card(tr("Files"))), plan_(new ExportPlanView), writing_(&session.tasks()),
      checking_(&session.tasks()) {
    chooseOutput_ = [this](const QString& suggested) {
        return QFileDialog::getSaveFileName(this, tr("Write the quantized model"), suggested);
    };
    chooseCertificate_ = [this](const QString& suggested) {
        return QFileDialog::getOpenFileName(this, tr("Open a certificate"), suggested,
                                            tr("Certificates (*certificate.json)"));
    };
    auto* whole = spaced(new QVBoxLayout(this), Theme::kGap, Theme::kPageMargins);
    auto* title = pageTitle(tr("Export"), tr("planned, written, opened again, every value compared"));
    whole->addLayout(title);
    auto* bar = spaced(new QHBoxLayout, 4);
    auto* group = new QButtonGroup(this);
    for (std::size_t i = 0; i < tabs_.size(); ++i) {
        tabs_[i] = new QToolButton;
        tabs_[i]->setObjectName(i == 0 ? QStringLiteral("exportPlanTab") : QStringLiteral("exportProofTab"));
        tabs_[i]->setText(i == 0 ? tr("Plan") : tr("Proof"));
        tabs_[i]->setToolTip(i == 0 ? tr("What each tensor would become")
                                    : tr("What was written, and how it read back"));
        tabs_[i]->setCheckable(true);
        group->addButton(tabs_[i], int(i));
        bar->addWidget(tabs_[i]);
    }
    bar->addStretch();
    whole->addLayout(bar);
    connect(group, &QButtonGroup::idClicked, this, &ExportPage::choose);
    auto* layout = spaced(new QHBoxLayout, Theme::kGap);
    whole->addLayout(layout, 1);
    auto* centre = new QWidget;
    shownTab_ = new QStackedLayout(centre);
    planCard_->setBody(plan_);
    shownTab_->addWidget(planCard_);
    shownTab_->addWidget(results());
    layout->addWidget(centre, 1);
    layout->addWidget(sidebar());
    forget();
    planCard_->setMessage(tr("Open a model to see what an export of it would write."));
    choose(0);

    connect(&session, &Session::modelLeft, this, &ExportPage::forget);
    connect(&session, &Session::recipeChanged, this, &ExportPage::look); // another layout may be counted
    connect(&session, &Session::modelChanged, this, [this] {
        choose(0);
        look();
        if (isVisible()) takeRestored();
    });
    connect(&session, &Session::specChanged, this, &ExportPage::look);
    connect(&session, &Session::rulesChanged, this, [this] {
        choose(0);
        look();
    });
    connect(rules_, &RuleEditor::judged, this, [this] {
        plan_->setDimmed(rules_->wrong());
        planCard_->setNote(rules_->wrong() ? tr("of the last valid rules: a line is wrong") : QString());
        allow();
    });
    connect(plan_, &ExportPlanView::offered, this, &ExportPage::use);
    plan_->setTensorMenu([this](const std::string& name, const QPoint& at) {
        const auto* tensor = session_.model() ? session_.model()->find(name) : nullptr;
        if (tensor) popUpTensorMenu(*this, at, session_, *tensor);
    });
    connect(plan_, &ExportPlanView::planned, this, &ExportPage::allow);
    connect(&writing_, &Task::cancelled, this, [this] { status_->say(tr("Cancelled; nothing was written.")); });
    connect(&checking_, &Task::cancelled, this,
            [this] { status_->say(tr("Cancelled; the files were not compared.")); });
    connect(&writing_, &Task::cancelled, this, &ExportPage::look);
    connect(&writing_, &Task::failed, this, &ExportPage::look);
    connect(status_, &StatusLine::complained, this, &ExportPage::failed);
    for (const Task* task : {&writing_, &checking_, &restoring_}) status_->listenTo(*task);
    const auto takeLayout = [this] {
        if (const int at = layout_->findData(session_.decision().layout()); at >= 0) layout_->setCurrentIndex(at);
    };
    connect(&session.decision(), &Decision::layoutChanged, this, takeLayout);
    if (!session.decision().layout().isEmpty()) takeLayout();
    look();
}

/// What belongs to another model: the layout that was chosen for it, its certificate.
void ExportPage::forget() {
    shown_.reset();
    shownPath_.clear();
    tensors_->setRows({});
    files_->setRows({});
    status_->say({});
    for (Card* card : {proofCard_, filesCard_}) card->setNote({});
    proofCard_->setEmpty(tr("Nothing has been exported yet. An export is opened again, every value is compared with "
                            "what was analysed, and the certificate is shown here."));
    filesCard_->setEmpty(tr("Each written file with its SHA-256."));
}

/// Until a layout is chosen, a mixed recipe is counted in the one that takes the most of its specs.
void ExportPage::followCounted() {
    if (!session_.decision().layout().isEmpty()) return;
    const bool mixed = session_.recipe()->isMixed();
    const QSignalBlocker quiet(layout_);
    layout_->setCurrentIndex(mixed ? layout_->findData(QString::fromUtf8(session_.countedLayout().id)) : 0);
}

void ExportPage::keep() {
    KeptExport kept{layout_->currentData().toString().toStdString(), shownPath_.toStdString(), shown_};
    session_.keep(QLatin1String(kExportKept), [kept = std::move(kept)] { return keptExport(kept); });
}

void ExportPage::takeRestored() {
    const auto text = session_.restored(QLatin1String(kExportKept));
    if (!text || text == restored_) return;
    restored_ = text;
    restoring_.run(
        {}, [text](const Job&) { return exportKept(*text); },
        [this](const KeptExport& kept) {
            if (const int at = layout_->findData(QString::fromStdString(kept.layout)); at >= 0) {
                const QSignalBlocker quiet(layout_);
                layout_->setCurrentIndex(at);
                session_.decision().setLayout(QString::fromStdString(kept.layout));
            }
            look();
            if (kept.certificate) present(*kept.certificate, QString::fromStdString(kept.path));
        });
}

QWidget* ExportPage::results() {
    auto* both = new QWidget;
    auto* column = spaced(new QVBoxLayout(both), Theme::kGap);
    auto* body = new QWidget;
    auto* inside = spaced(new QVBoxLayout(body), Theme::kGap);
    headline_ = wrapped("proofHeadline", "");
    inside->addWidget(headline_);
    auto* table = sortableTable(tensors_, "proofTable", tr("How each tensor read back"));
    constexpr std::array widths = {280, 80, 160, 90, 90, 70, 80, 90};
    for (std::size_t i = 0; i < widths.size(); ++i) table->setColumnWidth(int(i), widths[i]);
    inside->addWidget(table, 1);
    proofCard_->setBody(body);
    proofCard_->setSketch(new Sketch(
        Sketch::Kind::Table, {tr("Tensor"), tr("Result"), tr("Values"), tr("Differing"), tr("Greatest difference")}));
    auto* files = sortableTable(files_, "certifiedFiles", tr("Written files and their hashes"));
    files->setColumnWidth(1, 480);
    files->setColumnWidth(2, 90);
    filesCard_->setBody(files);
    filesCard_->setSketch(new Sketch(Sketch::Kind::Table, {tr("File"), tr("SHA-256"), tr("Bytes")}));
    column->addWidget(proofCard_, 3);
    column->addWidget(filesCard_, 1);
    return both;
}

QWidget* ExportPage::sidebar() {
    auto* side = new QWidget;
    side->setFixedWidth(kSide);
    auto* column = spaced(new QVBoxLayout(side), Theme::kGap);
    auto* what = new QWidget;
    auto* lines = spaced(new QVBoxLayout(what), Theme::kGap);
    spec_ = wrapped("exportSpec", "muted");
    spec_->setFont(Theme::code());
    layout_ = named(new QComboBox, "exportLayout");
    layout_->setAccessibleName(tr("Layout"));
    for (const Layout& layout : layouts()) {
        layout_->addItem(QString::fromUtf8(layout.title), QString::fromUtf8(layout.id));
        layout_->setItemData(layout_->count() - 1, QString::fromUtf8(layout.summary), Qt::ToolTipRole);
    }
    takes_ = wrapped("exportTakes", "muted");
    write_ = named(new QPushButton(tr("Export and prove")), "exportWrite", "primary");
    auto* open = named(new QPushButton(tr("Open a certificate")), "openCertificate");
    status_ = new StatusLine("exportStatus");
    // The text has its room from the start: otherwise the buttons would move when a file is written.
    status_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    status_->setMinimumHeight(kExportStatusLines * status_->fontMetrics().lineSpacing() + 2);
    status_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);
    rules_ = new RuleEditor(session_);
    auto* recipe = new QLabel(tr("Rules that come before it"));
    recipe->setProperty("role", QStringLiteral("muted"));
    for (QWidget* widget : std::initializer_list<QWidget*>{spec_, layout_, takes_, recipe, rules_, write_, open})
        lines->addWidget(widget);
    lines->addWidget(status_, 1);
    auto* card = new Card(tr("Recipe and layout"));
    card->setBody(what);
    column->addWidget(card, 1);
    connect(layout_, &QComboBox::currentIndexChanged, this, [this] {
        session_.decision().setLayout(layout_->currentData().toString());
        choose(0);
        look();
        if (session_.model()) keep();
    });
    connect(write_, &QPushButton::clicked, this, &ExportPage::write);
    connect(open, &QPushButton::clicked, this, &ExportPage::openCertificate);
    return side;
}

void ExportPage::look() {
    followCounted();
    const QuantSpec& spec = session_.spec();
    spec_->setText(QString::fromStdString(specText(spec)));
    const Layout& layout = *findLayout(layout_->currentData().toString().toStdString());
    static constexpr std::array<std::int64_t, 2> shape = {4096, 4096};
    const bool isUsed = !session_.keepsRest(); // else the rules have all specs
    const auto accepted = isUsed ? layout.accepts(spec, shape) : Result<void>();
    takes_->setText(accepted ? tr("Takes %1.").arg(QString::fromUtf8(layout.takes))
                             : capitalized(errorSentence(accepted.error())));
    takes_->setProperty("role", accepted ? QStringLiteral("muted") : QStringLiteral("warn"));
    takes_->style()->polish(takes_);
    takesSpec_ = accepted.has_value();
    planIsOld_ = true;
    if (isVisible()) plan();
    allow();
}

QuantizeRequest ExportPage::request() const {
    QuantizeRequest request{session_.spec(), {}, layout_->currentData().toString().toStdString(), {}};
    if (auto rules = parseRules(session_.rules().toStdString())) request.rules = std::move(*rules);
    request.keepsRest = session_.keepsRest();
    request.allowMissing = session_.model() && allowsMissing_.lock() == session_.model();
    return request;
}

void ExportPage::plan() {
    planIsOld_ = false;
    plan_->ask(session_.model(), request());
    planCard_->setMessage(session_.model() ? QString() : tr("Open a model to see what an export of it would write."));
}

void ExportPage::allow() {
    const ExportPlan* plan = plan_->plan();
    write_->setEnabled(session_.model() && takesSpec_ && !writing_.running() && !rules_->wrong() &&
                       (!plan || plan->problem.empty()));
}

void ExportPage::choose(int tab) {
    shownTab_->setCurrentIndex(tab);
    tabs_[std::size_t(tab)]->setChecked(true);
}

void ExportPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    takeRestored();
    if (planIsOld_) plan();
}

QString ExportPage::suggestedName() const {
    const QFileInfo source(QString::fromStdString(session_.model()->path));
    QString name = source.completeBaseName() + u'-' + layout_->currentData().toString();
    const Layout& layout = *findLayout(layout_->currentData().toString().toStdString());
    if (layout.fileEnding)
        name += QString::fromLatin1(layout.fileEnding);
    else if (session_.model()->folder.empty())
        name += QStringLiteral(".safetensors");
    return QDir(source.absolutePath()).filePath(name);
}

void ExportPage::write() {
    if (!session_.model() || writing_.running()) return;
    rules_->take();
    if (rules_->wrong()) return;
    const QString path = chooseOutput_(suggestedName());
    if (path.isEmpty()) return;
    status_->say(tr("Writing and proving %1").arg(QFileInfo(path).fileName()));
    QuantizeRequest request = this->request();
    request.output = path.toStdString();
    writing_.run(
        "Exporting " + escapeForPeople(QFileInfo(path).fileName().toStdString()),
        [model = session_.model(), request = std::move(request),
         check = outputCheck(session_)](const Job& job) -> Result<Exported> {
            if (auto fine = check(request.output); !fine) return tl::unexpected(fine.error());
            return exportModel(*model, request, job);
        },
        [this, path, source = session_.model()](const Exported& done) {
            look();
            present(done.certificate, QString::fromStdString(done.certificatePath));
            keep();
            // A path cannot be wrapped: the folder is elided to one line, and the tooltip has the full path.
            const QString file = QFileInfo(path).fileName(),
                          in = status_->fontMetrics().elidedText(QFileInfo(path).path(), Qt::ElideMiddle, kSide - 40);
            QString said = tr("Wrote %1 into\n%2").arg(file, in);
            if (const std::string& missing = done.certificate.missing; !missing.empty())
                said += tr("\nThe output lacks what the source lacks. %1").arg(QString::fromStdString(missing));
            if (const auto& kept = done.written.kept; !kept.empty())
                said += tr("\n%1 matrices stay as they are in this layout; %2: %3.")
                            .arg(kept.size())
                            .arg(QString::fromStdString(escapeForPeople(kept.front().name, 80)),
                                 QString::fromStdString(kept.front().reason));
            for (const auto& left : done.written.leftOut)
                said +=
                    tr("\nLeft out: %1: %2.")
                        .arg(QString::fromStdString(escapeForPeople(left.name, 100)), QString::fromStdString(left.why));
            for (const std::string& remark : done.written.remarks) said += u'\n' + QString::fromStdString(remark);
            for (const auto& warning : done.written.warnings) said += u'\n' + QString::fromStdString(warning);
            if (const auto decoded = decodedTensors(*source, done.certificate); decoded && *decoded > 0)
                said += tr("\n%1 of those copied are stored quantized in the source and were written as the values "
                           "that they decode to.")
                            .arg(*decoded);
            status_->say(said);
            status_->setToolTip(path);
            Q_EMIT exported(path);
        });
    look();
}

void ExportPage::use(const PlanOffer& offer) {
    if (offer.allowsMissing) {
        allowsMissing_ = session_.model();
        return plan();
    }
    if (offer.layout) return layout_->setCurrentIndex(layout_->findData(QString::fromUtf8(offer.layout->id)));
    if (!offer.rule) return session_.setSpec(offer.spec);
    auto lines = parseRuleLines(session_.rules().toStdString());
    if (!lines || *offer.rule >= lines->own.size() + lines->planned.size()) return; // the rules are being edited
    const std::size_t own = lines->own.size(), at = *offer.rule;
    (at < own ? lines->own[at] : lines->planned[at - own]).spec = offer.spec;
    session_.setRules(*lines, session_.keepsRest());
}

void ExportPage::openCertificate() {
    const QString path = chooseCertificate_(QDir::homePath());
    if (path.isEmpty()) return;
    const auto read = readCertificate(path.toStdString());
    if (!read) return status_->say(errorSentence(read.error()), true);
    present(*read, path);
    keep();
    status_->say(tr("Comparing the files with the certificate"));
    checking_.run(
        "Comparing files with their certificate",
        [path = path.toStdString()](const Job& job) { return checkCertificate(path, job); },
        [this, path](const CheckedCertificate& checked) {
            // An interrupted export can leave two certificates: this may be the other one.
            present(checked.certificate, path);
            status_->say(QString::fromStdString(checkText(checked)), !checked.holds());
        });
}

void ExportPage::present(const Certificate& certificate, const QString& path) {
    auto rows = certificate.proof.tensors.all();
    if (!rows) return status_->say(errorSentence(rows.error()), true);
    shown_ = certificate;
    shownPath_ = path;
    tensors_->setRows(std::move(*rows));
    files_->setRows(certificate.files);
    headline_->setText(QString::fromStdString(summaryText(certificate)));
    headline_->setProperty("role", certificate.proof.proved() ? QString() : QStringLiteral("warn"));
    headline_->style()->polish(headline_);
    proofCard_->setMessage({});
    filesCard_->setMessage({});
    proofCard_->setNote(QString::fromStdString(certificate.layout));
    filesCard_->setNote(QFileInfo(path).fileName());
    choose(1);
}

QWidget* createExportPage(Session& session, QWidget* parent) { return new ExportPage(session, parent); }

} // namespace qs::gui
