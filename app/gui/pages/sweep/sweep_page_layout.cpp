// SPDX-License-Identifier: GPL-3.0-or-later
// The widgets of the sweep page and where they stand.
#include "app/gui/pages/sweep/sweep_page.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/small_multiples.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr std::uint32_t kOffered[] = {8, 16, 32, 64, 128, 256, 512, 1024};

Columns<SweepPoint> tableColumns(const Session& session) {
    Columns<SweepPoint> list;
    for (const char* id : {"spec", "bpw", "sqnr_db", "nmse", "bytes", "worst_tensor"})
        for (const auto& column : sweepColumns())
            if (column.id == id) list.push_back(column);
    list.back().value = [&session](const SweepPoint& point) { // as the other pages call it
        const auto* tensor = session.model() ? session.model()->find(point.worstTensor) : nullptr;
        const int weight = tensor ? session.weightIndex(tensor) : -1;
        return Value(weight < 0 ? point.worstTensor : session.layout()->grid.brief[std::size_t(weight)].toStdString());
    };
    return list;
}

QString plainLabel(const std::string& text) { return QString::fromStdString(text); }

} // namespace

SweepPage::SweepPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), stack_(new QStackedLayout(this)), empty_(new EmptyState(session)),
      facts_(new QLabel), model_(new RowModel<SweepPoint>(tableColumns(session), this)) {
    setObjectName(QStringLiteral("sweep"));
    setAccessibleName(tr("Sweep"));
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kMargin);
    grid->setSpacing(Theme::kGap);
    auto* title = new QLabel(tr("Sweep"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    facts_->setFont(Theme::numbers());
    facts_->setProperty("role", QStringLiteral("muted"));
    auto* proxy = new QLabel(tr("weight-space error: a screening proxy, not accuracy"));
    proxy->setFont(Theme::words(11));
    proxy->setProperty("role", QStringLiteral("caption"));
    auto* header = new QHBoxLayout;
    header->setSpacing(Theme::kMargin);
    header->addWidget(title);
    header->addWidget(facts_, 1);
    header->addWidget(proxy);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, Theme::kControl);
    addPart([this, grid] { grid->addWidget(sidebar(), 1, 0); });
    addPart([this, grid] { grid->addWidget(results(), 1, 1); });
    addPart([this] { connectSession(); });
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(1, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);
}

void SweepPage::connectSession() {
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &SweepPage::poll);
    connect(&session_, &Session::modelChanged, this, &SweepPage::modelChanged);
    connect(&session_, &Session::selectionChanged, this, [this] {
        if (isVisible()) estimate();
    });
    connect(&session_, &Session::jobCancelled, this, [this] {
        if (!lane_) return;
        poll();
        poll_.stop();
        lane_.reset();
        say(result_ ? tr("Cancelled: classes that were finished are kept.") : tr("Cancelled."));
        draw();
        Q_EMIT settled();
    });
    modelChanged();
}

QWidget* SweepPage::sidebar() {
    const auto caption = [](const QString& text) {
        auto* label = new QLabel(text);
        label->setProperty("role", QStringLiteral("caption"));
        label->setFont(Theme::words(11));
        return label;
    };
    auto* body = new QWidget;
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins({});
    column->setSpacing(4);
    column->addWidget(caption(tr("Formats")));
    formats_ = new TickList("sweepFormats", tr("Formats to sweep"));
    for (const auto& line : sweepLines()) formats_->add(plainLabel(line.text), line.usual);
    connect(formats_, &QListWidget::itemChanged, this, &SweepPage::estimate);
    column->addWidget(formats_, 1);
    typed_ = new QLineEdit;
    typed_->setObjectName(QStringLiteral("sweepAdd"));
    typed_->setFont(Theme::code());
    typed_->setPlaceholderText(tr("Add a spec, e.g. int4:calib=mse"));
    typed_->setAccessibleName(tr("Add a spec"));
    connect(typed_, &QLineEdit::returnPressed, this, &SweepPage::addTyped);
    column->addWidget(typed_);
    column->addSpacing(Theme::kSpace);
    column->addWidget(caption(tr("Block sizes, elements per scale")));
    auto* sizes = new QGridLayout;
    sizes->setSpacing(4);
    const auto usual = usualSweepBlocks();
    int place = 0;
    for (const std::uint32_t block : kOffered) {
        auto* box = new QCheckBox(QString::number(block));
        box->setFont(Theme::numbers());
        box->setObjectName(QStringLiteral("sweepBlock%1").arg(block));
        box->setAccessibleName(tr("Block size %1").arg(block));
        box->setChecked(std::find(usual.begin(), usual.end(), block) != usual.end());
        connect(box, &QCheckBox::toggled, this, &SweepPage::estimate);
        sizes->addWidget(box, place / 4, place % 4);
        ++place;
        blocks_.push_back(box);
    }
    column->addLayout(sizes);
    column->addSpacing(Theme::kSpace);
    start_ = new QPushButton(tr("Sweep"));
    stop_ = new QPushButton(tr("Stop"));
    save_ = new QPushButton(tr("Save report…"));
    status_ = new QLabel;
    start_->setObjectName(QStringLiteral("sweepStart"));
    start_->setProperty("role", QStringLiteral("primary"));
    stop_->setObjectName(QStringLiteral("sweepStop"));
    save_->setObjectName(QStringLiteral("sweepSave"));
    status_->setObjectName(QStringLiteral("sweepStatus"));
    status_->setFont(Theme::words(11));
    status_->setWordWrap(true);
    status_->setTextFormat(Qt::PlainText);
    for (QWidget* widget : std::initializer_list<QWidget*>{start_, stop_, save_, status_}) column->addWidget(widget);
    connect(start_, &QPushButton::clicked, this, &SweepPage::begin);
    connect(stop_, &QPushButton::clicked, this, [this] { session_.cancelJobs(); });
    connect(save_, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getSaveFileName(this, tr("Save the sweep"), QStringLiteral("sweep.html"),
                                                          tr("Reports (*.html *.pdf *.md);;Data (*.json *.csv)"));
        if (!path.isEmpty()) saveTo(path);
    });
    auto* card = new Card(tr("What is swept"));
    card->setFixedWidth(260);
    card->setBody(body);
    return card;
}

QWidget* SweepPage::results() {
    plots_ = new SmallMultiples;
    plotsCard_ = new Card(tr("SQNR against true bits per weight"));
    plots_->setObjectName(QStringLiteral("sweepPlots"));
    plots_->setAccessibleName(tr("SQNR against true bits per weight, a panel for each class of tensors"));
    plots_->setAxes(tr("bits per weight"), tr("SQNR, dB ↑"));
    plots_->setDescribe([this](int panel, int id) {
        if (!result_ || std::size_t(panel) >= result_->classes.size() || std::size_t(id) >= result_->specs)
            return QString();
        const auto& point = result_->at(std::size_t(panel), std::size_t(id));
        return tr("%1\n%2 bpw   %3 dB%4\nworst: %5")
            .arg(plainLabel(point.specText), plainLabel(fixedText(point.bpw().value_or(0), 4)),
                 plainLabel(fixedText(point.sqnrDb().value_or(0), 2)),
                 point.frontier ? tr("   on the frontier") : QString(), plainLabel(escapeForPeople(point.worstTensor)));
    });
    plotsCard_->setBody(plots_);
    table_ = new QTableView;
    tableCard_ = new Card(tr("Frontier"));
    asDataTable(*table_, tr("Specs on the frontier"));
    table_->setProperty("roomy", true); // words beside right-aligned numbers
    table_->setObjectName(QStringLiteral("sweepTable"));
    table_->setModel(model_);
    table_->horizontalHeader()->setStretchLastSection(true);
    tableCard_->setBody(table_);
    connect(plots_, &SmallMultiples::panelClicked, this, &SweepPage::showClass);
    connect(plots_, &SmallMultiples::dotClicked, this, &SweepPage::open);
    connect(table_, &QTableView::activated, this,
            [this](const QModelIndex& index) { open(class_, int(model_->row(index.row()).spec)); });
    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins({});
    column->setSpacing(Theme::kGap);
    column->addWidget(plotsCard_, 7);
    column->addWidget(tableCard_, 2);
    return side;
}

} // namespace qs::gui
