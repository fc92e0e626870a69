// SPDX-License-Identifier: GPL-3.0-or-later
// The compare page: the selected tensor under specs A and B side by side on the same axes, and the difference.

#include "app/gui/page.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/pages/compare/compare_figures.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/staged_refresh.h"
#include "core/base/short_name.h"
#include "core/base/text.h"

#include <QGridLayout>
#include <QPushButton>
#include <QShowEvent>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {

namespace {

struct Pane {
    QLabel *title = nullptr, *figures = nullptr;
    Card *densityCard = nullptr, *errorCard = nullptr, *mapCard = nullptr;
    PlotChart *density = nullptr, *error = nullptr;
    HeatMap* map = nullptr;
};

class ComparePage : public PageInParts {
public:
    ComparePage(Session& session, QWidget* parent);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override {
        PageInParts::showEvent(event);
        if (!session_.comparing()) {
            turnedOn_ = true;
            session_.setComparing(true); // this page needs B
        }
        stages_->setActive(true);
    }
    void hideEvent(QHideEvent* event) override {
        QWidget::hideEvent(event);
        stages_->setActive(false);
    }

private:
    QLayout* header();
    void build(QGridLayout* grid, Pane& pane, int column, const QString& name);
    void buildDifference(QGridLayout* grid);
    void listen(QGridLayout* grid);
    void link();
    void linkMaps(HeatMap* from);
    void showFigures();
    void showRow(Pane& pane, const AnalysisRow& row, const QuantSpec& spec);
    AnalysisRow rowA() const, rowB() const; ///< null: nothing to draw
    void drawPlots(const Pane& pane, const AnalysisRow& row);
    void showRecipe();
    void drawDifference();
    void drawMaps();
    void loading(bool on);

    Session& session_;
    Pane a_, b_;
    QLabel *tensor_ = nullptr, *shape_ = nullptr;
    QPushButton* recipe_ = nullptr; ///< what the recipe gives the tensor; pressed: B becomes it
    QToolButton *lock_ = nullptr, *log_ = nullptr, *symlog_ = nullptr, *difference_ = nullptr;
    QWidget* differences_[4] = {};
    QGridLayout* grid_ = nullptr;
    bool narrow_ = false;
    bool turnedOn_ = false; ///< this page has switched B on: it switches B off when it is left
    Card *figureCard_ = nullptr, *errorCard_ = nullptr, *mapCard_ = nullptr;
    FigureTable* figures_ = nullptr;
    PlotChart* errorDifference_ = nullptr;
    HeatMap* mapDifference_ = nullptr;
    QHash<HeatMap*, QSizeF> cellSize_; ///< size of a cell: elements of the row, rows
    StagedRefresh* stages_;
};

ComparePage::ComparePage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), stages_(new StagedRefresh(this)) {
    connect(&session_, &Session::pageChanged, this, [this] {
        if (!session_.isOn(kComparePage) && std::exchange(turnedOn_, false)) session_.setComparing(false);
    });
    auto* layout = spaced(new QVBoxLayout(this), Theme::kSpace, Theme::kPageMargins);
    layout->addLayout(header());
    auto* grid = grid_ = new QGridLayout;
    grid->setHorizontalSpacing(Theme::kGap);
    grid->setVerticalSpacing(Theme::kGap);
    addPart([this, grid] { build(grid, a_, 0, QStringLiteral("A")); });
    addPart([this, grid] { build(grid, b_, 1, QStringLiteral("B")); });
    addPart([this, grid] { buildDifference(grid); });
    addPart([this, grid] { listen(grid); });
    for (int column = 0; column < 3; ++column) grid->setColumnStretch(column, column == 2 ? 5 : 4);
    for (int row = 1; row < 4; ++row) grid->setRowStretch(row, 1);
    layout->addLayout(grid, 1);
}

void ComparePage::listen(QGridLayout* grid) {
    link();
    // One stage per turn of the event loop, so that no turn draws more than two charts.
    stages_->add([this] { showFigures(); });
    stages_->add([this] { drawPlots(a_, rowA()); });
    stages_->add([this] { drawPlots(b_, rowB()); });
    stages_->add([this] { drawDifference(); });
    stages_->add([this] {
        drawMaps();
        loading(session_.currentIsStale());
    });
    for (auto* button : {lock_, log_, symlog_}) connect(button, &QToolButton::toggled, stages_, &StagedRefresh::askAll);
    connect(difference_, &QToolButton::toggled, this, [this, grid](bool on) {
        for (auto* widget : differences_) widget->setVisible(on);
        grid->setColumnStretch(2, !on ? 0 : narrow_ ? 6 : 5);
    });
    connect(&session_, &Session::currentStarted, this, [this] { loading(true); });
    connect(&session_, &Session::currentChanged, stages_, &StagedRefresh::askAll);
    connect(&session_.output(), &ModelOutput::trustChanged, stages_, &StagedRefresh::askAll);
    connect(&session_, &Session::specChanged, stages_, &StagedRefresh::askAll);
    for (auto signal :
         {&Session::recipeChanged, &Session::specChanged, &Session::tensorChanged, &Session::modelChanged})
        connect(&session_, signal, this, &ComparePage::showRecipe);
    showRecipe();
    connect(&session_, &Session::tensorChanged, stages_, &StagedRefresh::askAll);
    connect(&session_, &Session::modelChanged, stages_, &StagedRefresh::askAll);
    stages_->askAll();
}

QLayout* ComparePage::header() {
    auto* line = spaced(new QHBoxLayout, Theme::kSpace);
    tensor_ = new ElidedLabel(Qt::ElideLeft); // the layer and the role are at the end
    tensor_->setFont(Theme::words(18, QFont::DemiBold));
    shape_ = dressed(new QLabel, Theme::numbers(), "muted");
    line->addWidget(tensor_);
    line->addSpacing(Theme::kSpace);
    line->addWidget(shape_);
    line->addStretch(1);
    recipe_ = named(new QPushButton, "compareRecipe", "quiet");
    line->addWidget(recipe_);
    connect(recipe_, &QPushButton::clicked, this, [this] {
        const auto* tensor = session_.tensor();
        if (const QuantSpec* spec = tensor ? session_.recipe()->specOf(*tensor) : nullptr) {
            session_.setSpecB(*spec);
            session_.setComparing(true);
        }
    });
    const auto toggle = [&](const QString& text, const QString& tip, const char* name) {
        auto* button = new QToolButton;
        button->setObjectName(QLatin1String(name));
        button->setText(text);
        button->setToolTip(tip);
        button->setAccessibleName(tip);
        button->setCheckable(true);
        button->setChecked(true);
        button->setProperty("role", QStringLiteral("quiet"));
        line->addWidget(button);
        return button;
    };
    lock_ = toggle(tr("Lock scales"), tr("The same axes and colour range for A and B"), "lockScales");
    symlog_ = toggle(tr("Symlog error"), tr("Error axes linear around 0 and logarithmic beyond, to the largest error"),
                     "symlogError");
    log_ = toggle(tr("Log colour"), tr("Logarithmic colours in the block maps"), "logColour");
    difference_ = toggle(tr("Difference"), tr("Show the column with B minus A"), "showDifference");
    return line;
}

void ComparePage::build(QGridLayout* grid, Pane& pane, int column, const QString& name) {
    auto* heading = new QWidget;
    auto* line = new QHBoxLayout(heading);
    line->setContentsMargins(Theme::kMargin, Theme::kSpace, Theme::kMargin, 0);
    pane.title = dressed(new ElidedLabel(Qt::ElideMiddle), Theme::words(13, QFont::DemiBold));
    pane.title->setObjectName(QStringLiteral("title") + name);
    pane.figures = dressed(new QLabel, Theme::numbers());
    pane.figures->setObjectName(QStringLiteral("figures") + name);
    line->addWidget(pane.title, 1);
    line->addWidget(pane.figures);
    pane.figures->setVisible(!narrow_);
    grid->addWidget(heading, 0, column);

    const auto card = [&](int row, const QString& title, QWidget* body, const QString& id) {
        auto* made = new Card(title);
        body->setObjectName(id + name);
        body->setAccessibleName(title + QStringLiteral(", ") + name);
        made->setBody(body);
        grid->addWidget(made, row, column);
        return made;
    };
    pane.densityCard =
        card(1, tr("Weight density and levels"), pane.density = new PlotChart, QStringLiteral("density"));
    pane.errorCard = card(2, tr("Signed error"), pane.error = new PlotChart, QStringLiteral("error"));
    pane.mapCard = card(3, tr("Block map: NMSE"), pane.map = new HeatMap, QStringLiteral("map"));
    pane.density->setAxes(tr("weight / (scale × outermost level)"), tr("density"));
}

void ComparePage::buildDifference(QGridLayout* grid) {
    auto* heading = dressed(new QLabel(tr("Difference, B − A")), Theme::words(13, QFont::DemiBold));
    heading->setContentsMargins(Theme::kMargin, Theme::kSpace, 0, 0);
    figures_ = new FigureTable;
    figureCard_ = new Card(tr("Key figures"));
    figureCard_->setBody(figures_);
    errorDifference_ = named(new PlotChart, "errorDifference");
    errorCard_ = new Card(tr("Signed error, B − A"));
    errorCard_->setBody(errorDifference_);
    mapDifference_ = named(new HeatMap, "mapDifference");
    mapCard_ = new Card(tr("Block map, B − A"));
    mapCard_->setBody(mapDifference_);
    QWidget* widgets[] = {heading, figureCard_, errorCard_, mapCard_};
    for (int row = 0; row < 4; ++row) grid->addWidget(differences_[row] = widgets[row], row, 2);
}

/// In a narrow window the headings show only the specs (the figures are in the table), and the table gets more width.
void ComparePage::resizeEvent(QResizeEvent* event) {
    PageInParts::resizeEvent(event);
    narrow_ = width() < 960;
    for (auto* figures : {a_.figures, b_.figures})
        if (figures) figures->setVisible(!narrow_);
    if (difference_->isChecked()) grid_->setColumnStretch(2, narrow_ ? 6 : 5);
}

void ComparePage::link() {
    const auto follow = [this](PlotChart* from, std::initializer_list<PlotChart*> to) {
        for (auto* other : to) connect(from, &PlotChart::hovered, other, &PlotChart::showCrosshair);
    };
    follow(a_.density, {b_.density});
    follow(b_.density, {a_.density});
    follow(a_.error, {b_.error, errorDifference_});
    follow(b_.error, {a_.error, errorDifference_});
    follow(errorDifference_, {a_.error, b_.error});
    for (auto* map : {a_.map, b_.map, mapDifference_}) linkMaps(map);
}

/// Shows the same part of the tensor in all maps, for any block sizes.
void ComparePage::linkMaps(HeatMap* from) {
    for (auto* to : {a_.map, b_.map, mapDifference_}) {
        if (to == from) continue;
        const auto factor = [this, from, to] {
            const QSizeF a = cellSize_.value(from, {1, 1}), b = cellSize_.value(to, {1, 1});
            return QSizeF(a.width() / b.width(), a.height() / b.height());
        };
        connect(from, &HeatMap::viewChanged, to, [to, factor](const QRectF& view) {
            const auto f = factor();
            to->setView(
                {view.x() * f.width(), view.y() * f.height(), view.width() * f.width(), view.height() * f.height()});
        });
        connect(from, &HeatMap::cellHovered, to, [to, factor](int row, int column) {
            const auto f = factor();
            if (row < 0 || to->data().values.isEmpty())
                to->setLinked(-1, -1);
            else
                to->setLinked(int((row + 0.5) * f.height()), int((column + 0.5) * f.width()));
        });
    }
}

void ComparePage::loading(bool on) {
    for (auto* card : {a_.densityCard, a_.errorCard, a_.mapCard, b_.densityCard, b_.errorCard, b_.mapCard, figureCard_,
                       errorCard_, mapCard_})
        card->setLoading(on);
}

void ComparePage::showRow(Pane& pane, const AnalysisRow& row, const QuantSpec& spec) {
    pane.title->setText((&pane == &a_ ? QStringLiteral("A   ") : QStringLiteral("B   ")) +
                        QString::fromStdString(specText(spec)));
    QString message;
    if (!session_.tensor())
        message = tr("No tensor is selected. Choose one in the list.");
    else if (row && row->status != Status::Ok)
        message = QString::fromStdString(row->reason);
    for (auto* card : {pane.densityCard, pane.errorCard, pane.mapCard}) card->setMessage(message);
    if (!row || row->status != Status::Ok) return pane.figures->setText({});
    QString figures = QStringLiteral("%1 bpw").arg(row->bpw, 0, 'f', 4);
    if (const auto value = sqnrMetric().value(*row)) figures += QStringLiteral("   %1 dB").arg(*value, 0, 'f', 2);
    pane.figures->setText(figures);
}

void ComparePage::showFigures() {
    const auto a = session_.current(), b = session_.currentB();
    if (const auto* tensor = session_.tensor()) {
        tensor_->setText(QString::fromStdString(nameWithin(escapeForPeople(tensor->name, 500), 60)));
        shape_->setText(QString::fromLatin1(tensor->typeId()) + u' ' +
                        QString::fromStdString(shapeTimes(tensor->shape)));
    } else {
        tensor_->setText(tr("Compare"));
        shape_->clear();
    }
    showRow(a_, a, session_.spec());
    showRow(b_, b, session_.specB());
    figures_->setFigures(figureRows(a.get(), b.get()));
    // In two parts, so that a narrow card shows the first one whole.
    figureCard_->setNote(
        session_.output().trustText(nmseMetric(), session_.spec()).replace(QLatin1String(": "), QLatin1String("  ")));
    figureCard_->setToolTip(session_.output().trustTip(nmseMetric(), session_.spec()));
    const QString missing = rowA() && rowB() ? QString() : tr("Needs both A and B.");
    errorCard_->setMessage(missing);
    mapCard_->setMessage(missing);
}

void ComparePage::showRecipe() {
    const auto* tensor = session_.tensor();
    recipe_->setVisible(tensor && tensor->isWeight());
    const QuantSpec* spec = tensor && tensor->isWeight() ? session_.recipe()->specOf(*tensor) : nullptr;
    recipe_->setText(spec ? tr("recipe: %1").arg(QString::fromStdString(specText(*spec)))
                          : tr("recipe: kept as it is"));
    recipe_->setAccessibleName(tr("What the recipe gives this tensor"));
    recipe_->setToolTip(spec ? tr("The recipe gives this tensor %1; press to show it as B")
                                   .arg(QString::fromStdString(canonicalText(*spec)))
                             : tr("The recipe keeps this tensor as it is"));
    recipe_->setEnabled(spec && !(session_.comparing() && *spec == session_.specB()) && !(*spec == session_.spec()));
}

AnalysisRow ComparePage::rowA() const {
    const auto row = session_.current();
    return row && row->status == Status::Ok ? row : nullptr;
}

AnalysisRow ComparePage::rowB() const {
    const auto row = session_.currentB();
    return row && row->status == Status::Ok ? row : nullptr;
}

namespace {
void draw(PlotChart* chart, Card* card, const Picture& picture, const PlotExtent& extent) {
    chart->setXRange(extent.lo, extent.hi);
    chart->setData(picture.series, picture.markers, !chart->series().isEmpty());
    card->setNote(picture.note);
}

void draw(PlotChart* chart, Card* card, const Picture& picture, const ErrorAxis& axis, const QString& suffix = {}) {
    chart->setAxes(ComparePage::tr("error ŵ − w"), errorUnit(axis, false) + suffix);
    chart->setXCaption(axis.symlog.on() ? ComparePage::tr(";  linear within ±%1")
                                              .arg(QString::fromStdString(significantText(axis.symlog.linear, 1)))
                                        : QString());
    chart->setXScale(axis.symlog);
    draw(chart, card, picture, PlotExtent{-axis.place(), axis.place()});
}
} // namespace

void ComparePage::drawPlots(const Pane& pane, const AnalysisRow& row) {
    if (!row) return;
    const auto a = rowA(), b = rowB();
    const bool locked = lock_->isChecked() && a && b;
    const auto& other = &pane == &a_ ? b_ : a_;
    pane.density->setYRangeLinked(locked ? other.density : nullptr);
    pane.error->setYRangeLinked(locked ? other.error : nullptr);
    auto density = densityExtent(*row);
    auto error = errorAxis(*row, nullptr, symlog_->isChecked());
    if (locked) {
        density = densityExtent(*a).united(densityExtent(*b));
        error = errorAxis(*a, b.get(), symlog_->isChecked());
    }
    draw(pane.density, pane.densityCard, densityPicture(*row, density), density);
    pane.errorCard->setMessage(error.range > 0 ? QString() : tr("No error: every weight is reproduced exactly."));
    if (error.range > 0) draw(pane.error, pane.errorCard, errorPicture(*row, error), error);
}

void ComparePage::drawDifference() {
    const auto a = rowA(), b = rowB();
    if (!a || !b) return;
    const auto axis = errorAxis(*a, b.get(), symlog_->isChecked());
    if (!(axis.range > 0)) return errorCard_->setMessage(tr("Neither A nor B has an error."));
    draw(errorDifference_, errorCard_, errorDifference(*a, *b, axis), axis, tr(", B − A"));
}

void ComparePage::drawMaps() {
    const auto a = rowA(), b = rowB();
    HeatMapData x, y;
    if (a) x = blockMapCells(*a, log_->isChecked());
    if (b) y = blockMapCells(*b, log_->isChecked());
    if (lock_->isChecked() && a && b) {
        const auto range = ColourScale::over(x.values + y.values, 0, 0, log_->isChecked(), false);
        if (range.hi > range.lo) {
            x.lo = y.lo = range.lo;
            x.hi = y.hi = range.hi;
        }
    }
    const std::pair<Pane*, const HeatMapData*> panes[] = {{&a_, &x}, {&b_, &y}};
    for (const auto& [pane, data] : panes) {
        if (data->values.isEmpty()) continue;
        pane->map->setData(*data);
        const auto& map = (pane == &a_ ? a : b)->blockMap();
        cellSize_[pane->map] = {data->columnScale * double(map.blockElements), data->rowScale};
        pane->mapCard->setNote(tr("%1 rows × %2 blocks").arg(map.tensorRows).arg(map.blocksPerRow));
    }
    if (!a || !b) return;
    mapDifference_->setData(blockMapDifference(*a, *b));
    const QSizeF one = cellSize_[a_.map], other = cellSize_[b_.map];
    cellSize_[mapDifference_] = b->blockMap().columns > a->blockMap().columns ? other : one;
    cellSize_[mapDifference_].setHeight(std::min(one.height(), other.height()));
}

} // namespace

QWidget* createComparePage(Session& session, QWidget* parent) { return new ComparePage(session, parent); }

} // namespace qs::gui
