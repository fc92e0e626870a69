// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/job_lane.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/spec/formats.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>

#include <algorithm>

namespace qs::gui {

JobLane::JobLane(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), what_(new QLabel), count_(new QLabel), left_(new QLabel), hint_(new QLabel),
      machine_(new QLabel), rate_(named(new QLabel, "laneRate")), bar_(new QProgressBar) {
    setFixedHeight(34);
    setAccessibleName(QStringLiteral("Running work"));
    bar_->setTextVisible(false);
    bar_->setFixedSize(220, 4);
    bar_->setAccessibleName(QStringLiteral("Progress"));
    what_->setFont(Theme::words(11));
    hint_->setFont(Theme::words(11));
    hint_->setText(QStringLiteral("Esc cancels"));
    for (auto* label : {count_, left_, machine_, rate_}) label->setFont(Theme::numbers());
    for (auto* label : {what_, hint_, count_, left_, machine_, rate_})
        label->setProperty("role", QStringLiteral("muted"));
    const auto threads = workerCount();
    machine_->setText(QStringLiteral("%1   %2 %3")
                          .arg(QString::fromStdString(isaName()))
                          .arg(threads)
                          .arg(threads == 1 ? QStringLiteral("thread") : QStringLiteral("threads")));
    machine_->setToolTip(QStringLiteral("Instruction set and threads that the kernels use"));
    rate_->setToolTip(QStringLiteral("Weight bytes analysed per second in the run named at the left"));
    rate_->setMinimumWidth(72);
    rate_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    auto policy = rate_->sizePolicy(); // a hidden rate keeps its room: widgets to the left do not move
    policy.setRetainSizeWhenHidden(true);
    rate_->setSizePolicy(policy);

    auto* row = spaced(new QHBoxLayout(this), Theme::kGap, {Theme::kMargin, 1, Theme::kMargin, 0});
    for (auto* widget : std::initializer_list<QWidget*>{what_, bar_, count_, left_, hint_}) row->addWidget(widget);
    row->addStretch();
    addWidgets(*row, {machine_, rate_});

    connect(&session, &Session::jobProgress, this, &JobLane::showProgress);
    connect(&session, &Session::opening, this, [this](const QString& path) {
        showProgress({.done = 0,
                      .total = 0,
                      .what = "Opening " + escapeForPeople(QFileInfo(path).fileName().toStdString()),
                      .items = 0,
                      .itemsTotal = 0},
                     -1);
    });
    connect(&session, &Session::failed, this, [this] {
        if (!session_.laneBusy()) idle(QStringLiteral("Stopped: the reason is shown above"));
    });
    connect(&session, &Session::modelChanged, this, [this] { idle({}); });
    connect(&session, &Session::jobCancelled, this, [this](const QString& kept) {
        idle(kept.isEmpty() ? QStringLiteral("Cancelled") : QStringLiteral("Cancelled; ") + kept);
    });
    connect(&session, &Session::workEnded, this, [this] {
        if (!session_.laneBusy() && bar_->isVisibleTo(this)) idle({});
    });
    connect(&session, &Session::jobFinished, this, [this](const QString& what, double seconds, double rate) {
        if (session_.laneBusy()) return; // other work shows its progress
        idle(QStringLiteral("Analysed the model under %1 in %2")
                 .arg(what, seconds < 0.1 ? QStringLiteral("less than 0.1 s")
                                          : QString::fromStdString(durationText(seconds))));
        rate_->setText(rateText(rate));
        rate_->setVisible(rate >= 0.001); // the rate of so little data says nothing about speed
    });
    idle({});
}

QString rateText(double gigabytesPerSecond) {
    if (gigabytesPerSecond < 0.995) return QStringLiteral("%1 MB/s").arg(1000 * gigabytesPerSecond, 0, 'f', 0);
    return QStringLiteral("%1 GB/s").arg(gigabytesPerSecond, 0, 'f', gigabytesPerSecond < 9.995 ? 2 : 1);
}

void JobLane::say(const QString& sentence) {
    sentence_ = sentence;
    const int room = std::max(120, width() - 720);
    what_->setText(what_->fontMetrics().elidedText(sentence, Qt::ElideMiddle, room));
}

void JobLane::idle(const QString& sentence) {
    for (auto* widget : std::initializer_list<QWidget*>{bar_, count_, left_, hint_, rate_}) widget->hide();
    say(sentence.isEmpty() ? QStringLiteral("Ready") : sentence);
}

void JobLane::showProgress(const Progress& progress, double secondsLeft) {
    say(QString::fromStdString(progress.what));
    const bool known = progress.total > 0;
    bar_->setRange(0, known ? 1000 : 0);
    if (known) bar_->setValue(int(1000 * std::clamp(progress.done / progress.total, 0.0, 1.0)));
    count_->setText(QStringLiteral("%1 of %2").arg(progress.items).arg(progress.itemsTotal));
    left_->setText(secondsLeft >= 0 ? QString::fromStdString(durationText(secondsLeft)) + QStringLiteral(" left")
                                    : QString());
    rate_->hide(); // it belonged to the previous run
    bar_->show();
    hint_->show();
    count_->setVisible(progress.itemsTotal > 0);
    left_->setVisible(secondsLeft >= 0);
}

QString JobLane::text() const { return sentence_; }

void JobLane::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    say(sentence_);
}

void JobLane::paintEvent(QPaintEvent*) {
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(this);
    painter.fillRect(rect(), tokens.surface);
    painter.fillRect(0, 0, width(), 1, tokens.line);
}

} // namespace qs::gui
