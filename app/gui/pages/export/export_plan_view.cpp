// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/export/export_plan_view.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "core/base/text.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <array>

namespace qs::gui {
namespace {
constexpr int kSettleMs = 60; ///< waits while the slider is dragged
} // namespace

ExportPlanView::ExportPlanView(QWidget* parent)
    : QWidget(parent),
      rows_(new RowModel<PlannedTensor>(planColumns().pick({"tensor", "becomes", "shape", "bpw", "bytes"}), this)),
      headline_(new QLabel), view_(new QTableView), offers_(new QHBoxLayout), settle_(new QTimer(this)) {
    auto* inside = new QVBoxLayout(this);
    setSpaces(*inside, Theme::kGap);
    headline_->setObjectName(QStringLiteral("planHeadline"));
    headline_->setWordWrap(true);
    headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    inside->addWidget(headline_);
    offers_->setSpacing(Theme::kSpace);
    inside->addLayout(offers_);
    auto* view = view_;
    auto* sorted = new QSortFilterProxyModel(this);
    sorted->setSourceModel(rows_);
    sorted->setSortRole(Qt::UserRole);
    view->setObjectName(QStringLiteral("planTable"));
    view->setModel(sorted);
    view->setSortingEnabled(true);
    view->sortByColumn(-1, Qt::AscendingOrder);
    asDataTable(*view, tr("What each tensor would become"), 26);
    constexpr std::array widths = {290, 330, 110, 70, 90};
    for (std::size_t i = 0; i < widths.size(); ++i) view->setColumnWidth(int(i), widths[i]);
    view->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    inside->addWidget(view, 1);
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QTableView::customContextMenuRequested, this, [this, sorted](const QPoint& at) {
        const int row = sorted->mapToSource(view_->indexAt(at)).row();
        if (row >= 0 && tensorMenu_) tensorMenu_(rows_->row(row).name, view_->viewport()->mapToGlobal(at));
    });
    settle_->setSingleShot(true);
    settle_->setInterval(kSettleMs);
    connect(settle_, &QTimer::timeout, this, &ExportPlanView::start);
}

void ExportPlanView::ask(std::shared_ptr<const Model> model, QuantizeRequest request) {
    model_ = std::move(model), request_ = std::move(request);
    plan_.reset();
    task_.drop();
    settle_->start();
}

void ExportPlanView::start() {
    if (!model_) return rows_->setRows({});
    task_.run(
        {}, [model = model_, request = request_](const Job& job) { return planExport(*model, request, job); },
        [this](Result<ExportPlan> plan) { take(std::move(plan)); });
}

void ExportPlanView::take(Result<ExportPlan> plan) {
    std::string text;
    if (plan) {
        text = summaryText(*plan);
        rows_->setRows(std::move(plan->tensors));
        plan->tensors.clear();
        plan_ = std::move(*plan);
    } else {
        text = plan.error().sentence();
        rows_->setRows({});
    }
    QString sentence = QString::fromStdString(oneSentence(text));
    if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
    headline_->setText(sentence);
    headline_->setProperty("role", plan_ && plan_->problem.empty() ? QString() : QStringLiteral("warn"));
    headline_->style()->polish(headline_);
    showOffers();
    Q_EMIT planned();
}

void ExportPlanView::showOffers() {
    while (auto* item = offers_->takeAt(0)) {
        if (item->widget()) item->widget()->deleteLater();
        delete item;
    }
    if (!plan_ || plan_->offers.empty()) return;
    for (const PlanOffer& offer : plan_->offers) {
        const QString spec = QString::fromStdString(specText(offer.spec));
        auto* button = new QPushButton(
            offer.rule ? tr("Use %1=%2").arg(QString::fromStdString(request_.rules[*offer.rule].regex), spec)
                       : tr("Use %1").arg(spec));
        button->setObjectName(QStringLiteral("offer"));
        button->setToolTip(offer.rule ? tr("All tensors of this rule fit this spec: %1")
                                            .arg(QString::fromStdString(canonicalText(offer.spec)))
                                      : tr("All tensors of the plan fit this spec: %1")
                                            .arg(QString::fromStdString(canonicalText(offer.spec))));
        connect(button, &QPushButton::clicked, this, [this, offer] { Q_EMIT offered(offer); });
        offers_->addWidget(button);
    }
    offers_->addStretch(1);
}

void ExportPlanView::setDimmed(bool on) {
    view_->setEnabled(!on);
    headline_->setEnabled(!on);
}

} // namespace qs::gui
