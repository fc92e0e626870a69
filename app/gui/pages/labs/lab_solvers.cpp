// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/labs/lab_solvers.h"

#include "app/gui/output_check.h"
#include "app/gui/sentence.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/solve/save.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QGridLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>

#include <algorithm>
#include <limits>

namespace qs::gui {
namespace {

constexpr const char* kSolutionsKept = "lab-solvers"; // name in session files

Columns<solve::SolveRow> solverColumns() {
    return solve::solveColumns().without({"tensor", "spec"}); // they are the selection of the page
}

RankedBar outputBar(const QString& name, const std::optional<double>& nmse) {
    RankedBar bar{name, std::numeric_limits<double>::quiet_NaN(), LabPanel::tr("not measured"),
                  LabPanel::tr("the output is 0 on these inputs")};
    if (nmse && *nmse == 0) bar.text = bar.reason = LabPanel::tr("exact");
    const auto value = sqnrDb(nmse);
    if (!value) return bar;
    bar.value = *value;
    bar.text = QString::fromStdString(fixedText(bar.value, 2)) + LabPanel::tr(" dB");
    return bar;
}

} // namespace

SolversPanel::SolversPanel(Session& session, const LabInputs& inputs, QWidget* parent)
    : LabPanel(session, inputs, parent), model_(new RowModel<solve::SolveRow>(solverColumns(), this)),
      table_(new QTableView), bars_(new RankedBars), tableCard_(new Card(tr("Solutions"))),
      barsCard_(new Card(tr("Output of the layer"))) {
    setObjectName(QStringLiteral("labSolvers"));
    asDataTable(*table_, tr("Solutions: error of the output and of the weights"));
    table_->setProperty("roomy", true); // text beside right-aligned numbers
    table_->setModel(model_);
    tableCard_->setBody(table_);
    tableCard_->setSketch(
        new Sketch(Sketch::Kind::Table, {tr("Solver"), tr("SQNR of the output"), tr("Rounded to nearest")}));
    bars_->setAccessibleName(tr("SQNR of the output, rounded to nearest and solved"));
    bars_->setAxis(tr("SQNR of X Wᵀ, dB ↑"));
    bars_->setToken(2);
    barsCard_->setBody(bars_);
    barsCard_->setSketch(new Sketch(Sketch::Kind::Bars, {tr("SQNR of the output, dB")}));
    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(sidebar(), 0, 0, 2, 1);
    grid->addWidget(barsCard_, 0, 1);
    grid->addWidget(tableCard_, 1, 1);
    grid->setRowStretch(0, 1);
    grid->setRowStretch(1, 1);
    grid->setColumnStretch(1, 1);
    for (Card* card : {tableCard_, barsCard_}) card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
}

QWidget* SolversPanel::sidebar() {
    auto* body = new QWidget;
    QFormLayout* form = labForm(body);
    solver_ = new QComboBox;
    for (const auto& solver : solve::solvers())
        solver_->addItem(QString::fromUtf8(solver.title), QString::fromUtf8(solver.id));
    addField(*form, tr("Solver"), solver_, "solver");
    options_ = new QLineEdit;
    addField(*form, tr("Settings"), options_, "solverOptions");
    options_->setFont(Theme::code(10)); // the settings fit on one line
    inputsCount_ = new QSpinBox;
    inputsCount_->setRange(1, 1 << 20);
    inputsCount_->setValue(512);
    addField(*form, tr("Inputs, rows of X at most"), inputsCount_, "solverInputs");
    start_ = named(new QPushButton(tr("Solve")), "solverStart", "primary");
    save_ = named(new QPushButton(tr("Save the latest…")), "solverSave");
    save_->setToolTip(tr("Codes, scales and column scales of this tensor, in the native layout"));
    about_ = dressed(new QLabel, Theme::words(11), "muted");
    about_->setWordWrap(true);
    about_->setTextFormat(Qt::PlainText);
    status_ = new StatusLine("solverStatus");
    connect(solver_, &QComboBox::currentIndexChanged, this, &SolversPanel::chooseSolver);
    connect(start_, &QPushButton::clicked, this, &SolversPanel::begin);
    connect(options_, &QLineEdit::returnPressed, this, &SolversPanel::begin);
    connect(save_, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getSaveFileName(
            this, tr("Save the solution"), QStringLiteral("solved.safetensors"), tr("safetensors (*.safetensors)"));
        if (!path.isEmpty()) saveTo(path);
    });
    chooseSolver();
    return labSidebar(tr("Solver"), body, {about_, start_, save_, status_});
}

void SolversPanel::chooseSolver() {
    const solve::Solver& solver = solve::solvers()[std::size_t(solver_->currentIndex())];
    solve::Settings settings;
    settings.solver = solver.id;
    options_->setText(QString::fromStdString(solve::canonicalText(settings)));
    options_->setToolTip(QString::fromUtf8(solver.id) + QString::fromUtf8(solver.options));
    about_->setText(QString::fromUtf8(solver.summary));
}

/// Rows of another tensor or spec cannot be compared; only the user starts a solver.
void SolversPanel::refresh() {
    if (const QString now = subject(); now != subject_) {
        drop();
        latest_.reset();
        model_->setRows({});
        subject_ = now;
        status_->say({});
    }
    takeRestored<std::shared_ptr<const KeptSolutions>>(
        kSolutionsKept, solutionsKept, [this](auto solutions) { kept_ = freedOnPool(solutions), restored_ = true; });
    const bool nothing = !running() && model_->rows().empty();
    if (nothing && kept_ && subjectOf(kept_->tensor, kept_->spec) == subject_) show(*kept_);
    draw();
}

void SolversPanel::forget() {
    latest_.reset();
    kept_.reset();
    model_->setRows({});
    subject_.clear();
}

void SolversPanel::complain(const QString& why) { status_->say(why, true); }

void SolversPanel::failed(const QString& why) {
    complain(why);
    draw();
}

/// Shows earlier solutions, possibly of a run that ended unexpectedly.
void SolversPanel::show(const KeptSolutions& solutions) {
    const auto& last = solutions.rows.back();
    if (const auto settings = solve::parseSettings(last.solver); settings && std::exchange(restored_, false)) {
        solver_->setCurrentIndex(solver_->findData(QString::fromStdString(settings->solver)));
        options_->setText(QString::fromStdString(solve::canonicalText(*settings)));
    }
    setRows(solutions.rows);
    status_->say(tr("As it was solved before."));
    latest_.reset();
    if (!solutions.solved)
        return status_->say(
            tr("As it was solved before. The solution did not fit into the session file: solve again to save it."));
    latest_ = std::make_shared<Latest>(
        Latest{session_.model(), session_.tensor(), solutions.spec, solutions.solved, last, true});
}

void SolversPanel::setRows(std::vector<solve::SolveRow> rows) {
    const bool same = std::ranges::all_of(rows, [&](const auto& row) { return row.inputs == rows.back().inputs; });
    table_->setColumnHidden(int(solverColumns().indexOf("inputs")), same); // the note of the bars has them
    model_->setRows(std::move(rows));
    fitColumns(*table_);
}

void SolversPanel::interrupted() {
    status_->say(tr("Cancelled."));
    draw();
}

void SolversPanel::begin() {
    const TensorInfo* tensor = session_.tensor();
    if (!tensor) return;
    const auto settings = solve::parseSettings(options_->text().trimmed().toStdString());
    if (!settings) return status_->say(errorSentence(settings.error()), true);
    using Answer = std::shared_ptr<const Latest>;
    const auto work = [model = session_.model(), tensor, spec = session_.spec(), inputs = inputs_,
                       rows = inputsCount_->value(), settings = *settings](const Job& job) -> Result<Answer> {
        const auto view = model->view(*tensor);
        if (!view) return tl::unexpected(view.error());
        const auto x = inputs.make(tensor->name, rows, tensor->lastAxis());
        if (!x) return tl::unexpected(x.error());
        const solve::Problem problem{*view, spec, settings, *x};
        auto solution = solve::solve(problem, job);
        if (!solution) return tl::unexpected(solution.error());
        auto latest = std::make_shared<Latest>();
        latest->model = model, latest->tensor = tensor, latest->spec = spec;
        const QString source = tr("%1, %2").arg(inputs.title(), QString::fromStdString(shapeTimes(x->shape)));
        latest->row = solve::solveRowOf(problem, *solution, source.toStdString());
        latest->solved = std::move(solution->solved);
        latest->fits = fitsKept(*latest->solved);
        return Answer(std::move(latest));
    };
    start(tr("Solving"), work, [this](Answer answer) {
        latest_ = std::move(answer);
        auto all = model_->rows();
        all.push_back(latest_->row);
        kept_ = std::make_shared<const KeptSolutions>(
            KeptSolutions{latest_->tensor->name, latest_->spec, all, latest_->solved});
        session_.keep(QLatin1String(kSolutionsKept), [kept = kept_] { return keptSolutions(*kept); });
        setRows(std::move(all));
        const double seconds = latest_->row.seconds;
        const QString done = tr("Solved in %1 s.").arg(QString::fromStdString(fixedText(seconds, 2)));
        status_->say(latest_->fits ? done : tr("%1 The solution does not fit into a session file: save it.").arg(done));
        draw();
    });
    status_->say(tr("Solving on %1 inputs…").arg(inputs_.title()));
    draw();
}

void SolversPanel::draw() {
    start_->setEnabled(session_.tensor() && !running());
    save_->setVisible(!running() && latest_);
    const auto& all = model_->rows();
    const QString empty = all.empty() ? tr("Not solved yet: press Solve.") : QString();
    for (Card* card : {tableCard_, barsCard_}) card->setEmpty(empty);
    if (all.empty()) return barsCard_->setNote({});
    std::vector<RankedBar> bars{outputBar(tr("rounded to nearest"), all.back().nearestOutput)};
    for (const auto& row : all) bars.push_back(outputBar(QString::fromStdString(row.solver), row.output));
    bars_->setBars(std::move(bars));
    barsCard_->setNote(tr("inputs: %1").arg(QString::fromStdString(all.back().inputs)));
}

void SolversPanel::saveTo(const QString& path) {
    if (!latest_) return;
    const auto work = [path = path.toStdString(), latest = latest_,
                       check = outputCheck(session_)](const Job& job) -> Result<std::uint64_t> {
        if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
        return solve::saveSolved(*latest->model, *latest->tensor, latest->spec, latest->solved, path, job);
    };
    start(tr("Writing the solution"), work, [this, path](std::uint64_t) {
        status_->say(tr("Written: %1.").arg(path));
        Q_EMIT saved(path);
    });
}

} // namespace qs::gui
