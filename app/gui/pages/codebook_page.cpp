// SPDX-License-Identifier: GPL-3.0-or-later
// The codebook of the current format on the selected tensor: where the levels stand, how often each is used.
#include "app/gui/page.h"
#include "app/gui/pages/codebook_page_cards.h"
#include "app/gui/pages/tensor_page_cards.h"
#include "app/gui/pages/tensor_page_header.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/staged_refresh.h"

#include <QGridLayout>
#include <QStackedLayout>

namespace qs::gui {
namespace {

class CodebookPage : public QWidget {
public:
    CodebookPage(Session& session, QWidget* parent);

protected:
    void showEvent(QShowEvent*) override { stages_->setActive(true); }
    void hideEvent(QHideEvent*) override { stages_->setActive(false); }

private:
    void addStages();
    void showState();
    void showCode(int code);

    Session& session_;
    QStackedLayout* stack_;
    EmptyState* empty_;
    TensorHeader* header_;
    LevelsCard* levels_;
    OccupancyCard* occupancy_;
    CodeTableCard* table_;
    DecodeCard* decode_;
    StagedRefresh* stages_;
    /// Of the current analysis; worked out once, whichever stage comes first.
    const CodebookView& view();
    AnalysisRow viewed_;
    CodebookView view_;
};

CodebookPage::CodebookPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), stack_(new QStackedLayout(this)), empty_(new EmptyState(session)),
      header_(new TensorHeader), levels_(new LevelsCard), occupancy_(new OccupancyCard), table_(new CodeTableCard),
      decode_(new DecodeCard), stages_(new StagedRefresh(this)) {
    setObjectName(QStringLiteral("codebook"));
    setAccessibleName(tr("Codebook"));
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kGap);
    grid->setSpacing(Theme::kGap);
    header_->setFixedHeight(32);
    grid->addWidget(header_, 0, 0, 1, 2);
    grid->addWidget(levels_, 1, 0);
    grid->addWidget(occupancy_, 2, 0);
    grid->addWidget(table_, 1, 1);
    grid->addWidget(decode_, 2, 1);
    for (const int line : {1, 2}) grid->setRowStretch(line, 1);
    for (const int column : {0, 1}) grid->setColumnStretch(column, 1);
    for (Card* card : std::initializer_list<Card*>{levels_, occupancy_, table_, decode_})
        card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    stack_->addWidget(empty_);
    stack_->addWidget(content);
    addStages();

    connect(&session_, &Session::modelChanged, this, [this] {
        showState();
        stages_->askAll();
    });
    connect(&session_, &Session::tensorChanged, this, [this] {
        showState();
        stages_->askAll();
    });
    connect(&session_, &Session::currentChanged, stages_, &StagedRefresh::askAll);
    connect(occupancy_, &OccupancyCard::codeHovered, this, &CodebookPage::showCode);
    connect(table_, &CodeTableCard::codeSelected, this, &CodebookPage::showCode);
    showState();
    stages_->askAll();
}

const CodebookView& CodebookPage::view() {
    const AnalysisRow row = session_.current();
    if (row == viewed_) return view_;
    viewed_ = row;
    view_ = drawable(row) ? codebookView(*row) : CodebookView{};
    return view_;
}

void CodebookPage::addStages() {
    stages_->add([this] {
        const AnalysisRow row = session_.current();
        header_->setTensor(session_.tensor(), row, row && row->statistics ? &*row->statistics : nullptr);
        QString reason = blockedReason(row);
        if (reason.isEmpty() && row->spec.traits().levels.empty())
            reason = tr("%1 has no codebook: it stores the values themselves.")
                         .arg(QString::fromUtf8(row->spec.traits().title));
        for (Card* card : std::initializer_list<Card*>{levels_, occupancy_, table_, decode_}) {
            if (card != decode_ || !reason.isEmpty()) card->setMessage(reason); // it knows best when it is empty
            if (!reason.isEmpty()) card->setNote({});
        }
        if (!view().rows.empty()) levels_->setCodebook(row, view());
    });
    stages_->add([this] {
        if (!view().rows.empty()) occupancy_->setCodebook(view());
    });
    stages_->add([this] {
        if (!view().rows.empty()) table_->setCodebook(view());
    });
    stages_->add([this] {
        if (!view().rows.empty()) decode_->setCodebook(session_.model(), session_.tensor(), session_.current(), view());
    });
}

void CodebookPage::showState() {
    if (!session_.model())
        empty_->setState(tr("No model is open."), tr("Open a checkpoint"), QStringLiteral("start"));
    else
        empty_->setState(tr("No tensor is selected: pick one in the browser."), tr("Show the whole model"),
                         QStringLiteral("overview"));
    stack_->setCurrentIndex(session_.model() && session_.tensor() ? 1 : 0);
}

void CodebookPage::showCode(int code) {
    levels_->showCode(code);
    occupancy_->showCode(code);
    decode_->showCode(code);
    table_->showCode(code);
}

} // namespace

QWidget* createCodebookPage(Session& session, QWidget* parent) { return new CodebookPage(session, parent); }

} // namespace qs::gui
