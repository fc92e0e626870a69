// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/export/export_plan_view.h"

#include "app/gui/sentence.h"
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

#include <algorithm>
#include <array>
#include <numeric>

namespace qs::gui {
namespace {
constexpr int kSettleMs = 60; ///< waits while the slider is dragged
constexpr int kWide = 1300;   ///< pixels from which there is room for bars beside the table
constexpr int kBecomes = 330; ///< pixels of the column "Becomes" with a reason in it, which may be longer
} // namespace

ExportPlanView::ExportPlanView(QWidget* parent)
    : QWidget(parent),
      rows_(new RowModel<PlannedTensor>(planColumns().pick({"tensor", "becomes", "shape", "bpw", "bytes"}), this)),
      headline_(named(new QLabel, "planHeadline")), view_(new QTableView), bars_(named(new RankedBars, "planBytes")),
      offers_(new QHBoxLayout), settle_(new QTimer(this)) {
    auto* inside = spaced(new QVBoxLayout(this), Theme::kGap);
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
    constexpr std::array widths = {290, kBecomes, 110, 70, 90};
    for (std::size_t i = 0; i < widths.size(); ++i) view->setColumnWidth(int(i), widths[i]);
    view->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    bars_->setAccessibleName(tr("Bytes of each tensor in the file, the largest first"));
    bars_->setAxis(tr("bytes in the file, the largest first"));
    bars_->setToken(0);
    bars_->setNamesTensors();
    bars_->setFromZero(true);
    bars_->hide();
    auto* both = spaced(new QHBoxLayout, 2 * Theme::kMargin);
    both->addWidget(view, 3);
    both->addWidget(bars_, 2);
    inside->addLayout(both, 1);
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
    if (!model_) {
        bars_->setBars({});
        return rows_->setRows({});
    }
    task_.run(
        {},
        [model = model_, request = request_](const Job& job) -> Result<Ranked> {
            auto plan = planExport(*model, request, job);
            if (!plan) return tl::unexpected(plan.error());
            return ranked(std::move(*plan));
        },
        [this](Result<Ranked> found) { take(std::move(found)); });
}

ExportPlanView::Ranked ExportPlanView::ranked(ExportPlan plan) {
    Ranked out{std::move(plan), {}, {}, {}};
    const auto& all = out.plan.tensors;
    out.order.resize(all.size());
    std::iota(out.order.begin(), out.order.end(), 0U);
    std::ranges::stable_sort(out.order, [&](std::uint32_t a, std::uint32_t b) { return all[a].bytes > all[b].bytes; });
    for (const auto& tensor : all) {
        out.extents.add(double(tensor.bytes), qsizetype(tensor.name.size()));
        out.extents.text = std::max(out.extents.text, qsizetype(bytesText(tensor.bytes).size()));
        if (std::string becomes = becomesText(tensor); becomes.size() > out.longest.size())
            out.longest = std::move(becomes);
    }
    return out;
}

void ExportPlanView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    bars_->setVisible(width() >= kWide);
}

void ExportPlanView::take(Result<Ranked> found) {
    std::string text;
    bars_->setBars({}); // they read the rows
    if (found) {
        text = summaryText(found->plan);
        // Names of tensors get the room that a column of short specs leaves.
        const int needed = view_->fontMetrics().horizontalAdvance(QString::fromStdString(found->longest + "mm"));
        view_->setColumnWidth(rows_->columnOf("becomes"), std::clamp(needed, kBecomes / 2, kBecomes));
        rows_->setRows(std::move(found->plan.tensors));
        found->plan.tensors.clear();
        plan_ = std::move(found->plan);
        const auto count = int(found->order.size());
        bars_->setBars(count, found->extents, [this, order = std::move(found->order)](int i) {
            const PlannedTensor& tensor = rows_->row(int(order[std::size_t(i)]));
            return RankedBar{QString::fromStdString(tensor.name), double(tensor.bytes),
                             QString::fromStdString(bytesText(tensor.bytes)), QString()};
        });
    } else {
        text = found.error().sentence();
        rows_->setRows({});
    }
    headline_->setText(capitalized(QString::fromStdString(oneSentence(text))));
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
        QString text, tip;
        if (offer.allowsMissing) {
            text = tr("Write what is there");
            tip = tr("The output lacks what is missing; its certificate says what that is.");
        } else if (offer.layout) {
            text = tr("Use layout %1").arg(QString::fromUtf8(offer.layout->title));
            tip = tr("It writes all tensors of the plan under these specs. %1")
                      .arg(QString::fromUtf8(offer.layout->summary));
        } else {
            const QString spec = QString::fromStdString(specText(offer.spec));
            text = offer.rule ? tr("Use %1=%2").arg(QString::fromStdString(request_.rules[*offer.rule].regex), spec)
                              : tr("Use %1").arg(spec);
            tip = (offer.rule ? tr("All tensors of this rule fit this spec: %1")
                              : tr("All tensors of the plan fit this spec: %1"))
                      .arg(QString::fromStdString(canonicalText(offer.spec)));
        }
        auto* button = named(new QPushButton(text), offer.layout ? "offerLayout" : "offer");
        button->setToolTip(tip);
        connect(button, &QPushButton::clicked, this, [this, offer] { Q_EMIT offered(offer); });
        offers_->addWidget(button);
    }
    offers_->addStretch(1);
}

void ExportPlanView::setDimmed(bool on) {
    view_->setEnabled(!on);
    bars_->setEnabled(!on);
    headline_->setEnabled(!on);
}

} // namespace qs::gui
