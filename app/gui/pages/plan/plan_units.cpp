// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_units.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/tensor_menu.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/unit_popup.h"
#include "core/base/text.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QScopedValueRollback>
#include <QSortFilterProxyModel>
#include <QTableView>

#include <algorithm>
#include <map>

namespace qs::gui {
namespace {

constexpr std::size_t kMostCells = 4000; ///< that the strip paints within a frame

QString words(const std::string& text) { return QString::fromStdString(text); }

plan::UnitOption optionOf(const PlanAnswer& answer, std::size_t unit) {
    return answer.options->of[unit][answer.plan.picked[unit]];
}

} // namespace

PlanUnits::PlanUnits(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), stripCard_(new Card(tr("Assignment: layers × roles"))),
      tableCard_(new Card(tr("Units"))), strip_(named(new AssignmentStrip, "planStrip")),
      table_(named(new QTableView, "planUnits")), sorted_(new QSortFilterProxyModel(this)),
      rows_(new RowModel<plan::MixtureRow>(plan::mixtureColumns().pick({"tensor", "spec", "bytes", "bpw", "loss",
                                                                        "share", "time_ns", "locked", "refused"}),
                                           this)) {
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    strip_->setAccessibleName(tr("What each tensor becomes, by role and layer"));
    strip_->setDescribe([this](int unit) { return describe(unit); });
    stripCard_->setNote(tr("width: bytes  colour: bits  hatched: locked"));
    stripCard_->setBody(strip_);
    stripCard_->setSketch(new Sketch(Sketch::Kind::Map, {tr("layer"), tr("role")}));
    sorted_->setSourceModel(rows_);
    sorted_->setSortRole(Qt::UserRole);
    table_->setModel(sorted_);
    table_->setSortingEnabled(true);
    table_->sortByColumn(-1, Qt::AscendingOrder);
    asDataTable(*table_, tr("Units of the plan: tensors that get one spec"));
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setContextMenuPolicy(Qt::CustomContextMenu);
    fillWidth(*table_, 140);
    tableCard_->setBody(table_);
    tableCard_->setSketch(Sketch::ofTable(*rows_));
    row->addWidget(stripCard_, 2);
    row->addWidget(tableCard_, 3);
    connect(strip_, &AssignmentStrip::unitClicked, this, &PlanUnits::choose);
    connect(strip_, &AssignmentStrip::unitMenuAsked, this, &PlanUnits::popUpMenu);
    connect(strip_, &AssignmentStrip::unitOpened, this, &PlanUnits::popUp);
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() != rows_->columnOf("spec")) return;
        const QRect cell = table_->visualRect(index);
        popUp(unitOfRow(index.row()), {table_->viewport()->mapToGlobal(cell.topLeft()), cell.size()});
    });
    connect(table_, &QTableView::customContextMenuRequested, this, [this](const QPoint& at) {
        const QModelIndex index = table_->indexAt(at);
        if (index.isValid()) popUpMenu(unitOfRow(index.row()), table_->viewport()->mapToGlobal(at));
    });
    connect(table_, &QTableView::activated, this, [this](const QModelIndex&) { session_.showPage(kTensorPage); });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        if (index.isValid() && !following_) choose(unitOfRow(index.row()));
    });
}

int PlanUnits::unitOfRow(int row) const { return sorted_->mapToSource(sorted_->index(row, 0)).row(); }

void PlanUnits::setMessage(const QString& sentence) {
    if (!sentence.isEmpty() || !answer_ || answer_->ground->weights.size() <= kMostCells)
        stripCard_->setEmpty(sentence);
    tableCard_->setEmpty(sentence.isEmpty() ? QString() : tr("What each tensor, or each group, becomes."));
}

void PlanUnits::setAnswer(std::shared_ptr<const PlanAnswer> answer) {
    const QScopedValueRollback guard(following_, true);
    const bool isSame = answer_ && answer && answer_->options == answer->options;
    const int before = strip_->current();
    answer_ = std::move(answer);
    if (!answer_) {
        rows_->setRows({});
        strip_->setData({});
        tableCard_->setNote({});
        return;
    }
    rows_->setRows(answer_->rows);
    for (int i = 1; i < rows_->columnCount(); ++i) {
        table_->setColumnHidden(i, rows_->isEmpty(i)); // it would take width from the others
        if (!isSame) table_->resizeColumnToContents(i);
    }
    const bool fits = answer_->ground->weights.size() <= kMostCells;
    stripCard_->setMessage(fits ? QString() : tr("More than %1 tensors: the table shows them.").arg(kMostCells));
    strip_->setData(fits ? stripData() : StripData());
    const plan::PlanUnits& units = answer_->options->units;
    std::size_t locked = 0;
    for (std::size_t u = 0; u < units.size(); ++u) locked += !units.lock(u).empty();
    tableCard_->setNote(locked > 0 ? tr("%1 units, %2 locked").arg(units.size()).arg(locked)
                                   : tr("%1 units").arg(units.size()));
    if (isSame && before >= 0)
        table_->selectRow(sorted_->mapFromSource(rows_->index(before, 0)).row());
    else
        strip_->setCurrent(-1);
}

StripData PlanUnits::stripData() const {
    const plan::Options& options = *answer_->options;
    StripData out;
    std::vector<int> specAt(options.specs.size(), -1);
    std::vector<std::pair<double, double>> sums(options.specs.size()); // bytes, elements
    struct Cell {
        int layer;
        std::size_t order;
        StripCell cell;
    };
    std::vector<Cell> cells;
    std::map<std::string, int> roles;
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        const plan::UnitOption option = optionOf(*answer_, u);
        std::uint64_t elements = 0;
        for (const TensorInfo* tensor : options.units.tensors(u)) elements += tensor->elements;
        if (option.spec != plan::kKeep)
            sums[option.spec].first += double(option.bytes), sums[option.spec].second += double(elements);
        for (const TensorInfo* tensor : options.units.tensors(u)) {
            const TensorPlace place = placeOf(tensor->name);
            const auto [role, isNew] = roles.emplace(place.role, int(roles.size()));
            if (isNew) out.rows << words(escapeForPeople(place.role, 60));
            const double share = elements ? double(tensor->elements) / double(elements) : 1;
            cells.push_back({place.layer,
                             cells.size(),
                             {role->second, int(u), double(option.bytes) * share,
                              option.spec == plan::kKeep ? -1 : int(option.spec), !options.units.lock(u).empty()}});
        }
    }
    std::ranges::stable_sort(cells, [](const Cell& a, const Cell& b) {
        return std::tuple(a.cell.row, a.layer, a.order) < std::tuple(b.cell.row, b.layer, b.order);
    });
    std::vector<std::size_t> used;
    for (std::size_t s = 0; s < sums.size(); ++s)
        if (sums[s].second > 0) used.push_back(s);
    std::ranges::stable_sort(used, [&](std::size_t a, std::size_t b) {
        return sums[a].first / sums[a].second < sums[b].first / sums[b].second;
    });
    for (const std::size_t s : used) {
        specAt[s] = int(out.specs.size());
        out.specs.push_back({words(specText(options.specs[s])), 8 * sums[s].first / sums[s].second});
    }
    for (Cell& one : cells) {
        if (one.cell.spec >= 0) one.cell.spec = specAt[std::size_t(one.cell.spec)];
        out.cells.push_back(one.cell);
    }
    return out;
}

QString PlanUnits::describe(int unit) const {
    if (!answer_) return {};
    const plan::MixtureRow& row = answer_->rows[std::size_t(unit)];
    QString text = words(escapeForPeople(row.unit)) + u'\n' + words(row.spec) + QStringLiteral("   ") +
                   words(bytesText(row.bytes));
    if (row.elements) text += QStringLiteral("   %1 bpw").arg(8 * double(row.bytes) / double(row.elements), 0, 'f', 4);
    text += u'\n' + (row.loss ? tr("loss %1, %2 % of the sum")
                                    .arg(words(significantText(*row.loss, 3)), words(fixedText(100 * row.share, 1)))
                              : tr("loss not measured"));
    if (row.ns) text += u'\n' + tr("measured time %1").arg(words(plan::timeText(*row.ns)));
    if (!row.refused.empty()) text += u'\n' + tr("No choice: %1").arg(words(row.refused));
    return row.lock.empty() ? text : text + u'\n' + tr("locked by %1").arg(words(escapeForPeople(row.lock)));
}

void PlanUnits::choose(int unit) {
    if (!answer_ || unit < 0 || std::size_t(unit) >= answer_->options->units.size()) return;
    const QScopedValueRollback guard(following_, true);
    strip_->setCurrent(unit);
    const QModelIndex row = sorted_->mapFromSource(rows_->index(unit, 0));
    if (table_->currentIndex().row() != row.row()) table_->selectRow(row.row());
    if (answer_->ground->model == session_.model())
        session_.selectTensor(answer_->options->units.tensors(std::size_t(unit)).front());
}

void PlanUnits::popUp(int unit, const QRect& cell) {
    if (!answer_ || unit < 0 || answer_->ground->model != session_.model()) return;
    popUpUnit(*this, session_, UnitPopup::Of::Plan, *answer_->options->units.tensors(std::size_t(unit)).front(), cell);
}

void PlanUnits::popUpMenu(int unit, const QPoint& global) {
    if (!answer_ || unit < 0 || answer_->ground->model != session_.model()) return;
    choose(unit);
    const plan::Options& options = *answer_->options;
    auto* menu = named(new QMenu(this), "planMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    UnitActions actions;
    const auto tensors = options.units.tensors(std::size_t(unit));
    actions.tensors.assign(tensors.begin(), tensors.end());
    actions.title = options.units.name(std::size_t(unit));
    actions.choices = answer_->ground->settings.specs;
    if (const QuantSpec* spec = options.specOf(optionOf(*answer_, std::size_t(unit)))) actions.planned = *spec;
    actions.isPlanned = true;
    addUnitActions(*menu, session_, actions);
    menu->popup(global);
}

} // namespace qs::gui
