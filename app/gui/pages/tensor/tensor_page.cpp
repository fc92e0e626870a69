// SPDX-License-Identifier: GPL-3.0-or-later
// The tensor page: one tensor under the current spec, updated live.
#include "app/gui/page.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/pages/tensor/tensor_page_block.h"
#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "app/gui/pages/tensor/tensor_page_header.h"
#include "app/gui/pages/tensor/tensor_page_map.h"
#include "app/gui/pages/tensor/tensor_page_strip.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/staged_refresh.h"

#include <QGridLayout>
#include <QScrollArea>
#include <QStackedLayout>
#include <QTimer>

namespace qs::gui {
namespace {

// A step of the block slider takes a few milliseconds: dimming earlier would only flicker.
constexpr int kDimAfterMs = 150;

class TensorPage : public PageInParts {
public:
    TensorPage(Session& session, QWidget* parent);

protected:
    void showEvent(QShowEvent* event) override {
        PageInParts::showEvent(event);
        stages_->setActive(true);
    }
    void hideEvent(QHideEvent*) override { stages_->setActive(false); }

private:
    QWidget* makeInspector();
    void connectSession();
    void connectCards();
    void showState();
    void setLoading(bool loading);

    Session& session_;
    QStackedLayout* stack_;
    EmptyState* empty_;
    TensorHeader* header_ = nullptr;
    DensityCard* density_ = nullptr;
    ErrorCard* error_ = nullptr;
    BlockMapCard* map_ = nullptr;
    BlockCard* block_ = nullptr;
    ChannelCard* channels_ = nullptr;
    SensitivityStrip* strip_ = nullptr;
    StagedRefresh* stages_;
    QTimer dim_;
    bool comparing_ = false;
};

TensorPage::TensorPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), stack_(new QStackedLayout(this)), empty_(new EmptyState(session)),
      stages_(new StagedRefresh(this)) {
    setAccessibleName(tr("Tensor inspector"));
    stack_->addWidget(empty_);
    stack_->addWidget(makeInspector());
    addPart([this] {
        connectSession();
        connectCards();
        dim_.setSingleShot(true);
        dim_.setInterval(kDimAfterMs);
        connect(&dim_, &QTimer::timeout, this, [this] { setLoading(true); });
        showState();
        stages_->askAll();
    });
}

QWidget* TensorPage::makeInspector() {
    auto* content = new QWidget;
    auto* grid = spaced(new QGridLayout(content), Theme::kGap, Theme::kPageMargins);
    const auto place = [grid](Card* card, int row, int column) {
        // cards in the grid have equal sizes for any content
        card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
        grid->addWidget(card, row, column);
    };
    addPart([this, grid, place] {
        header_ = new TensorHeader;
        header_->setFixedHeight(Theme::kControl);
        grid->addWidget(header_, 0, 0, 1, 2);
        place(density_ = new DensityCard, 1, 0);
        place(error_ = new ErrorCard, 1, 1);
    });
    addPart([this, place] {
        place(map_ = new BlockMapCard, 2, 0);
        place(block_ = new BlockCard, 2, 1);
    });
    addPart([this, place] {
        place(channels_ = new ChannelCard, 3, 0);
        place(strip_ = new SensitivityStrip(session_), 3, 1);
    });
    for (int column = 0; column < 2; ++column) {
        grid->setColumnStretch(column, 1);
        grid->setColumnMinimumWidth(column, 320);
    }
    for (int row = 1; row <= 3; ++row) {
        grid->setRowStretch(row, 1);
        grid->setRowMinimumHeight(row, row == 3 ? 220 : 196); // the last row has two charts
    }
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(content);
    return scroll;
}

void TensorPage::connectSession() {
    // One stage per turn of the event loop, in this order, so that no turn draws more than two charts.
    const int head = stages_->add([this] { header_->showTensor(session_); });
    stages_->add(
        [this] { density_->setRows(session_.current(), session_.comparing() ? session_.currentB() : nullptr); });
    stages_->add([this] { error_->setRows(session_.current(), session_.comparing() ? session_.currentB() : nullptr); });
    stages_->add([this] {
        map_->setRow(session_.current());
        block_->setRow(session_.model(), session_.tensor(), session_.current());
    });
    stages_->add(
        [this] { channels_->setRows(session_.current(), session_.comparing() ? session_.currentB() : nullptr); });
    const int strip = stages_->add([this] { strip_->refresh(); });

    connect(&session_, &Session::modelChanged, this, [this] {
        showState();
        stages_->askAll();
    });
    connect(&session_, &Session::tensorChanged, this, [this] {
        showState();
        strip_->showTensor();
        stages_->askAll();
    });
    connect(&session_, &Session::specChanged, this, [this, strip] {
        stages_->ask(strip);
        if (std::exchange(comparing_, session_.comparing()) != session_.comparing()) stages_->askAll();
    });
    connect(&session_, &Session::rowsChanged, this, [this, head, strip] {
        stages_->ask(head);
        stages_->ask(strip);
    });
    connect(&session_, &Session::recipeChanged, this, [this, head, strip] {
        stages_->ask(head);
        stages_->ask(strip);
    });
    connect(&session_, &Session::metricChanged, this, [this, strip] { stages_->ask(strip); });
    connect(&session_, &Session::currentStarted, this, [this] {
        if (!dim_.isActive()) dim_.start();
    });
    connect(&session_, &Session::currentChanged, this, [this, strip] {
        if (!session_.currentIsStale()) {
            dim_.stop();
            setLoading(false);
        }
        for (int stage = 0; stage < strip; ++stage) stages_->ask(stage);
    });
}

void TensorPage::connectCards() {
    connect(map_, &BlockMapCard::picked, block_, &BlockCard::pick);
    connect(block_, &BlockCard::blockShown, map_, &BlockMapCard::showBlock);
    connect(map_, &BlockMapCard::rowHovered, channels_, &ChannelCard::showRow);
    connect(channels_, &ChannelCard::rowsClicked, this, [this](qint64 row, qint64 rowEnd) {
        const AnalysisRow current = session_.current();
        if (!drawable(current)) return;
        const BlockMap& map = current->blockMap();
        block_->pick({row, std::min<std::int64_t>(rowEnd, map.tensorRows), 0, map.blocksPerRow});
    });
}

void TensorPage::showState() {
    if (!session_.model())
        empty_->askForModel();
    else if (session_.weights().empty())
        empty_->setState(tr("This file has no float tensor of rank 2 or more."), tr("Open another one"), kStartPage);
    else if (!session_.tensor())
        empty_->askForTensor();
    stack_->setCurrentIndex(session_.model() && session_.tensor() ? 1 : 0);
}

void TensorPage::setLoading(bool loading) {
    for (Card* card : std::initializer_list<Card*>{density_, error_, map_, block_, channels_})
        card->setLoading(loading);
}

} // namespace

QWidget* createTensorPage(Session& session, QWidget* parent) { return new TensorPage(session, parent); }

} // namespace qs::gui
