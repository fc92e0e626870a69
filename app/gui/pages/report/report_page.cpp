// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_page.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/output_check.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/report_preview.h"
#include "app/gui/widgets/status_line.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"
#include "core/eval/run/record.h"
#include "core/model/output/atomic_file.h"
#include "core/plan/report.h"

#include <QCheckBox>
#include <QDesktopServices>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QPushButton>
#include <QShowEvent>
#include <QUrl>

#include <algorithm>

namespace qs::gui {

namespace {

constexpr int kReportStatusLines = 2; // of what became of a file
constexpr std::size_t kMostSpecs = 8; // as many as a session remembers

struct Made {
    std::shared_ptr<const Report> report;
    std::vector<QImage> plots;
};

QString chooseByDialog(QWidget* parent, const QString& suggested, const ReportWriter& writer) {
    const QString kind =
        QString::fromUtf8(writer.title) + QStringLiteral(" (*%1)").arg(QString::fromUtf8(writer.extension));
    return QFileDialog::getSaveFileName(parent, ReportPage::tr("Write the report"), suggested, kind);
}

} // namespace

ReportPage::ReportPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), preview_(new ReportPreview), previewCard_(new Card(tr("Preview"))),
      composing_(&session.tasks()), writing_(&session.tasks()) {
    choosePath_ = [this](const QString& suggested, const ReportWriter& writer) {
        return chooseByDialog(this, suggested, writer);
    };
    auto* whole = new QVBoxLayout(this);
    setSpaces(*whole, Theme::kGap, {Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kMargin});
    whole->addLayout(pageTitle(tr("Report"), tr("the whole model as one document")));
    auto* layout = new QHBoxLayout;
    layout->setSpacing(Theme::kGap);
    whole->addLayout(layout, 1);
    preview_->setObjectName(QStringLiteral("reportPreview"));
    previewCard_->setBody(preview_);
    layout->addWidget(previewCard_, 1);
    layout->addWidget(sidebar());

    settle_.setSingleShot(true);
    settle_.setInterval(60);
    connect(&settle_, &QTimer::timeout, this, &ReportPage::rebuild);
    connect(&session, &Session::modelChanged, this, [this] {
        composing_.drop();
        writing_.drop();
        report_.reset();
        cancelled_ = false;
        preview_->setReport(nullptr, {});
        say({}, false);
        listSpecs();
        changed();
    });
    connect(&session, &Session::specChanged, this, [this] {
        cancelled_ = false;
        stale_ = true;
        if (isVisible()) listSpecs();
        changed();
    });
    connect(&session, &Session::inputsChanged, this, &ReportPage::changed);
    connect(&session, &Session::rowsChanged, this, [this] {
        if (waiting_) changed();
    });
    const auto stop = [this] {
        cancelled_ = true;
        changed();
    };
    connect(&session, &Session::jobCancelled, this, [this, stop] {
        if (waiting_) stop();
    });
    connect(&composing_, &Task::cancelled, this, stop);
    connect(&writing_, &Task::cancelled, this, [this] { say(tr("Cancelled; nothing was written."), false); });
    connect(&writing_, &Task::failed, this, [this](const QString& why) { say(why, true); });
    connect(&composing_, &Task::failed, this, [this](const QString& why) {
        previewCard_->setLoading(false);
        previewCard_->setMessage(why);
        Q_EMIT failed(why);
    });
    connect(&Theme::instance(), &Theme::changed, this, &ReportPage::changed);
    listSpecs();
}

QWidget* ReportPage::sidebar() {
    auto* side = new QWidget;
    side->setFixedWidth(320);
    auto* column = new QVBoxLayout(side);
    setSpaces(*column, Theme::kGap);

    auto* parts = new QWidget;
    auto* partsColumn = new QVBoxLayout(parts);
    setSpaces(*partsColumn, 0);
    const std::tuple<bool ReportContents::*, QString, const char*> list[] = {
        {&ReportContents::summary, tr("Summary"), "summary"},
        {&ReportContents::heatMaps, tr("Layer × role maps"), "heatMaps"},
        {&ReportContents::ranking, tr("Worst tensors"), "ranking"},
        {&ReportContents::histograms, tr("Distribution over tensors"), "histograms"},
        {&ReportContents::codebooks, tr("Codes and levels"), "codebooks"},
        {&ReportContents::tensors, tr("Table of all tensors"), "tensors"},
        {&ReportContents::folders, tr("Folders of the files"), "folders"},
    };
    for (const auto& [part, title, name] : list) {
        auto* box = new QCheckBox(title);
        box->setObjectName(QLatin1String(name));
        box->setChecked(ReportContents().*part);
        connect(box, &QCheckBox::toggled, this, &ReportPage::changed);
        partsColumn->addWidget(box);
        parts_.emplace_back(part, box);
    }
    recipe_ = addPart(*partsColumn, "recipePart", tr("Recipe"), tr("What each weight becomes, and by which rule"));
    planned_ =
        addPart(*partsColumn, "planPart", tr("Plan"), tr("The plan of the page Plan, and its test against chance"));
    evidence_ = addPart(*partsColumn, "evidencePart", tr("Evidence of the output"),
                        tr("The last evaluation of the page Evidence"));
    allowParts();
    for (auto signal : {&Session::evidenceChanged, &Session::planChanged, &Session::recipeChanged})
        connect(&session_, signal, this, [this] {
            allowParts();
            changed();
        });
    auto* partsCard = new Card(tr("Contents"));
    partsCard->setBody(parts);

    specs_ = new TickList("reportSpecs", tr("Specs in the report"));
    connect(specs_, &QListWidget::itemChanged, this, [this] {
        cancelled_ = false;
        changed();
    });
    auto* specsCard = new Card(tr("Specs"));
    specsCard->setBody(specs_);

    auto* files = new QWidget;
    auto* grid = new QGridLayout(files);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(Theme::kGap);
    grid->setVerticalSpacing(Theme::kSpace);
    grid->setColumnStretch(1, 1);
    for (const auto& writer : reportWriters()) {
        const int row = int(buttons_.size());
        auto* button = new QPushButton(QString::fromUtf8(writer.title));
        button->setMinimumWidth(104);
        button->setObjectName(QStringLiteral("write_") + QString::fromUtf8(writer.id));
        button->setToolTip(tr("%1: %2").arg(QString::fromUtf8(writer.title), QString::fromUtf8(writer.holds)));
        if (writer.id == std::string_view("html")) button->setProperty("role", QStringLiteral("primary"));
        button->setEnabled(false);
        connect(button, &QPushButton::clicked, this, [this, &writer] { write(writer); });
        auto* name = new QLabel;
        dress(*name, Theme::numbers(), "muted");
        grid->addWidget(button, row, 0);
        grid->addWidget(name, row, 1);
        buttons_.push_back(button);
        names_.push_back(name);
    }
    status_ = new StatusLine("reportStatus");
    // The text has its room from the start: otherwise the buttons would move when a file is written.
    status_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    status_->setFixedHeight(kReportStatusLines * status_->fontMetrics().lineSpacing() + 2);
    openFolder_ = new QPushButton(tr("Open folder"));
    openFolder_->hide();
    auto policy = openFolder_->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    openFolder_->setSizePolicy(policy);
    connect(openFolder_, &QPushButton::clicked, this,
            [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder_)); });
    grid->addWidget(status_, int(buttons_.size()), 0, 1, 2);
    grid->addWidget(openFolder_, int(buttons_.size()) + 1, 0);
    auto* filesCard = new Card(tr("Export"));
    filesCard->setBody(files);

    measure_ = named(new QPushButton(tr("Measure and compose")), "measureMissing", "primary");
    measure_->hide();
    connect(measure_, &QPushButton::clicked, this, [this] {
        cancelled_ = false;
        changed();
    });
    column->addWidget(partsCard);
    column->addWidget(specsCard, 1);
    column->addWidget(measure_);
    column->addWidget(filesCard);
    return side;
}

QCheckBox* ReportPage::addPart(QLayout& column, const char* name, const QString& title, const QString& tip) {
    auto* box = named(new QCheckBox(title), name);
    box->setToolTip(tip);
    box->setChecked(true);
    connect(box, &QCheckBox::toggled, this, &ReportPage::changed);
    column.addWidget(box);
    return box;
}

bool ReportPage::hasRecipe() const { return recipe_->isChecked() && session_.recipe()->isMixed(); }

void ReportPage::allowParts() {
    evidence_->setEnabled(bool(session_.evidence()));
    planned_->setEnabled(bool(session_.plan()));
    recipe_->setEnabled(session_.recipe()->isMixed());
}

void ReportPage::listSpecs() {
    stale_ = false;
    const auto ticked = chosen();
    const bool first = specs_->count() == 0;
    DistinctSpecs all;
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    for (const auto& spec : session_.analysedSpecs()) all.add(spec);
    for (const auto& spec : ticked) all.add(spec);
    for (const auto& spec : SpecSetView::presets()) all.add(spec);
    const bool movedA = !listed_.empty() && !(listed_.front() == session_.spec());
    const QuantSpec before = listed_.empty() ? session_.spec() : listed_.front();
    listed_ = all.inOrder();
    const QSignalBlocker blocker(specs_);
    specs_->clear();
    for (const auto& spec : listed_) {
        bool on = std::find(ticked.begin(), ticked.end(), spec) != ticked.end();
        if (movedA && spec == before) on = false; // the tick of A moves with A
        if (spec == session_.spec() && (first || movedA)) on = true;
        specs_->add(QString::fromStdString(specText(spec)), on, QString::fromStdString(canonicalText(spec)));
    }
}

std::vector<QuantSpec> ReportPage::chosen() const {
    std::vector<QuantSpec> specs;
    for (int i = 0; i < specs_->count(); ++i)
        if (specs_->ticked(i)) specs.push_back(listed_[std::size_t(i)]);
    return specs;
}

ReportContents ReportPage::contents() const {
    ReportContents contents;
    for (const auto& [part, box] : parts_) contents.*part = box->isChecked() && box->isEnabled();
    return contents;
}

void ReportPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) listSpecs();
    if (dirty_) settle_.start();
}

void ReportPage::changed() {
    dirty_ = true;
    if (isVisible()) settle_.start();
}

QString ReportPage::fileName(const ReportWriter& writer) const {
    QString stem =
        session_.model() ? QFileInfo(QString::fromStdString(session_.model()->title)).completeBaseName() : QString();
    for (QChar& c : stem)
        if (!c.isLetterOrNumber() && c != u'-' && c != u'_' && c != u'.') c = u'-';
    return (stem.isEmpty() ? QStringLiteral("model") : stem.left(60)) + QStringLiteral("-report") +
           QString::fromUtf8(writer.extension);
}

std::shared_ptr<const AnalysisResult> ReportPage::collected() const {
    if (hasRecipe() && session_.recipeRows().size() < qsizetype(session_.weights().size())) return nullptr;
    auto result = std::make_shared<AnalysisResult>();
    std::vector<ModelRows> known;
    for (const auto& [text, spec] : plan_.specs) {
        known.push_back(session_.modelRows(spec));
        if (known.back().size() < qsizetype(session_.weights().size())) return nullptr;
        const auto pooled = session_.pooledHistograms(spec); // null: every tensor was refused
        result->pooled.push_back(pooled ? pooled : std::make_shared<const Distribution>());
    }
    for (std::size_t i = 0; i < session_.weights().size(); ++i)
        for (const auto& rows : known) {
            const auto& row = rows.at(i);
            result->seconds += row->seconds;
            result->sourceBytes += row->bytesBefore;
            result->rows.push_back(row);
        }
    return result;
}

void ReportPage::rebuild() {
    dirty_ = waiting_ = false;
    composing_.drop();
    const auto specs = chosen();
    for (std::size_t i = 0; i < names_.size(); ++i) {
        names_[i]->setText(fileName(reportWriters()[i]));
        buttons_[i]->setEnabled(false);
    }
    measure_->hide();
    QString message;
    if (!session_.model())
        message = tr("No model is open. Ctrl+O opens one.");
    else if (session_.weights().empty())
        message = tr("This file holds no float tensor of rank 2 or more: nothing to report.");
    else if (specs.empty())
        message = tr("Choose at least one spec on the right.");
    else if (specs.size() > kMostSpecs)
        message = tr("At most %1 specs fit into one report.").arg(kMostSpecs);
    previewCard_->setMessage(message);
    if (!message.isEmpty()) return report_.reset();

    std::vector<std::pair<std::string, QuantSpec>> wanted;
    for (const auto& spec : specs) wanted.emplace_back(specText(spec), spec);
    plan_ = {session_.model(), session_.weights(), wanted, {}};
    if (!cancelled_)
        if (auto rows = collected()) return make(std::move(rows));
    // The session measures the missing rows: the job lane shows it, and all pages get the rows.
    waiting_ = true;
    if (!cancelled_ && hasRecipe()) session_.analyseRecipe();
    if (!cancelled_)
        for (const auto& spec : specs) session_.analyseModel(spec);
    measure_->setVisible(cancelled_);
    previewCard_->setNote(cancelled_ ? tr("cancelled") : tr("measuring"));
    if (!report_) previewCard_->setMessage(tr("The preview appears once every tensor is measured under these specs."));
    previewCard_->setLoading(report_ != nullptr);
}

void ReportPage::make(std::shared_ptr<const AnalysisResult> result) {
    previewCard_->setLoading(true);
    previewCard_->setNote(tr("composing"));
    std::string command = "quantscope-cli analyze " + escapeForPeople(plan_.model->path, 400);
    for (const auto& [text, spec] : plan_.specs) command += " --spec " + text;
    if (const auto& inputs = session_.inputs(); inputs.any())
        command += " --activations " + (inputs.file ? escapeForPeople(inputs.file->path, 400) : "synthetic");
    if (session_.decodedAs() == DecodedAs::Source) command += " --decoded source";
    std::vector<std::string> paths = {plan_.model->path};
    for (const auto& file : plan_.model->files) paths.push_back(file.path);
    if (const auto& inputs = session_.inputs(); inputs.file) paths.push_back(inputs.file->path);
    const auto evidence = evidence_->isChecked() ? session_.evidence() : nullptr;
    if (evidence) paths.push_back(evidence->textPath);
    const auto planned = planned_->isChecked() ? session_.plan() : nullptr;
    if (planned && planned->proof) paths.push_back(planned->text.path);
    const auto work = [plan = plan_, result, parts = contents(), command, paths, evidence, planned,
                       recipe = hasRecipe() ? session_.recipe() : nullptr, rows = session_.recipeRows(),
                       dark = Theme::instance().isDark(), ratio = devicePixelRatioF()](const Job& job) -> Result<Made> {
        auto report = analysisReport(plan, *result, parts, command, job);
        if (!report) return tl::unexpected(report.error());
        if (recipe) {
            std::vector<AnalysisRow> figures;
            for (std::size_t i = 0; i < plan.tensors.size(); ++i) figures.push_back(rows.at(i));
            report->sections.push_back(plan::recipeSection(*plan.model, recipe->asRecipe(), figures));
        }
        if (planned)
            for (auto& section : plan::planSections(*planned)) report->sections.push_back(std::move(section));
        if (evidence) report->sections.push_back(eval::recordSection(*evidence));
        if (!parts.folders) withoutFolders(*report, paths);
        Made made{freedOnPool(std::make_shared<const Report>(std::move(*report))), {}};
        made.plots = ReportPreview::drawPlots(*made.report, dark, ratio);
        return made;
    };
    composing_.run("Composing the report", work, [this](Made made) {
        previewCard_->setLoading(false);
        report_ = made.report;
        preview_->setReport(report_, std::move(made.plots));
        previewCard_->setNote(
            tr("%1 tensors, %2")
                .arg(plan_.tensors.size())
                .arg(plan_.specs.size() == 1 ? tr("1 spec") : tr("%1 specs").arg(plan_.specs.size())));
        for (auto* button : buttons_) button->setEnabled(true);
        Q_EMIT reportReady();
    });
}

void ReportPage::write(const ReportWriter& writer) {
    if (!report_) return;
    const QString home = folder_.isEmpty() ? QDir::homePath() : folder_;
    const QString path = choosePath_(QDir(home).filePath(fileName(writer)), writer);
    if (path.isEmpty()) return;
    say(tr("Writing %1").arg(QFileInfo(path).fileName()), false);
    const auto work = [report = report_, &writer, path = path.toStdString(),
                       check = outputCheck(session_)](const Job& job) -> Result<std::uint64_t> {
        if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
        const auto text = writer.render(*report);
        if (!text) return tl::unexpected(text.error());
        if (job.cancelled()) return tl::unexpected(cancelledError());
        if (auto done = writeWholeFile(path, *text); !done) return tl::unexpected(done.error());
        return text->size();
    };
    const auto title = "Writing " + escapeForPeople(QFileInfo(path).fileName().toStdString());
    writing_.run(title, work, [this, path](std::uint64_t bytes) {
        const QFileInfo file(path);
        say(tr("Wrote %1, %2.").arg(file.fileName(), QString::fromStdString(bytesText(bytes))), false,
            file.absolutePath());
        Q_EMIT written(path);
    });
}

void ReportPage::say(const QString& sentence, bool wrong, const QString& folder) {
    status_->say(sentence, wrong);
    openFolder_->setVisible(!folder.isEmpty());
    if (!folder.isEmpty()) folder_ = folder;
    if (wrong) Q_EMIT failed(sentence);
}

QWidget* createReportPage(Session& session, QWidget* parent) { return new ReportPage(session, parent); }

} // namespace qs::gui
