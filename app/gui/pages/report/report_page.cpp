// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_page.h"

#include "app/gui/pages/report/report_parts.h"
#include "app/gui/pages/report/report_specs.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/report_preview.h"
#include "core/base/text.h"
#include "core/eval/run/record.h"
#include "core/plan/report.h"

#include <QPushButton>
#include <QShowEvent>

#include <utility>

namespace qs::gui {

namespace {

constexpr std::size_t kMostSpecs = 8; // as many as a session remembers

struct Made {
    std::shared_ptr<const Report> report;
    std::vector<QImage> plots;
};

} // namespace

ReportPage::ReportPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), preview_(named(new ReportPreview, "reportPreview")),
      previewCard_(new Card(tr("Preview"))), parts_(new ReportParts(session)), specs_(new ReportSpecs(session)),
      files_(new ReportFiles(session)), composing_(&session.tasks()) {
    auto* whole = spaced(new QVBoxLayout(this), Theme::kGap, Theme::kPageMargins);
    whole->addLayout(pageTitle(tr("Report"), tr("the whole model as one document")));
    auto* layout = spaced(new QHBoxLayout, Theme::kGap);
    whole->addLayout(layout, 1);
    previewCard_->setBody(preview_);
    layout->addWidget(previewCard_, 1);
    layout->addWidget(sidebar());

    settle_.setSingleShot(true);
    settle_.setInterval(60);
    connect(&settle_, &QTimer::timeout, this, &ReportPage::rebuild);
    connect(&session, &Session::modelChanged, this, &ReportPage::forget);
    connect(&session, &Session::specChanged, this, [this] {
        cancelled_ = false;
        stale_ = true;
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
    connect(&composing_, &Task::failed, this, [this](const QString& why) {
        previewCard_->setLoading(false);
        previewCard_->setMessage(why);
        Q_EMIT failed(why);
    });
    connect(files_, &ReportFiles::failed, this, &ReportPage::failed);
    connect(&Theme::instance(), &Theme::changed, this, &ReportPage::changed);
}

QWidget* ReportPage::sidebar() {
    auto* side = new QWidget;
    side->setFixedWidth(320);
    auto* column = spaced(new QVBoxLayout(side), Theme::kGap);
    measure_ = named(new QPushButton(tr("Measure and compose")), "measureMissing", "primary");
    measure_->hide();
    const auto again = [this] {
        cancelled_ = false;
        changed();
    };
    connect(parts_, &ReportParts::changed, this, &ReportPage::changed);
    connect(specs_, &ReportSpecs::changed, this, again);
    connect(measure_, &QPushButton::clicked, this, again);
    column->addWidget(parts_);
    column->addWidget(specs_, 1);
    addWidgets(*column, {measure_, files_});
    return side;
}

void ReportPage::forget() {
    composing_.drop();
    report_.reset();
    cancelled_ = false;
    preview_->setReport(nullptr, {});
    files_->forget();
    specs_->list();
    changed();
}

void ReportPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (dirty_) changed();
}

void ReportPage::changed() {
    dirty_ = true;
    if (!isVisible()) return;
    if (std::exchange(stale_, false)) specs_->list();
    settle_.start();
}

std::shared_ptr<const AnalysisResult> ReportPage::collected() const {
    if (parts_->recipe() && session_.recipeRows().size() < qsizetype(session_.weights().size())) return nullptr;
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
    const auto specs = specs_->chosen();
    files_->setReport(nullptr);
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
    if (!cancelled_ && parts_->recipe()) session_.analyseRecipe();
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
    const auto evidence = parts_->evidence();
    if (evidence) paths.push_back(evidence->textPath);
    const auto planned = parts_->plan();
    if (planned && planned->proof) paths.push_back(planned->text.path);
    const auto work = [plan = plan_, result, parts = parts_->contents(), command, paths, evidence, planned,
                       recipe = parts_->recipe(), rows = session_.recipeRows(), dark = Theme::instance().isDark(),
                       ratio = devicePixelRatioF()](const Job& job) -> Result<Made> {
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
        made.plots = ReportPreview::drawPlots(*made.report, dark, ratio * ReportPreview::kMostScale);
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
        files_->setReport(report_);
        Q_EMIT reportReady();
    });
}

QWidget* createReportPage(Session& session, QWidget* parent) { return new ReportPage(session, parent); }

} // namespace qs::gui
