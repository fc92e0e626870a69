// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/sweep/spec_set_view.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/lists.h"
#include "core/base/text.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <map>

namespace qs::gui {

namespace {
constexpr std::size_t kTickedAtFirst = 6; // together with A and B as many as a session remembers
constexpr std::size_t kFewTensors = 2000; // weights x specs whose picture takes less than 2 ms

QString textOf(const QuantSpec& spec) { return QString::fromStdString(specText(spec)); }
} // namespace

std::vector<QuantSpec> SpecSetView::presets() {
    std::vector<QuantSpec> specs;
    for (const auto& format : formats()) {
        if (format.kind == FormatKind::Identity) continue;
        QuantSpec spec;
        spec.format = format.id;
        if (format.defaultScale == ScaleKind::Block && format.minBlock < format.maxBlock)
            spec.block = format.defaultBlock;
        else if (format.kind == FormatKind::Sign || format.defaultScale == ScaleKind::None)
            spec.scale = ScaleSpelling::Channel;
        if (validate(spec)) specs.push_back(spec);
    }
    return specs;
}

SpecSetView::SpecSetView(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), list_(new TickList("specSet", tr("Specs to compare"))),
      typed_(named(new QLineEdit, "addSpec")), complaint_(new QLabel), matrixCard_(new Card(tr("Specs × roles"))),
      totalsCard_(new Card(tr("Whole model, per spec"))), matrix_(named(new HeatMap, "specMatrix")),
      table_(named(new QTableView, "specTotals")),
      // Tooltips of the list have the full spec; keys that all specs share are left out.
      totals_(new RowModel<SpecTotal>(
          totalColumns().pick({"spec", "bpw", "sqnr_db", "nmse", "bytes", "matrices", "refused"}), this)) {
    auto* layout = spaced(new QHBoxLayout(this), Theme::kGap);

    auto* left = new QWidget;
    auto* column = spaced(new QVBoxLayout(left), Theme::kSpace);
    typed_->setFont(Theme::code());
    typed_->setPlaceholderText(tr("Add a spec, e.g. nf4:block=32"));
    typed_->setAccessibleName(tr("Add a spec"));
    complaint_->setProperty("role", QStringLiteral("warn"));
    complaint_->setFont(Theme::words(11));
    complaint_->setWordWrap(true);
    complaint_->hide();
    addWidgets(*column, {typed_, complaint_});
    column->addWidget(list_, 1);
    auto* setCard = new Card(tr("Spec set"));
    setCard->setBody(left);
    setCard->setFixedWidth(260);

    matrix_->setGap(2);
    matrixCard_->setBody(matrix_);
    perTensor_ =
        matrixCard_->addToggle(tr("per tensor"), tr("A column for each tensor instead of the worst of each role"));
    auto* sorted = new QSortFilterProxyModel(this);
    sorted->setSourceModel(totals_);
    sorted->setSortRole(Qt::UserRole);
    table_->setModel(sorted);
    asDataTable(*table_, tr("Totals of the whole model per spec"), 24);
    table_->setProperty("roomy", true);
    table_->setSortingEnabled(true);
    table_->sortByColumn(-1, Qt::AscendingOrder);
    totalsCard_->setBody(table_);

    auto* right = spaced(new QVBoxLayout, Theme::kGap);
    right->addWidget(matrixCard_, 3);
    right->addWidget(totalsCard_, 2);
    layout->addWidget(setCard);
    layout->addLayout(right, 1);

    matrix_->setDescribe([this](int row, int column) {
        const int weight = weightAt(row, column);
        if (row < 0 || row >= int(picture_->specs.size())) return QString();
        const auto spec = textOf(picture_->specs[std::size_t(row)]);
        if (weight < 0) return spec;
        const auto& metric = *picture_->metric;
        const auto& measured = picture_->rows[std::size_t(row)].at(std::size_t(weight));
        const double value = metricValue(metric, measured);
        const QString figure = std::isnan(value) ? missingReason(metric, measured)
                                                 : metricTitle(metric) + u' ' + metricText(metric, value, measured);
        return spec + u'\n' + picture_->layout->grid.shown[std::size_t(weight)] + u'\n' + figure;
    });
    connect(matrix_, &HeatMap::cellClicked, this, &SpecSetView::open);
    const auto another = [this] { // the picture that is being computed is out of date
        task_.drop();
        changed();
    };
    connect(perTensor_, &QToolButton::toggled, this, another);
    connect(typed_, &QLineEdit::returnPressed, this, &SpecSetView::addTyped);
    connect(list_, &QListWidget::itemChanged, this, [this, another] {
        ask();
        another();
    });
    connect(&session, &Session::modelChanged, this, another);
    connect(&session, &Session::specChanged, this, [this, another] {
        stale_ = true;
        if (isVisible()) buildList();
        another();
    });
    connect(&session, &Session::rowsChanged, this, &SpecSetView::changed);
    connect(&session, &Session::metricChanged, this, another);
    listed_ = presets();
    buildList();
}

/// A and B come first, then the specs listed before; ticks are kept.
void SpecSetView::buildList() {
    stale_ = false;
    const bool first = list_->count() == 0;
    std::vector<QuantSpec> ticked = first ? listed_ : chosen();
    if (first) ticked.resize(std::min(ticked.size(), kTickedAtFirst));
    DistinctSpecs specs;
    specs.add(session_.spec());
    if (session_.comparing()) specs.add(session_.specB());
    for (const auto& spec : listed_) specs.add(spec);
    listed_ = specs.inOrder();
    const QSignalBlocker blocker(list_);
    list_->clear();
    for (const auto& spec : listed_) {
        QString text = textOf(spec);
        if (spec == session_.spec())
            text += QStringLiteral("   A");
        else if (session_.comparing() && spec == session_.specB())
            text += QStringLiteral("   B");
        const bool on = spec == session_.spec() || contains(ticked, spec);
        list_->add(text, on, QString::fromStdString(canonicalText(spec)));
    }
}

std::vector<QuantSpec> SpecSetView::chosen() const {
    std::vector<QuantSpec> specs;
    for (int i = 0; i < list_->count(); ++i)
        if (list_->ticked(i)) specs.push_back(listed_[std::size_t(i)]);
    return specs;
}

void SpecSetView::addTyped() {
    const auto spec = parseSpec(typed_->text().trimmed().toStdString());
    complaint_->setVisible(!spec);
    if (!spec) return complaint_->setText(QString::fromStdString(spec.error().sentence()));
    typed_->clear();
    addOnce(listed_, *spec);
    buildList();
    const auto at = std::find(listed_.begin(), listed_.end(), *spec);
    if (at != listed_.end()) list_->tick(int(at - listed_.begin()));
}

void SpecSetView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) buildList();
    ask();
    if (dirty_) changed();
}

void SpecSetView::ask() {
    if (!isVisible() || !session_.model()) return;
    for (const auto& spec : chosen()) session_.analyseModel(spec);
}

void SpecSetView::changed() {
    dirty_ = true;
    if (isVisible() && !task_.running()) refresh();
}

void SpecSetView::refresh() {
    dirty_ = false;
    const auto* metric = findMetric(session_.metric().toStdString());
    const bool any = session_.model() && metric;
    for (auto* card : {matrixCard_, totalsCard_})
        card->setMessage(any ? QString() : tr("No model is open. Ctrl+O opens one."));
    if (!any) return;
    Picture asked;
    asked.layout = session_.layout();
    asked.specs = chosen();
    for (const auto& spec : asked.specs) asked.rows.push_back(session_.modelRows(spec));
    asked.metric = metric;
    asked.perTensor = perTensor_->isChecked();
    using Drawn = std::shared_ptr<const Picture>;
    const auto work = [asked](const Job&) -> Result<Drawn> {
        auto picture = std::make_shared<Picture>(asked);
        picture->work();
        return picture;
    };
    const bool little = session_.weights().size() * (asked.specs.size() + 1) <= kFewTensors;
    task_.runOrNow(little, work, [this](const Result<Drawn>& picture) {
        if (picture) show(*picture);
        if (dirty_) changed();
    });
}

void SpecSetView::Picture::work() {
    const auto& grid = layout->grid;
    std::vector<std::vector<int>> columns; // of indices of weights
    QStringList labels;
    if (perTensor || grid.roles.isEmpty()) {
        for (int i = 0; i < int(grid.shown.size()); ++i) columns.push_back({i});
        if (columns.size() <= 64)
            for (const auto& name : grid.shown) labels << name;
    } else {
        columns.resize(std::size_t(grid.roles.size()));
        labels = grid.roles;
        for (int i = 0; i < int(grid.shown.size()); ++i) columns[std::size_t(grid.rowOf[std::size_t(i)])].push_back(i);
    }
    map.rows = int(specs.size());
    map.columns = int(columns.size());
    for (const auto& spec : specs) map.rowLabels << textOf(spec);
    map.columnLabels = labels;
    map.columnsAreNames = true;
    map.xTitle = perTensor ? tr("tensor, in name order") : tr("role, worst tensor");
    map.unit = (QString::fromUtf8(metric->title) + u' ' + QString::fromUtf8(metric->unit)).trimmed();
    map.lowIsGood = metric->better != Direction::HigherIsBetter;
    // Squared errors of formats differ by decades; a linear scale would show only one format.
    map.logColour = map.lowIsGood && (metric->show == Show::Significant || metric->show == Show::Scientific);
    map.decimals = metric->show == Show::Fixed ? metric->decimals : -1;
    worst.assign(specs.size() * columns.size(), -1);
    map.values.fill(float(std::nan("")), qsizetype(worst.size()));
    for (std::size_t r = 0; r < specs.size(); ++r)
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const std::size_t cell = r * columns.size() + c;
            double shown = std::nan("");
            for (const int weight : columns[c]) {
                const double value = metricValue(*metric, rows[r].at(std::size_t(weight)));
                if (worst[cell] < 0) worst[cell] = weight;
                if (std::isnan(value) || (!std::isnan(shown) && !metric->isWorse(value, shown))) continue;
                shown = value;
                worst[cell] = weight;
            }
            map.values[qsizetype(cell)] = float(shown);
        }
    for (std::size_t r = 0; r < specs.size(); ++r) {
        std::vector<AnalysisRow> known;
        for (std::size_t i = 0; i < layout->weights.size(); ++i)
            if (const auto& row = rows[r].at(i)) known.push_back(row);
        for (auto& total : qs::totals(known)) {
            total.specAsTyped = specText(specs[r]);
            totals.push_back(std::move(total));
        }
    }
}

void SpecSetView::show(std::shared_ptr<const Picture> picture) {
    picture_ = std::move(picture);
    matrix_->setData(picture_->map);
    matrixCard_->setTitle(picture_->perTensor ? tr("Specs × tensors, %1").arg(picture_->map.unit)
                                              : tr("Specs × roles, %1").arg(picture_->map.unit));
    matrixCard_->setNote(tr("a click opens the tensor under that spec"));
    totals_->setRows(picture_->totals);
    table_->resizeColumnsToContents();
    totalsCard_->setNote(tr("SQNR and NMSE of the tensors taken as one"));
}

int SpecSetView::weightAt(int row, int column) const {
    const auto& map = picture_->map;
    if (row < 0 || column < 0 || row >= map.rows || column >= map.columns) return -1;
    return picture_->worst[std::size_t(row) * std::size_t(map.columns) + std::size_t(column)];
}

void SpecSetView::open(int row, int column) {
    const int weight = weightAt(row, column);
    if (weight < 0 || picture_->layout != session_.layout()) return;
    session_.setSpec(picture_->specs[std::size_t(row)]);
    session_.selectTensor(session_.weights()[std::size_t(weight)]);
    session_.showPage(kTensorPage);
}

} // namespace qs::gui
