// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_time.h"

#include "app/gui/bench_run.h"
#include "app/gui/page.h"
#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr double kNsPerMs = 1e6, kMostMs = 1e9;

using AllTimes = std::vector<std::shared_ptr<const plan::Latencies>>;

/// The times of every backend and M; of conditions that differ otherwise, the first.
AllTimes timesOfAll(const Model& model, const std::vector<BenchmarkRow>& rows) {
    AllTimes out;
    for (const plan::LatencyCase& one : plan::latencyCases(model, rows)) {
        std::vector<BenchmarkRow> own;
        for (const BenchmarkRow& row : rows)
            if (one.isOf(row.question)) own.push_back(row);
        for (const std::int64_t m : one.ms)
            if (auto times = plan::latenciesOf(model, own, one.backend, m))
                out.push_back(std::make_shared<const plan::Latencies>(std::move(*times)));
    }
    return out;
}

bool areAlike(const plan::Latencies& a, const plan::LatencyCase& where, std::int64_t m) {
    return a.m == m && std::tie(a.where.backend, a.where.device, a.where.op, a.where.act, a.where.cache) ==
                           std::tie(where.backend, where.device, where.op, where.act, where.cache);
}

} // namespace

PlanTime::PlanTime(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), box_(named(new QDoubleSpinBox, "planMs")),
      times_(named(new QComboBox, "planTimes")), use_(named(new QLabel, "planTimeUse")),
      none_(named(new QLabel(tr("No time of this model's products was measured.")), "planNoTimes", "warn")),
      measure_(named(new QPushButton(tr("Measure times…")), "planMeasureTimes")) {
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    auto* title = dressed(new QLabel(tr("Time")), Theme::words(13, QFont::DemiBold));
    times_->setAccessibleName(tr("Backend and M of the measured times"));
    times_->setToolTip(tr("Whose measured times count, and M: the tokens in one pass"));
    box_->setAccessibleName(tr("Budget of time in milliseconds"));
    box_->setToolTip(tr("Time of the matrix products of one pass; specs without a measured time are then no choice"));
    box_->setFont(Theme::numbers());
    box_->setDecimals(4);
    box_->setRange(0, kMostMs);
    box_->setSpecialValueText(tr("any time"));
    box_->setSuffix(QStringLiteral(" ms"));
    box_->setKeyboardTracking(false);
    box_->setFixedWidth(130);
    dress(*use_, Theme::numbers(), "muted");
    use_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    measure_->setToolTip(tr("Opens the page Backends with these specs and all shapes of the model"));
    addWidgets(*row, {title, box_, times_});
    row->addWidget(none_, 1);
    row->addWidget(use_, 1);
    row->addWidget(measure_);
    connect(box_, &QDoubleSpinBox::valueChanged, this, &PlanTime::changed);
    connect(times_, &QComboBox::currentIndexChanged, this, &PlanTime::changed);
    connect(&session.decision(), &Decision::benchRowsChanged, this, &PlanTime::follow);
    connect(measure_, &QPushButton::clicked, this, [this] {
        session_.decision().askBench(specs_);
        session_.showPage(kBackendsPage);
    });
    show({});
}

void PlanTime::follow() {
    if (!session_.model()) return show({});
    if (!session_.decision().benchRows()) {
        takeKeptTimes(session_, restoring_);
        return show({});
    }
    reading_.run(
        {},
        [model = session_.model(), rows = session_.decision().benchRows()](const Job&) -> Result<All> {
            return timesOfAll(*model, *rows);
        },
        [this](All all) { show(std::move(all)); });
}

void PlanTime::show(All all) {
    const auto before = latencies();
    all_ = std::move(all);
    {
        const QSignalBlocker quiet(times_), too(box_);
        times_->clear();
        int kept = 0;
        for (const auto& one : all_) {
            if (before && areAlike(*one, before->where, before->m)) kept = times_->count();
            times_->addItem(tr("%1   M = %2").arg(QString::fromStdString(caseText(one->where))).arg(one->m));
        }
        times_->setCurrentIndex(all_.empty() ? -1 : kept);
        // A budget from a session file stays until its times are known.
        box_->setEnabled(!all_.empty());
    }
    const bool has = !all_.empty();
    times_->setVisible(has);
    none_->setVisible(!has);
    use_->setVisible(has);
    if (has || before) Q_EMIT changed();
}

std::shared_ptr<const plan::Latencies> PlanTime::latencies() const {
    const int at = times_->currentIndex();
    return at < 0 || std::size_t(at) >= all_.size() ? nullptr : all_[std::size_t(at)];
}

std::optional<std::uint64_t> PlanTime::ns() const {
    if (box_->value() <= 0) return {};
    return std::uint64_t(std::llround(box_->value() * kNsPerMs));
}

void PlanTime::setNs(std::optional<std::uint64_t> ns) { box_->setValue(ns ? double(*ns) / kNsPerMs : 0); }

void PlanTime::take(const plan::LatencyCase& where, std::int64_t m, double ns) {
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (areAlike(*all_[i], where, m)) {
            const QSignalBlocker quiet(times_);
            times_->setCurrentIndex(int(i));
        }
    const QSignalBlocker quiet(box_);
    // The box has 100 ns steps: round up, so that the spec itself stays within.
    box_->setValue(std::ceil(ns / 100) / 1e4);
    Q_EMIT changed();
}

void PlanTime::setPlan(const plan::Mixture* mixture, const plan::Options* options) {
    if (!mixture || !options || !options->latencies) {
        use_->clear();
        return use_->setToolTip({});
    }
    const auto text = [](double ns) { return QString::fromStdString(plan::timeText(ns)); };
    QString use = tr("plan %1").arg(text(double(mixture->ns)));
    if (std::isfinite(mixture->nsRange.low) && mixture->nsRange.high > 0)
        use += tr(" (%1 to %2)").arg(text(mixture->nsRange.low), text(mixture->nsRange.high));
    if (mixture->untimed > 0) use += tr(", without %1 not timed").arg(mixture->untimed);
    use_->setText(use);
    use_->setToolTip(
        tr("Measured time of the matrix products of one pass, with the 95 % intervals of the medians added "
           "up; attention, norms and sampling come on top.\nThe fastest choices take %1, the slowest %2.")
            .arg(text(double(options->leastNs())), text(double(options->mostNs()))));
}

} // namespace qs::gui
