// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/overview/overview_page.h"

#include "app/gui/page.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/tensor_menu.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/inputs_button.h"
#include "app/gui/widgets/staged_refresh.h"
#include "app/gui/widgets/unit_popup.h"

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

namespace qs::gui {

namespace {

constexpr std::size_t kLittle = 2000; // number of weights whose picture takes less than 2 ms

} // namespace

OverviewPage::OverviewPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), charts_(new StagedRefresh(this)) {
    auto* layout = spaced(new QVBoxLayout(this), Theme::kGap, Theme::kPageMargins);
    layout->addLayout(header());
    tabs_ = new QStackedWidget;
    tabs_->addWidget(layersTab());
    layout->addWidget(tabs_, 1);
    addPart([this] {
        connectTab();
        connectSession();
    });
    addPart([this] { refresh(); });
}

void OverviewPage::showEvent(QShowEvent* event) {
    PageInParts::showEvent(event);
    charts_->setActive(true);
    if (dirty_) changed();
}

void OverviewPage::hideEvent(QHideEvent*) { charts_->setActive(false); }

void OverviewPage::connectSession() {
    connect(findChild<QButtonGroup*>(), &QButtonGroup::idClicked, this, [this](int tab) {
        if (tab == 1 && tabs_->count() == 1) tabs_->addWidget(new SpecSetView(session_));
        tabs_->setCurrentIndex(tab);
    });
    charts_->add([this] { spread_->show(*picture_); });
    charts_->add([this] { share_->show(*picture_); });
    charts_->add([this] { bytes_->show(*picture_); });
    connect(&session_, &Session::rowsChanged, this, &OverviewPage::changed);
    const auto another = [this] { // the picture that is being computed is out of date
        task_.drop();
        pause_.stop();
        changed();
    };
    connect(&session_, &Session::modelChanged, this, another);
    connect(&session_, &Session::specChanged, this, another);
    connect(&session_, &Session::recipeChanged, this, another);
    connect(&session_, &Session::metricChanged, this, another);
    connect(&session_.output(), &ModelOutput::trustChanged, this, &OverviewPage::showTrust);
    connect(&session_, &Session::tensorChanged, this, &OverviewPage::follow);
    pause_.setSingleShot(true);
    connect(&pause_, &QTimer::timeout, this, [this] {
        if (dirty_ && isVisible()) refresh();
    });
}

QLayout* OverviewPage::header() {
    auto* line = spaced(new QHBoxLayout, Theme::kSpace);
    auto* title = dressed(new QLabel(tr("Overview")), Theme::words(18, QFont::DemiBold));
    note_ = dressed(new ElidedLabel(Qt::ElideRight), Theme::numbers(), "muted");
    note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    proxy_ = dressed(named(new ElidedLabel(Qt::ElideRight), "metricTrust"), Theme::words(11), "caption");
    metrics_ = named(new QComboBox, "metricChoice");
    metrics_->setAccessibleName(tr("Metric of map and bars"));
    for (const auto& metric : metrics()) {
        metrics_->addItem(metricTitle(metric), QString::fromUtf8(metric.id));
        metrics_->setItemData(metrics_->count() - 1, session_.output().metricTip(metric, session_.spec()),
                              Qt::ToolTipRole);
    }
    connect(metrics_, &QComboBox::activated, this,
            [this](int index) { session_.setMetric(metrics_->itemData(index).toString()); });

    line->addWidget(title);
    line->addSpacing(Theme::kSpace);
    line->addWidget(note_, 1);
    line->addWidget(proxy_);
    line->addSpacing(Theme::kSpace);
    addWidgets(*line, {new InputsButton(session_), metrics_});
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
    auto* layout = spaced(new QVBoxLayout(tab), Theme::kGap);
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
    layout->addLayout(top, 3);
    layout->addLayout(bottom, 2);
    addPart([this, card, top] {
        mapCard_ = card(top, tr("Layer × role"), mapView_ = new HeatMap, "layerRoleMap", 3);
        barsCard_ = card(top, tr("Worst tensors first"), bars_ = new RankedBars, "rankedBars", 2);
        bars_->setNamesTensors();
        mapView_->setGap(2);
    });
    addPart([this, bottom] { bottom->addWidget(spread_ = new SpreadCard, 1); });
    addPart([this, bottom] {
        bottom->addWidget(share_ = new ShareCard, 1);
        bottom->addWidget(bytes_ = new BytesCard, 1);
    });
    return tab;
}

void OverviewPage::connectTab() {
    mapView_->setDescribe([this](int row, int column) {
        const int weight = weightAt(row, column);
        if (weight < 0) return QString();
        QString text = describe(weight);
        const auto& grid = picture_->layout->grid;
        if (const auto n = grid.cells[std::size_t(row * grid.columns + column)].size(); n > 1)
            text += u'\n' + tr("worst of %1 tensors in this cell").arg(n);
        return text;
    });
    bars_->setDescribe([this](int index) { return describe(picture_->ranking.order[std::size_t(index)]); });
    const auto actions = [this](QMenu& menu, int weight, const QRect& at) {
        if (weight < 0 || picture_->layout != session_.layout()) return;
        const TensorInfo& tensor = *session_.weights()[std::size_t(weight)];
        menu.addAction(tr("Choose its spec…"), this,
                       [this, &tensor, at] { popUpUnit(*this, session_, UnitPopup::Of::Recipe, tensor, at); });
        addTensorActions(menu, session_, tensor);
    };
    mapView_->setCellActions([this, actions](QMenu& menu, int row, int column) {
        const QRect cell = mapView_->cellRect(row, column).toAlignedRect();
        actions(menu, weightAt(row, column), {mapView_->mapToGlobal(cell.topLeft()), cell.size()});
    });
    bars_->setBarActions([this, actions](QMenu& menu, int index) {
        const QRect bar = bars_->barRect(index);
        actions(menu, picture_->ranking.order[std::size_t(index)],
                {bars_->viewport()->mapToGlobal(bar.topLeft()), bar.size()});
    });
    connect(mapView_, &HeatMap::cellClicked, this, [this](int row, int column) { open(weightAt(row, column)); });
    connect(bars_, &RankedBars::barClicked, this,
            [this](int index) { open(picture_->ranking.order[std::size_t(index)]); });
    connect(mapView_, &HeatMap::cellHovered, this, [this](int row, int column) {
        const int weight = row < 0 ? -1 : weightAt(row, column);
        bars_->setLinked(weight < 0 ? -1 : picture_->ranking.barOf[std::size_t(weight)]);
    });
    connect(bars_, &RankedBars::barHovered, this, [this](int index) {
        if (index < 0) return mapView_->setLinked(-1, -1);
        const auto weight = std::size_t(picture_->ranking.order[std::size_t(index)]);
        const auto& grid = picture_->layout->grid;
        mapView_->setLinked(grid.rowOf[weight], grid.columnOf[weight]);
    });
}

const Metric& OverviewPage::metric() const {
    const auto* found = findMetric(session_.metric().toStdString());
    return found ? *found : metrics().front();
}

/// What the metric is, and how far it can be trusted, wherever it is named.
void OverviewPage::showTrust() {
    const Metric& shown = metric();
    proxy_->setText(session_.output().trustText(shown, session_.spec()));
    proxy_->setToolTip(session_.output().trustTip(shown, session_.spec()));
    proxy_->setVisible(shown.proxy);
    for (int i = 0; i < metrics_->count(); ++i) {
        const Metric& one = *findMetric(metrics_->itemData(i).toString().toStdString());
        metrics_->setItemData(i, session_.output().metricTip(one, session_.spec()), Qt::ToolTipRole);
    }
}

int OverviewPage::weightAt(int row, int column) const {
    const auto cell = std::size_t(row * picture_->layout->grid.columns + column);
    return cell < picture_->map.worst.size() ? picture_->map.worst[cell] : -1;
}

QString OverviewPage::describe(int weight) const {
    const auto& row = picture_->rows.at(std::size_t(weight));
    const auto& m = *picture_->metric;
    QString text = picture_->layout->grid.shown[std::size_t(weight)];
    const double value = metricValue(m, row);
    if (std::isnan(value)) return text + u'\n' + missingReason(m, row);
    text += u'\n' + metricTitle(m) + u' ' + metricText(m, value, row);
    if (picture_->recipe->isMixed()) text += u'\n' + QString::fromStdString(row->specAsTyped);
    return text + QStringLiteral("\nbpw %1").arg(row->bpw, 0, 'f', 4);
}

QString OverviewPage::unmeasured(const Metric& metric) const {
    const auto& rows = picture_->rows;
    std::size_t at = 0; // the first row that is not refused
    while (rows.at(at)->status != Status::Ok && at + 1 < std::size_t(rows.size())) ++at;
    const QString reason = missingReason(metric, rows.at(at));
    if (session_.inputs().file && !rows.at(at)->onInputs)
        return tr("%1 holds no inputs of these layers: tensors of their names are needed, with their last axis.")
            .arg(session_.inputs().title());
    return capitalized(reason) + u'.';
}

void OverviewPage::open(int weight) {
    if (weight < 0 || picture_->layout != session_.layout()) return;
    session_.selectTensor(session_.weights()[std::size_t(weight)]);
    session_.showPage(kTensorPage);
}

void OverviewPage::follow() {
    const int weight = picture_->layout == session_.layout() ? session_.weightIndex(session_.tensor()) : -1;
    if (weight < 0) {
        mapView_->setCurrent(-1, -1);
        return bars_->setCurrent(-1);
    }
    const auto& grid = picture_->layout->grid;
    mapView_->setCurrent(grid.rowOf[std::size_t(weight)], grid.columnOf[std::size_t(weight)]);
    bars_->setCurrent(picture_->ranking.barOf[std::size_t(weight)]);
}

void OverviewPage::changed() {
    dirty_ = true;
    if (!isVisible() || pause_.isActive() || task_.running()) return;
    refresh();
}

void OverviewPage::refresh() {
    dirty_ = false;
    clock_.start();
    OverviewPicture asked;
    asked.model = session_.model();
    asked.layout = session_.layout();
    asked.rows = session_.recipeRows();
    asked.recipe = session_.recipe();
    asked.title = asked.recipe->title(session_.spec());
    asked.countedIn = QString::fromUtf8(session_.countedLayout().id);
    asked.metric = &metric();
    using Drawn = std::shared_ptr<const OverviewPicture>;
    const auto work = [asked](const Job&) -> Result<Drawn> {
        auto picture = std::make_shared<OverviewPicture>(asked);
        picture->work();
        return picture;
    };
    task_.runOrNow(session_.weights().size() <= kLittle, work, [this](const Result<Drawn>& picture) {
        if (picture) show(*picture);
        // With very many tensors, rows arrive faster than they can be drawn: drawing gets at most a tenth of the time.
        if (clock_.elapsed() > 5)
            pause_.start(int(10 * clock_.elapsed()));
        else if (dirty_ && isVisible())
            pause_.start(0);
    });
}

void OverviewPage::show(std::shared_ptr<const OverviewPicture> picture) {
    picture_ = std::move(picture);
    QString empty;
    if (!picture_->model)
        empty = tr("No model is open. Ctrl+O opens one.");
    else if (picture_->layout->weights.empty())
        empty = tr("This file holds no float tensor of rank 2 or more: nothing to quantize.");
    else if (picture_->refused == int(picture_->layout->weights.size()))
        empty = tr("Nothing was measured: %1 takes none of these tensors.\n%2").arg(picture_->title, picture_->refusal);
    for (Card* card : std::initializer_list<Card*>{mapCard_, barsCard_, spread_, share_, bytes_})
        card->setMessage(empty);
    if (picture_->refused > 0 && !empty.isEmpty()) // one message is enough
        for (Card* card : std::initializer_list<Card*>{barsCard_, spread_, share_, bytes_})
            card->setMessage(tr("Not measured"));
    const auto& m = *picture_->metric;
    // A metric that no tensor has names once what it needs, for example inputs of the layers.
    const auto weights = qsizetype(picture_->layout->weights.size());
    if (empty.isEmpty() && picture_->ranking.measured == 0 && weights > 0 && picture_->rows.size() == weights)
        for (auto* card : {mapCard_, barsCard_})
            card->setMessage(tr("%1: not measured.\n%2").arg(QString::fromUtf8(m.title), unmeasured(m)));
    metrics_->setCurrentIndex(metrics_->findData(QString::fromUtf8(m.id)));
    showTrust();
    mapView_->setData(picture_->map.map);
    bars_->setAxis(metricTitle(m));
    bars_->setBars(int(picture_->ranking.order.size()), picture_->ranking.extents, [drawn = picture_](int bar) {
        const auto weight = std::size_t(drawn->ranking.order[std::size_t(bar)]);
        const double value = drawn->ranking.values[weight];
        return RankedBar{drawn->layout->grid.brief[weight], value,
                         metricText(*drawn->metric, value, drawn->rows.at(weight)),
                         std::isnan(value) ? missingReason(*drawn->metric, drawn->rows.at(weight)) : QString()};
    });
    mapCard_->setTitle(mapTitle(m, !picture_->layout->grid.layers.isEmpty()));
    mapCard_->setNote(picture_->title);
    barsCard_->setNote(metricTitle(m));
    note_->setText(
        picture_->model
            ? tr("%1 of %2 tensors measured").arg(picture_->ranking.measured).arg(picture_->layout->weights.size())
            : QString());
    if (picture_->kept > 0) note_->setText(note_->text() + tr(", %1 kept as they are").arg(picture_->kept));
    if (picture_->refused > 0) note_->setText(note_->text() + tr(", %1 refused").arg(picture_->refused));
    if (picture_->larger > 0) note_->setText(note_->text() + tr(", %1 larger than the source").arg(picture_->larger));
    QStringList why{picture_->refusal, picture_->largest};
    why.removeAll(QString());
    note_->setToolTip(why.join(u'\n'));
    follow();
    charts_->askAll();
}

QWidget* createOverviewPage(Session& session, QWidget* parent) { return new OverviewPage(session, parent); }

} // namespace qs::gui
