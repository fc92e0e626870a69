// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_trust.h"

#include "app/gui/pages/evidence/evidence_imports.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/small_multiples.h"
#include "core/base/text.h"

#include <QHeaderView>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

/// The mean of a metric over tensors; none unless every tensor has it.
std::optional<double> meanMetric(const ModelRows& rows, std::size_t weights, const Metric& metric) {
    double sum = 0;
    for (std::size_t i = 0; i < weights; ++i) {
        const auto& row = rows.at(i);
        const auto value = row && row->status == Status::Ok ? metric.value(*row) : std::nullopt;
        if (!value || !std::isfinite(*value)) return {};
        sum += *value;
    }
    return weights > 0 ? std::optional(sum / double(weights)) : std::nullopt;
}

/// The place of each value among all that are finite, in % from the smallest to the largest; NaN stays. Equal values
/// share the middle of their places.
std::vector<double> placesOf(const std::vector<double>& values) {
    std::vector<double> sorted;
    for (const double value : values)
        if (std::isfinite(value)) sorted.push_back(value);
    std::ranges::sort(sorted);
    std::vector<double> out;
    for (const double value : values) {
        const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
        const double place = double(first - sorted.begin()) + double(last - first - 1) / 2;
        out.push_back(std::isfinite(value) ? 100 * place / std::max(1.0, double(sorted.size()) - 1) : std::nan(""));
    }
    return out;
}

Multiple panelOf(const eval::TrustTable& table, const eval::TrustRow& row, int series) {
    Multiple panel;
    const auto text = [](double value) { return QString::fromStdString(fixedText(value, 2)); };
    panel.title = QString::fromStdString(row.proxyTitle + " → " + row.measuredTitle);
    panel.note = row.agreement ? EvidenceTrust::tr("τ %1 [%2, %3]")
                                     .arg(text(row.agreement->tau), text(row.agreement->low), text(row.agreement->high))
                               : QString();
    const auto x = placesOf(table.proxies[row.proxy].values), y = placesOf(table.measured[row.measured].values);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (std::isfinite(x[i]) && std::isfinite(y[i])) panel.dots.push_back({x[i], y[i], series, int(i), false});
    std::ranges::sort(panel.dots, [](const auto& a, const auto& b) { return a.x < b.x; });
    panel.empty = EvidenceTrust::tr("Too few have both figures.");
    return panel;
}

} // namespace

EvidenceTrust::EvidenceTrust(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), plotsCard_(new Card(tr("Proxies against the output"))),
      tableCard_(new Card(tr("Agreement of proxies"))), plots_(named(new SmallMultiples, "evidenceTrustPlots")),
      table_(named(new QTableView, "evidenceTrust")), imports_(new EvidenceImports(session)),
      rows_(new RowModel<eval::TrustRow>(eval::trustColumns(), this)) {
    plots_->setAccessibleName(tr("Order by a proxy against the order by what was measured, a panel for each pair"));
    plots_->setAxes(tr("order by the proxy, %"), tr("measured order, %"));
    plots_->setComparesOrders(true);
    plots_->setDescribe([this](int panel, int id) {
        if (std::size_t(panel) >= meter_.rows.size()) return QString();
        const auto& table = meter_.tables[meter_.tableOf[std::size_t(panel)]];
        const auto& row = meter_.rows[std::size_t(panel)];
        const auto value = [&](const eval::TrustFigure& figure) {
            return QString::fromStdString(figure.title + " " + significantText(figure.values[std::size_t(id)], 4));
        };
        return QString::fromStdString(escapeForPeople(table.items[std::size_t(id)])) + u'\n' +
               value(table.proxies[row.proxy]) + u'\n' + value(table.measured[row.measured]);
    });
    plotsCard_->setBody(plots_);
    plotsCard_->setSketch(new Sketch(Sketch::Kind::Frontier, {tr("order by the proxy, %"), tr("measured order, %")}));
    asDataTable(*table_, tr("How far each proxy ranks as the output does"));
    table_->setModel(rows_);
    table_->horizontalHeader()->setStretchLastSection(true);
    tableCard_->setBody(table_);
    tableCard_->setSketch(
        new Sketch(Sketch::Kind::Table, {tr("Proxy"), tr("Measured"), tr("Rank correlation"), tr("Too high or low")}));
    auto* column = spaced(new QVBoxLayout(this), Theme::kGap);
    column->addWidget(imports_);
    column->addWidget(plotsCard_, 3);
    column->addWidget(tableCard_, 2);
    const auto changed = [this] {
        stale_ = true;
        if (isVisible()) refresh();
    };
    connect(&session, &Session::rowsChanged, this, changed);
    connect(imports_, &EvidenceImports::changed, this, changed);
    connect(&task_, &Task::over, this, &EvidenceTrust::settled);
    draw({});
}

void EvidenceTrust::setRecord(std::shared_ptr<const eval::EvaluationRecord> record) {
    record_ = std::move(record);
    stale_ = true;
    if (isVisible()) showEvent(nullptr);
}

void EvidenceTrust::setTensors(std::vector<eval::SensitivityRow> rows) {
    tensors_ = std::move(rows);
    stale_ = true;
    if (isVisible()) refresh();
}

/// The proxies of a spec come from the analysis of the weights, which begins when the tab is shown.
void EvidenceTrust::showEvent(QShowEvent* event) {
    if (event) QWidget::showEvent(event);
    if (record_)
        for (const auto& change : record_->changes)
            if (const auto spec = parseSpec(change.row.spec); spec && change.row.summary) session_.analyseModel(*spec);
    if (stale_) refresh();
}

std::vector<eval::SpecProxies> EvidenceTrust::proxies() const {
    std::vector<eval::SpecProxies> out;
    if (!record_) return out;
    const std::size_t weights = session_.weights().size();
    for (const auto& change : record_->changes) {
        const auto spec = parseSpec(change.row.spec);
        if (!spec || !change.row.servedBy.empty()) continue;
        const auto& rows = session_.modelRows(*spec);
        if (rows.size() < qsizetype(weights) || rows.elements() == 0) continue;
        eval::SpecProxies one{change.row.spec, 8 * rows.bytesAfter() / rows.elements(), {}, {}, {}};
        if (rows.sums().sw2 > 0) one.nmse = rows.sums().se2 / rows.sums().sw2;
        one.weightedNmse = meanMetric(rows, weights, weightedNmseMetric());
        one.outputNmse = meanMetric(rows, weights, outputNmseMetric());
        out.push_back(std::move(one));
    }
    return out;
}

void EvidenceTrust::refresh() {
    stale_ = false;
    const auto imported = imports_->columns();
    std::vector<eval::TrustTable> tables = eval::tensorTrusts(tensors_, imported);
    if (record_) {
        std::vector<eval::EvaluationRow> rows;
        for (const auto& change : record_->changes)
            if (change.row.servedBy.empty()) rows.push_back(change.row); // proxies are of the weights alone
        tables.push_back(eval::specTrust(proxies(), rows, imported));
    }
    const auto work = [tables = std::move(tables)](const Job&) mutable -> Result<Meter> {
        Meter meter;
        for (std::size_t i = 0; i < tables.size(); ++i)
            for (auto& row : eval::trustRows(tables[i])) {
                if (!row.agreement) continue;
                meter.rows.push_back(std::move(row));
                meter.tableOf.push_back(i);
            }
        meter.tables = std::move(tables);
        return meter;
    };
    task_.run({}, work, [this](Meter meter) { draw(std::move(meter)); });
}

/// Names as on other pages: "2.mlp.down_proj (too high)".
std::string EvidenceTrust::briefNames(const eval::TrustTable& table, const eval::TrustRow& row) const {
    QStringList names;
    for (const Misjudged& one : row.misjudged) {
        const auto* tensor = session_.model() ? session_.model()->find(table.items[one.item]) : nullptr;
        const int weight = tensor ? session_.weightIndex(tensor) : -1;
        const QString name = weight < 0 ? QString::fromStdString(table.items[one.item])
                                        : session_.layout()->grid.brief[std::size_t(weight)];
        names << (one.tooHigh ? tr("%1 (too high)") : tr("%1 (too low)")).arg(name);
    }
    return names.join(QStringLiteral(", ")).toStdString();
}

void EvidenceTrust::draw(Meter meter) {
    meter_ = std::move(meter);
    const QString empty = meter_.rows.empty() ? tr("Whether a figure of the weights can be trusted is seen where the "
                                                   "output was measured too: evaluate at "
                                                   "least %1 specs, or measure each tensor on the tab Tensors.")
                                                    .arg(kLeastItems)
                                              : QString();
    plotsCard_->setEmpty(empty);
    tableCard_->setEmpty(empty.isEmpty() ? QString() : tr("Nothing to compare yet."));
    std::vector<Multiple> panels;
    QStringList series;
    for (const auto& table : meter_.tables) series << QString::fromStdString(table.of);
    for (std::size_t i = 0; i < meter_.rows.size(); ++i)
        panels.push_back(panelOf(meter_.tables[meter_.tableOf[i]], meter_.rows[i], int(meter_.tableOf[i])));
    plots_->setData(series, std::move(panels));
    std::vector<eval::TrustRow> rows = meter_.rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].misjudgedNames = briefNames(meter_.tables[meter_.tableOf[i]], rows[i]);
    rows_->setRows(std::move(rows));
    for (int i = 0; i + 1 < rows_->columnCount(); ++i) table_->resizeColumnToContents(i);
}

} // namespace qs::gui
