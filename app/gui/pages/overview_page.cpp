// SPDX-License-Identifier: GPL-3.0-or-later
// The home view of an opened model: which tensor hurts. Filled live while the whole model is measured under spec A.

#include "app/gui/page.h"
#include "app/gui/pages/overview_rows.h"
#include "app/gui/pages/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "core/base/text.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QShowEvent>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <map>

namespace qs::gui {

namespace {

class OverviewPage : public QWidget {
public:
    OverviewPage(Session& session, QWidget* parent);

protected:
    void showEvent(QShowEvent* event) override {
        QWidget::showEvent(event);
        if (dirty_) refresh();
    }

private:
    QLayout* header();
    QWidget* layersTab();
    void adoptModel();
    void changed(); ///< now when visible, else when shown
    void refresh();
    void refreshCharts();
    void refreshBytes(const ModelRows& rows);
    void follow(); ///< the selected tensor
    void open(int weight);
    QString describe(int weight) const;
    const Metric& metric() const;

    Session& session_;
    RoleGrid grid_;
    RoleMap map_;
    Ranking ranking_;
    std::vector<int> barOf_; ///< weight -> bar
    QLabel *note_ = nullptr, *proxy_ = nullptr;
    QComboBox* metrics_ = nullptr;
    Card *mapCard_ = nullptr, *barsCard_ = nullptr, *sqnrCard_ = nullptr, *shareCard_ = nullptr, *bytesCard_ = nullptr;
    HeatMap* mapView_ = nullptr;
    RankedBars *bars_ = nullptr, *bytes_ = nullptr;
    PlotChart *sqnr_ = nullptr, *share_ = nullptr;
    bool dirty_ = true;
    QTimer pause_;
};

OverviewPage::OverviewPage(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kMargin);
    layout->setSpacing(Theme::kGap);
    layout->addLayout(header());
    auto* stack = new QStackedWidget;
    stack->addWidget(layersTab());
    stack->addWidget(new SpecSetView(session));
    layout->addWidget(stack, 1);
    auto* group = findChild<QButtonGroup*>();
    connect(group, &QButtonGroup::idClicked, stack, &QStackedWidget::setCurrentIndex);

    connect(&session, &Session::modelChanged, this, &OverviewPage::adoptModel);
    connect(&session, &Session::rowsChanged, this, &OverviewPage::changed);
    connect(&session, &Session::specChanged, this, &OverviewPage::changed);
    connect(&session, &Session::metricChanged, this, &OverviewPage::changed);
    connect(&session, &Session::tensorChanged, this, &OverviewPage::follow);
    pause_.setSingleShot(true);
    connect(&pause_, &QTimer::timeout, this, [this] {
        if (dirty_ && isVisible()) refresh();
    });
    adoptModel();
}

QLayout* OverviewPage::header() {
    auto* line = new QHBoxLayout;
    line->setSpacing(Theme::kSpace);
    auto* title = new QLabel(tr("Overview"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    note_ = new QLabel;
    note_->setFont(Theme::numbers());
    note_->setProperty("role", QStringLiteral("muted"));
    note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    proxy_ = new QLabel(tr("weight-space error: a screening proxy, not accuracy"));
    proxy_->setFont(Theme::words(11));
    proxy_->setProperty("role", QStringLiteral("caption"));
    metrics_ = new QComboBox;
    metrics_->setObjectName(QStringLiteral("metricChoice"));
    metrics_->setAccessibleName(tr("Metric of map and bars"));
    for (const auto& metric : metrics()) {
        metrics_->addItem(metricTitle(metric), QString::fromUtf8(metric.id));
        metrics_->setItemData(metrics_->count() - 1, QString::fromUtf8(metric.formula), Qt::ToolTipRole);
    }
    connect(metrics_, &QComboBox::activated, this,
            [this](int index) { session_.setMetric(metrics_->itemData(index).toString()); });

    line->addWidget(title);
    line->addSpacing(Theme::kSpace);
    line->addWidget(note_, 1);
    line->addWidget(proxy_);
    line->addSpacing(Theme::kSpace);
    line->addWidget(metrics_);
    auto* group = new QButtonGroup(this);
    const std::pair<QString, QString> tabs[] = {{tr("Layers"), tr("Layer x role map and ranking under spec A")},
                                                {tr("Specs"), tr("Several specs side by side: matrix and totals")}};
    for (const auto& [text, tip] : tabs) {
        auto* button = new QToolButton;
        button->setText(text);
        button->setToolTip(tip);
        button->setAccessibleName(tip);
        button->setCheckable(true);
        button->setChecked(group->buttons().isEmpty());
        button->setProperty("role", QStringLiteral("quiet"));
        group->addButton(button, int(group->buttons().size()));
        line->addWidget(button);
    }
    return line;
}

QWidget* OverviewPage::layersTab() {
    auto* tab = new QWidget;
    auto* layout = new QVBoxLayout(tab);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(Theme::kGap);
    const auto card = [](QHBoxLayout* row, const QString& title, QWidget* body, const char* name, int stretch) {
        auto* made = new Card(title);
        body->setObjectName(QLatin1String(name));
        body->setAccessibleName(title);
        made->setBody(body);
        row->addWidget(made, stretch);
        return made;
    };
    auto* top = new QHBoxLayout;
    auto* bottom = new QHBoxLayout;
    top->setSpacing(Theme::kGap);
    bottom->setSpacing(Theme::kGap);
    mapCard_ = card(top, tr("Sensitivity: layer × role"), mapView_ = new HeatMap, "layerRoleMap", 3);
    barsCard_ = card(top, tr("Worst tensors first"), bars_ = new RankedBars, "rankedBars", 2);
    sqnrCard_ = card(bottom, tr("SQNR of all tensors"), sqnr_ = new PlotChart, "sqnrHistogram", 1);
    shareCard_ = card(bottom, tr("Cumulative squared error"), share_ = new PlotChart, "errorShare", 1);
    bytesCard_ = card(bottom, tr("Bytes by format"), bytes_ = new RankedBars, "bytesByFormat", 1);
    layout->addLayout(top, 3);
    layout->addLayout(bottom, 2);

    mapView_->setGap(2);
    sqnr_->setAxes(tr("SQNR, dB"), tr("tensors"));
    share_->setAxes(tr("worst tensors"), tr("share of squared error, %"));
    bytes_->setToken(0);
    bytes_->setAxisVisible(false);

    mapView_->setDescribe([this](int row, int column) {
        const auto cell = std::size_t(row * grid_.columns + column);
        QString text = describe(map_.worst[cell]);
        if (const auto n = grid_.cells[cell].size(); n > 1)
            text += u'\n' + tr("worst of %1 tensors in this cell").arg(n);
        return text;
    });
    bars_->setDescribe([this](int index) { return describe(ranking_.order[std::size_t(index)]); });
    connect(mapView_, &HeatMap::cellClicked, this,
            [this](int row, int column) { open(map_.worst[std::size_t(row * grid_.columns + column)]); });
    connect(bars_, &RankedBars::barClicked, this, [this](int index) { open(ranking_.order[std::size_t(index)]); });
    connect(mapView_, &HeatMap::cellHovered, this, [this](int row, int column) {
        const int weight = row < 0 ? -1 : map_.worst[std::size_t(row * grid_.columns + column)];
        bars_->setLinked(weight < 0 ? -1 : barOf_[std::size_t(weight)]);
    });
    connect(bars_, &RankedBars::barHovered, this, [this](int index) {
        if (index < 0) return mapView_->setLinked(-1, -1);
        const auto weight = std::size_t(ranking_.order[std::size_t(index)]);
        mapView_->setLinked(grid_.rowOf[weight], grid_.columnOf[weight]);
    });
    return tab;
}

const Metric& OverviewPage::metric() const {
    const auto* found = findMetric(session_.metric().toStdString());
    return found ? *found : metrics().front();
}

void OverviewPage::adoptModel() {
    grid_ = roleGrid(session_.weights());
    QString empty;
    if (!session_.model())
        empty = tr("No model is open. Ctrl+O opens one.");
    else if (session_.weights().empty())
        empty = tr("This file holds no float tensor of rank 2 or more: nothing to quantize.");
    for (auto* card : {mapCard_, barsCard_, sqnrCard_, shareCard_, bytesCard_}) card->setMessage(empty);
    changed();
}

void OverviewPage::changed() {
    dirty_ = true;
    if (!isVisible() || pause_.isActive()) return;
    refresh();
}

QString OverviewPage::describe(int weight) const {
    const auto& row = session_.modelRows(session_.spec()).value(grid_.names[std::size_t(weight)]);
    QString text = grid_.shown[std::size_t(weight)];
    const double value = metricValue(metric(), row);
    if (std::isnan(value)) return text + u'\n' + missingReason(metric(), row);
    text += u'\n' + metricTitle(metric()) + u' ' + metricText(metric(), value);
    return text + QStringLiteral("\nbpw %1").arg(row->bpw, 0, 'f', 4);
}

void OverviewPage::open(int weight) {
    if (weight < 0) return;
    session_.selectTensor(session_.weights()[std::size_t(weight)]);
    session_.showPage(QStringLiteral("tensor"));
}

void OverviewPage::follow() {
    const auto& weights = session_.weights();
    const auto at = std::find(weights.begin(), weights.end(), session_.tensor());
    const bool known = at != weights.end() && grid_.names.size() == weights.size();
    const auto weight = std::size_t(at - weights.begin());
    mapView_->setCurrent(known ? grid_.rowOf[weight] : -1, known ? grid_.columnOf[weight] : -1);
    bars_->setCurrent(known && weight < barOf_.size() ? barOf_[weight] : -1);
}

void OverviewPage::refresh() {
    QElapsedTimer clock;
    clock.start();
    dirty_ = false;
    const auto& m = metric();
    const auto& rows = session_.modelRows(session_.spec());
    metrics_->setCurrentIndex(metrics_->findData(QString::fromUtf8(m.id)));
    proxy_->setVisible(m.proxy);
    map_ = roleMap(grid_, rows, m);
    mapView_->setData(map_.map);
    ranking_ = ranking(grid_, rows, m);
    barOf_.assign(ranking_.order.size(), -1);
    for (std::size_t i = 0; i < ranking_.order.size(); ++i) barOf_[std::size_t(ranking_.order[i])] = int(i);
    bars_->setAxis(metricTitle(m));
    bars_->setBars(ranking_.bars);
    const QString spec = QString::fromStdString(specText(session_.spec()));
    mapCard_->setTitle(tr("Sensitivity: layer × role, %1").arg(map_.map.unit));
    mapCard_->setNote(spec);
    barsCard_->setNote(metricTitle(m));
    note_->setText(session_.model()
                       ? tr("%1   %2 of %3 tensors measured").arg(spec).arg(ranking_.measured).arg(grid_.names.size())
                       : QString());
    follow();
    // With very many tensors rows arrive faster than they are drawn: at most a tenth of the time goes into it.
    if (clock.elapsed() > 5) pause_.start(int(10 * clock.elapsed()));
    // The charts in a handler of their own, so that none is long.
    QTimer::singleShot(0, this, [this] { refreshCharts(); });
}

void OverviewPage::refreshCharts() {
    const auto& rows = session_.modelRows(session_.spec());
    const auto spread = sqnrSpread(grid_, rows);
    QVector<PlotMarker> markers;
    if (spread.tensors > 0) {
        sqnr_->setXRange(spread.lo, spread.hi);
        markers << PlotMarker{spread.median, tr("median"), true, true, 4};
    }
    sqnr_->setData({spread.bars}, markers, true);
    QString note = spread.tensors > 0 ? tr("median %1 dB").arg(spread.median, 0, 'f', 2) : tr("not measured yet");
    if (spread.exact > 0) note += tr("   %1 without error").arg(spread.exact);
    sqnrCard_->setNote(note);

    const auto share = errorShare(grid_, rows);
    markers.clear();
    if (share.most > 0) {
        share_->setXRange(0, share.tensors);
        share_->setYRange(0, 100);
        markers << PlotMarker{double(share.most), tr("80 %"), true, true, 4};
    }
    share_->setData({share.curve}, markers, true);
    shareCard_->setNote(share.most > 0 ? tr("80 % in %1 of %2").arg(share.most).arg(share.tensors) : QString());
    refreshBytes(rows);
}

void OverviewPage::refreshBytes(const ModelRows& rows) {
    const auto model = session_.model();
    if (!model) return bytes_->setBars({});
    std::map<std::string, std::uint64_t> before, kept;
    std::uint64_t after = 0, pending = 0;
    for (const auto& tensor : model->tensors) {
        before[info(tensor.dtype).id] += tensor.bytes;
        if (!tensor.isWeight()) kept[info(tensor.dtype).id] += tensor.bytes;
    }
    for (const auto* tensor : session_.weights()) {
        const auto row = rows.value(QString::fromStdString(tensor->name));
        if (!row)
            pending += tensor->bytes;
        else if (row->status == Status::Ok)
            after += row->bytesAfter;
        else
            kept[info(tensor->dtype).id] += tensor->bytes;
    }
    std::vector<RankedBar> bars;
    const auto add = [&](const QString& name, std::uint64_t bytes) {
        if (bytes > 0) bars.push_back({name, double(bytes), QString::fromStdString(bytesText(bytes)), {}});
    };
    for (const auto& [dtype, bytes] : before) add(tr("before: %1").arg(QString::fromStdString(dtype)), bytes);
    add(tr("after: %1").arg(QString::fromStdString(specText(session_.spec()))), after);
    for (const auto& [dtype, bytes] : kept) add(tr("after: %1, kept").arg(QString::fromStdString(dtype)), bytes);
    add(tr("not measured yet"), pending);
    bytes_->setBars(std::move(bars));
    std::uint64_t total = after;
    for (const auto& [dtype, bytes] : kept) total += bytes;
    const auto source = model->totalBytes();
    bytesCard_->setNote(pending > 0 || total == 0 ? QString::fromStdString(bytesText(source))
                                                  : tr("%1 → %2   %3×")
                                                        .arg(QString::fromStdString(bytesText(source)),
                                                             QString::fromStdString(bytesText(total)))
                                                        .arg(double(source) / double(total), 0, 'f', 2));
}

} // namespace

QWidget* createOverviewPage(Session& session, QWidget* parent) { return new OverviewPage(session, parent); }

} // namespace qs::gui
