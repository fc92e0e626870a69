// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/key_figures.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/decibel.h"
#include "core/base/text.h"

#include <QGridLayout>
#include <QLabel>
#include <QStyle>

namespace qs::gui {

KeyFigures::KeyFigures(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 6, 0, 6);
    grid->setHorizontalSpacing(Theme::kMargin);
    grid->setVerticalSpacing(0);
    const char* captions[] = {"", "SQNR dB ↑", "max |error| ↓"}; // the first caption says whose figures they are
    const auto& columns = analysisColumns();
    const std::string tips[] = {columns[columns.indexOf("bpw")].tip, metricTip(sqnrMetric()),
                                metricTip(maxAbsMetric())};
    const int widths[] = {96, 78, 92};
    for (int i = 0; i < 3; ++i) {
        const auto at = std::size_t(i);
        captions_[at] = dressed(new QLabel(QString::fromUtf8(captions[i])), Theme::words(10), "caption");
        captions_[at]->setToolTip(QString::fromStdString(tips[i]));
        values_[at] = dressed(new QLabel, Theme::numbers(18));
        seconds_[at] = dressed(new QLabel, Theme::numbers(11));
        int row = 0;
        for (auto* label : {values_[at], seconds_[at], captions_[at]}) {
            label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
            label->setMinimumWidth(widths[i]);
            grid->addWidget(label, row++, i);
        }
    }
    connect(&session, &Session::currentChanged, this, &KeyFigures::refresh);
    connect(&session, &Session::rowsChanged, this, [this] {
        if (session_.isOn(kOverviewPage)) refresh();
    });
    for (auto signal :
         {&Session::modelChanged, &Session::specChanged, &Session::recipeChanged, &Session::tensorChanged})
        connect(&session, signal, this, &KeyFigures::refresh);
    connect(&session, &Session::pageChanged, this, &KeyFigures::refresh);
    connect(&Theme::instance(), &Theme::changed, this, &KeyFigures::refresh);
    refresh();
}

KeyFigures::Figures KeyFigures::ofTensor(const AnalysisRow& row) {
    if (!row) return {{}, {}, {}, QStringLiteral("nothing has been measured yet")};
    if (row->status != Status::Ok) return {{}, {}, {}, QString::fromStdString(row->reason)};
    Figures out{row->bpw, {}, {}, {}};
    const Metric& metric = sqnrMetric();
    out.sqnrDb = metric.value(*row);
    if (!out.sqnrDb)
        if (const char* why = metric.whyMissing(*row)) out.why = QString::fromUtf8(why);
    if (row->sums.n > 0) out.maxAbs = double(row->sums.maxAbs);
    return out;
}

KeyFigures::Figures KeyFigures::ofModel(const ModelRows& rows) const {
    const auto& sums = rows.sums();
    if (rows.elements() == 0) return {{}, {}, {}, QStringLiteral("the model has not been measured yet")};
    Figures out{8 * rows.bytesAfter() / rows.elements(),
                {},
                double(sums.maxAbs),
                QStringLiteral("the reconstruction is exact")};
    if (sums.sw2 > 0) out.sqnrDb = sqnrDb(sums.se2 / sums.sw2);
    return out;
}

void KeyFigures::print(QLabel* label, const std::optional<double>& value, int figure, bool b, const QString& why) {
    label->setProperty("role", b ? QStringLiteral("data-b") : value ? QString() : QStringLiteral("muted"));
    label->style()->unpolish(label);
    label->style()->polish(label);
    QString text = QStringLiteral("–");
    if (value)
        text =
            QString::fromStdString(figure == 2 ? significantText(*value, 3) : fixedText(*value, figure == 0 ? 4 : 2));
    label->setText(b ? QStringLiteral("B ") + text : text);
    label->setToolTip(value ? QString() : QStringLiteral("Not measured: %1").arg(why));
    label->setAccessibleName(owner_ + QLatin1Char(' ') + captions_[std::size_t(figure)]->text() + QLatin1Char(' ') +
                             (value ? text : QStringLiteral("not measured")));
}

void KeyFigures::refresh() {
    const bool whole = session_.isOn(kOverviewPage);
    owner_ = whole ? QStringLiteral("Model") : QStringLiteral("Tensor");
    captions_[0]->setText(owner_ + QStringLiteral(" bits/weight"));
    const bool two = session_.comparing();
    const auto a = whole ? ofModel(session_.recipeRows()) : ofTensor(session_.current());
    const auto b = !two    ? Figures{}
                   : whole ? ofModel(session_.modelRows(session_.specB()))
                           : ofTensor(session_.currentB());
    const auto of = [](const Figures& f, int i) { return i == 0 ? f.bpw : i == 1 ? f.sqnrDb : f.maxAbs; };
    for (int i = 0; i < 3; ++i) {
        const auto at = std::size_t(i);
        print(values_[at], of(a, i), i, false, a.why);
        seconds_[at]->setVisible(two);
        values_[at]->setFont(Theme::numbers(two ? 15 : 18));
        if (two) print(seconds_[at], of(b, i), i, true, b.why);
    }
    setToolTip(whole
                   ? QStringLiteral("Of all tensors quantized by %1; bytes of the layout %2")
                         .arg(session_.recipe()->title(session_.spec()), QString::fromUtf8(session_.countedLayout().id))
                   : QStringLiteral("Of the selected tensor"));
}

QString KeyFigures::owner() const { return owner_; }
QString KeyFigures::text(int figure) const { return values_[std::size_t(figure)]->text(); }

} // namespace qs::gui
