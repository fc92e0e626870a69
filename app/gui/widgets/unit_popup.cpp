// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/unit_popup.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/unit_rules.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/peek.h"
#include "core/base/lists.h"
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/plan/report.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kUnitRow = 22, kUnitLines = 10, kUnitWidth = 440; ///< pixels of a line, lines without scrolling, pixels

QString unitText(const std::string& text) { return QString::fromStdString(text); }

} // namespace

UnitPopup::UnitPopup(Session& session, QWidget* parent, Of of, const TensorInfo& tensor)
    : QFrame(parent, Qt::Popup), session_(session), model_(session.model()), of_(of), tensor_(&tensor),
      title_(new QLabel), facts_(named(new QLabel, "unitFacts", "muted")), table_(named(new QTableView, "unitChoices")),
      rows_(new RowModel<Line>(columns(), this)), locked_(named(new QCheckBox(tr("Locked")), "unitLocked")),
      open_(named(new QPushButton(tr("Open the tensor")), "unitOpen")) {
    setObjectName(QStringLiteral("unitPopup"));
    setAccessibleName(tr("What the tensor becomes"));
    setAttribute(Qt::WA_DeleteOnClose);
    setProperty("role", QStringLiteral("popup"));
    title_->setFont(Theme::words(13, QFont::DemiBold));
    facts_->setFont(Theme::numbers(11));
    asDataTable(*table_, tr("Specs that it could get"), kUnitRow);
    table_->setModel(rows_);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->horizontalHeader()->setStretchLastSection(true);
    locked_->setToolTip(tr("A plan does not decide for it: a rule of the recipe does"));
    open_->setAutoDefault(true); // Enter, where it has the focus
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(locked_);
    buttons->addStretch(1);
    buttons->addWidget(open_);
    auto* column = spaced(new QVBoxLayout(this), Theme::kSpace, Theme::kCardMargins);
    addWidgets(*column, {title_, facts_, table_});
    column->addLayout(buttons);
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& at) { take(at.row()); });
    connect(table_, &QTableView::activated, this, [this](const QModelIndex& at) { take(at.row()); });
    connect(locked_, &QCheckBox::clicked, this, [this](bool on) {
        const UnitRules rules(session_, unit_.tensors);
        if (on)
            rules.give(unit_.has(session_));
        else
            rules.unlock();
    });
    connect(open_, &QPushButton::clicked, this, &UnitPopup::open);
    connect(&session_, &Session::modelChanged, this, &QWidget::close);
    for (auto signal : {&Session::rulesChanged, &Session::recipeChanged, &Session::rowsChanged})
        connect(&session_, signal, this, &UnitPopup::refresh);
    connect(&session_.decision(), &Decision::planChanged, this, &UnitPopup::refresh);
    refresh();
}

const Columns<UnitPopup::Line>& UnitPopup::columns() {
    using Row = Line;
    static const Columns<Row> all{
        {{"present", "", "", Show::Text, 0, Direction::None, "What it has."},
         [](const Row& r) -> Value { return std::string(r.isPresent ? "●" : " "); }},
        {{"spec", "Spec", "", Show::Code, 0, Direction::None, "A click gives it this spec and locks it."},
         [](const Row& r) -> Value { return r.choice.spec ? specText(*r.choice.spec) : std::string("keep"); }},
        {{"bytes", "Size", "", Show::Bytes, 0, Direction::LowerIsBetter, "Bytes that are stored."},
         [](const Row& r) -> Value { return r.choice.bytes ? Value(std::int64_t(*r.choice.bytes)) : Value(); }},
        {{"bpw", "bpw", "", Show::Fixed, 3, Direction::LowerIsBetter, "8 * bytes / elements."},
         [](const Row& r) -> Value {
             if (!r.choice.bytes || r.elements == 0) return Value();
             return 8.0 * double(*r.choice.bytes) / double(r.elements);
         }},
        {{"loss", "Loss", "", Show::Scientific, 3, Direction::LowerIsBetter, "What it adds to the sum of losses."},
         [](const Row& r) -> Value { return r.choice.loss ? Value(*r.choice.loss) : Value(); }}};
    return all;
}

/// The tensors of the unit, and what it has.
void UnitPopup::findUnit() {
    const auto& plan = session_.decision().plan();
    unit_ = {tensor_->name, {tensor_}};
    if (of_ == Of::Recipe || !plan || plan->options->model != model_) return;
    const plan::Options& options = *plan->options;
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        const auto tensors = options.units.tensors(u);
        if (!contains(tensors, tensor_)) continue;
        unit_.title = options.units.name(u), unit_.isPlanned = true;
        unit_.tensors.assign(tensors.begin(), tensors.end());
        const QuantSpec* spec = options.specOf(options.of[u][plan->plan.picked[u]]);
        unit_.planned = spec ? std::optional(*spec) : std::nullopt;
    }
}

/// With the figures of the plan; without one, with those of the analysis.
std::vector<plan::UnitChoice> UnitPopup::choices() const {
    const auto& plan = session_.decision().plan();
    const bool isPlanned = plan && plan->options->model == model_ && plan->sizes && plan->losses;
    DistinctSpecs specs;
    if (isPlanned)
        for (const QuantSpec& spec : plan->options->toChooseFrom()) specs.add(spec);
    else {
        specs.add(session_.spec());
        if (session_.comparing()) specs.add(session_.specB());
        for (const QuantSpec& spec : session_.recipe()->specs) specs.add(spec);
        for (const QuantSpec& spec : session_.analysedSpecs()) specs.add(spec);
    }
    if (const auto has = unit_.has(session_)) specs.add(*has);
    if (isPlanned) return unitChoices(unit_.tensors, specs.inOrder(), *plan->sizes, *plan->losses);
    std::vector<plan::UnitChoice> out{{{}, storedBytes(*tensor_), 0.0, {}}};
    const Layout* counted = session_.recipe()->sizes.layout; // of a mixed recipe: its pages count this one
    for (const QuantSpec& spec : specs.inOrder()) {
        plan::UnitChoice one{spec, {}, {}, {}};
        const auto& row = session_.modelRows(spec).at(std::size_t(session_.weightIndex(tensor_)));
        if (row && row->status == Status::Ok)
            one.bytes = counted ? tensorBytes(*model_, *tensor_, spec, *counted) : row->bytesAfter,
            one.loss = nmseMetric().value(*row);
        else if (row)
            one.reason = row->reason;
        out.push_back(std::move(one));
    }
    return out;
}

void UnitPopup::refresh() {
    if (session_.model() != model_) return;
    findUnit();
    const UnitRules rules(session_, unit_.tensors);
    const auto& plan = session_.decision().plan();
    const bool isPlanned = plan && plan->options->model == model_;
    title_->setText(unitText(nameWithin(escapeForPeople(unit_.title, 500), 56)));
    QString facts = tr("loss: %1").arg(QString::fromUtf8(isPlanned ? plan->objective->title : nmseMetric().title));
    if (!isPlanned || plan->objective->isProxy) facts += tr(" (proxy)");
    if (unit_.isPlanned)
        facts += tr("\nthe plan: %1 bpw, %2, predicted loss %3")
                     .arg(unitText(fixedText(plan->plan.bpw(*plan->options), 4)), unitText(bytesText(plan->plan.bytes)),
                          unitText(significantText(plan->plan.loss, 4)));
    facts_->setText(facts);
    std::uint64_t elements = 0;
    for (const TensorInfo* tensor : unit_.tensors) elements += tensor->elements;
    const auto has = unit_.has(session_);
    std::vector<Line> lines;
    int present = -1;
    for (plan::UnitChoice& choice : choices()) {
        const bool isPresent = choice.spec == has;
        if (isPresent) present = int(lines.size());
        lines.push_back({std::move(choice), isPresent, elements});
    }
    const int before = table_->currentIndex().isValid() ? table_->currentIndex().row() : present;
    const int shown = std::min(int(lines.size()), kUnitLines);
    rows_->setRows(std::move(lines));
    table_->resizeColumnsToContents();
    if (before >= 0 && before < rows_->rowCount()) table_->setCurrentIndex(rows_->index(before, 1));
    table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() + shown * kUnitRow + 4);
    table_->setEnabled(rules.canChange());
    locked_->setChecked(rules.own() != nullptr);
    locked_->setEnabled(rules.canChange());
}

void UnitPopup::take(int row) {
    const plan::UnitChoice choice = rows_->row(row).choice;
    if (!choice.reason.empty()) return facts_->setText(unitText(oneSentence(choice.reason)));
    UnitRules(session_, unit_.tensors).give(choice.spec);
}

void UnitPopup::open() {
    if (session_.model() == model_) {
        session_.selectTensor(tensor_);
        session_.showPage(kTensorPage);
    }
    close();
}

void UnitPopup::showAt(const QRect& cell) {
    setFixedWidth(kUnitWidth);
    adjustSize();
    placeBeside(*this, cell);
    show();
    if (of_ == Of::Plan)
        table_->setFocus();
    else
        open_->setFocus();
}

void popUpUnit(QWidget& parent, Session& session, UnitPopup::Of of, const TensorInfo& tensor, const QRect& cell) {
    if (session.model() && session.weightIndex(&tensor) >= 0)
        (new UnitPopup(session, &parent, of, tensor))->showAt(cell);
}

} // namespace qs::gui
