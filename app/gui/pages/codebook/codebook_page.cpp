// SPDX-License-Identifier: GPL-3.0-or-later
// The codebook page: the levels of the current format on the selected tensor, and how often each is used.
#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/pages/codebook/codebook_gap_card.h"
#include "app/gui/pages/codebook/codebook_lab.h"
#include "app/gui/pages/codebook/codebook_page_cards.h"
#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "app/gui/pages/tensor/tensor_page_header.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/task.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/open_dialogs.h"
#include "app/gui/widgets/staged_refresh.h"
#include "core/base/text.h"
#include "core/solve/codebooks.h"

#include <QGridLayout>
#include <QScrollArea>
#include <QStackedLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace qs::gui {
namespace {

// pixels; the first is exact, the others are minimums
constexpr int kGapHeight = 254, kCardHeight = 176, kDecodeHeight = 190;

/// Adds the results of the lab for each code, and the moved levels.
void applyLab(CodebookView& view, const CodebookLab& lab) {
    if (!lab.ready() || lab.fit().levels.size() != view.rows.size()) return;
    const CodebookFit& fit = lab.fit();
    double all = 0;
    for (const CodebookRow& row : view.rows) all += double(row.count);
    for (std::size_t code = 0; code < view.rows.size(); ++code) {
        CodebookRow& row = view.rows[code];
        row.errorShare = fit.mse > 0 ? fit.error[code] / fit.mse : 0;
        if (!lab.edited()) continue;
        row.level = fit.levels[code];
        row.lower = code == 0 ? row.lower : fit.boundaries[code - 1];
        row.upper = code + 1 == view.rows.size() ? row.upper : fit.boundaries[code];
        row.share = fit.share[code];
        row.count = std::uint64_t(std::llround(row.share * all));
    }
    if (!lab.edited()) return;
    view.entropyBits = fit.entropyBits, view.deadCodes = fit.dead;
    view.hasPoly = false; // the polynomial gives the format's own levels only
}

class CodebookPage : public PageInParts {
public:
    CodebookPage(Session& session, QWidget* parent);

protected:
    void showEvent(QShowEvent* event) override {
        PageInParts::showEvent(event);
        stages_->setActive(true);
    }
    void hideEvent(QHideEvent*) override { stages_->setActive(false); }

private:
    void addStages();
    void listen();
    void showState();
    void showCode(int code);

    Session& session_;
    CodebookLab lab_;
    QStackedLayout* stack_;
    EmptyState* empty_;
    TensorHeader* header_;
    LevelsCard* levels_ = nullptr;
    OccupancyCard* occupancy_ = nullptr;
    CodeTableCard* table_ = nullptr;
    GapCard* gap_ = nullptr;
    DecodeCard* decode_ = nullptr;
    QVBoxLayout* right_;
    StagedRefresh* stages_;
    void showLab();
    void useSaved(const QString& id);
    void learnFor(const QString& share);
    void chooseWeights();
    Task learning_;
    std::shared_ptr<const Model> weights_; ///< inputs or column weights; null: all columns have equal weight
    /// The current analysis with the levels of the lab; computed once, by the first stage that needs it.
    const CodebookView& view();
    AnalysisRow viewed_;
    CodebookView view_;
};

CodebookPage::CodebookPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), lab_(this), stack_(new QStackedLayout(this)),
      empty_(new EmptyState(session)), header_(new TensorHeader), right_(new QVBoxLayout),
      stages_(new StagedRefresh(this)), learning_(&session.tasks()) {
    setAccessibleName(tr("Codebook"));
    auto* content = new QWidget;
    auto* grid = spaced(new QGridLayout(content), Theme::kGap, Theme::kPageMargins);
    header_->setFixedHeight(Theme::kControl);
    grid->addWidget(header_, 0, 0, 1, 2);
    auto* left = new QVBoxLayout;
    const auto place = [](QVBoxLayout* column, Card* card, int stretch) {
        card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
        card->setMinimumHeight(stretch == 2 ? kDecodeHeight : kCardHeight);
        column->addWidget(card, stretch);
    };
    addPart([this, left, place] {
        place(left, levels_ = new LevelsCard, 1);
        place(left, occupancy_ = new OccupancyCard, 1);
    });
    addPart([this] {
        gap_ = new GapCard(lab_);
        gap_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
        gap_->setFixedHeight(kGapHeight);
        right_->addWidget(gap_);
    });
    addPart([this, place] {
        place(right_, table_ = new CodeTableCard, 3);
        place(right_, decode_ = new DecodeCard, 2);
    });
    addPart([this] { listen(); });
    for (QVBoxLayout* column : {left, right_}) column->setSpacing(Theme::kGap);
    grid->addLayout(left, 1, 0);
    grid->addLayout(right_, 1, 1);
    grid->setRowStretch(1, 1);
    for (const int column : {0, 1}) grid->setColumnStretch(column, 1);
    stack_->addWidget(empty_);
    content->setMinimumHeight(Theme::kControl + kGapHeight + kCardHeight + kDecodeHeight + 4 * Theme::kGap +
                              Theme::kMargin);
    auto* scroll = new QScrollArea; // scrolls in a low window
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(content);
    stack_->addWidget(scroll);
}

void CodebookPage::listen() {
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
    connect(levels_, &LevelsCard::levelMoved, this, [this](int code, double level) {
        gap_->showCode(code);
        lab_.moveLevel(code, level);
    });
    connect(&lab_, &CodebookLab::changed, this, &CodebookPage::showLab);
    // undone together with other changes
    connect(&lab_, &CodebookLab::levelsEdited, &session_, &Session::setMovedLevels);
    connect(&session_, &Session::movedLevelsChanged, this, [this] { lab_.setMoved(session_.movedLevels()); });
    lab_.setMoved(session_.movedLevels());
    connect(gap_, &GapCard::saved, this, &CodebookPage::useSaved);
    connect(occupancy_, &OccupancyCard::codeHovered, this, &CodebookPage::showCode);
    connect(table_, &CodeTableCard::codeSelected, this, &CodebookPage::showCode);
    connect(gap_, &GapCard::learnAsked, this, &CodebookPage::learnFor);
    connect(gap_, &GapCard::weightsAsked, this, &CodebookPage::chooseWeights);
    connect(&learning_, &Task::cancelled, this, [this] { gap_->say(tr("Cancelled.")); });
    connect(&learning_, &Task::failed, this, [this](const QString& why) { gap_->say(tr("Not learned: %1").arg(why)); });
    showState();
    stages_->askAll();
}

/// Learns from all values of the tensor, of the tensors with its role, or of the model.
void CodebookPage::learnFor(const QString& share) {
    const auto spec = lab_.learnable();
    const TensorInfo* chosen = session_.tensor();
    if (!spec || !chosen) return;
    using Answer = std::shared_ptr<const LearnedLevels>;
    const auto work = [model = session_.model(), chosen, spec = *spec, weights = weights_,
                       share = share.toStdString()](const Job& job) -> Result<Answer> {
        const auto of = std::find_if(solve::shares().begin(), solve::shares().end(),
                                     [&](const auto& row) { return share == row.id; });
        std::vector<const TensorInfo*> tensors;
        for (const TensorInfo& tensor : model->tensors) {
            const bool sameRole = placeOf(tensor.name).role == placeOf(chosen->name).role;
            const bool taken = of->share == solve::Share::Tensor ? &tensor == chosen
                               : of->share == solve::Share::Role ? sameRole && tensor.isWeight()
                                                                 : tensor.isWeight();
            if (taken || &tensor == chosen) tensors.push_back(&tensor);
        }
        auto books = solve::learnCodebooks(*model, tensors, spec, of->share, weights.get(), job);
        if (!books) return tl::unexpected(books.error());
        const auto found = books->find(chosen);
        if (found == books->end()) return fail("the codebook cannot be applied to a tensor of this shape");
        return found->second;
    };
    QString how;
    for (const auto& row : solve::shares())
        if (share == QLatin1String(row.id)) how = tr(row.title);
    if (weights_)
        how = tr("%1, columns weighed by %2; counted alike")
                  .arg(how, QString::fromStdString(escapeForPeople(weights_->title, 40)));
    gap_->say(tr("Learning…"));
    learning_.run(tr("Learning a codebook").toStdString(), work, [this, chosen, how](const Answer& levels) {
        if (session_.tensor() != chosen) return;
        const auto used = lab_.useLevels(levels->levels, how);
        if (!used) gap_->say(tr("Not learned: %1").arg(errorSentence(used.error())));
    });
}

void CodebookPage::chooseWeights() {
    const auto set = [this](std::shared_ptr<const Model> file) {
        weights_ = std::move(file);
        gap_->setWeights(weights_ ? QString::fromStdString(escapeForPeople(weights_->title, 40)) : QString());
    };
    if (weights_) return set(nullptr);
    set(nullptr); // without a file the menu has no check mark
    const auto open = [this, set](const QString& path) {
        if (path.isEmpty()) return;
        using File = std::shared_ptr<const Model>;
        readsBeside(session_, path, tr("weights of the codebook"));
        Task::once(
            this, [path = path.toStdString()](const Job&) { return openModel(path); },
            [this, set](Result<File> file) {
                set(file ? *file : nullptr);
                if (!file) gap_->say(errorSentence(file.error()));
            });
    };
    askForInputs(this, tr("Open activations, column weights or an importance matrix"), open);
}

const CodebookView& CodebookPage::view() {
    const AnalysisRow row = session_.current();
    if (row == viewed_) return view_;
    viewed_ = row;
    view_ = drawable(row) ? codebookView(*row) : CodebookView{};
    lab_.setRow(drawable(row) ? row : AnalysisRow());
    applyLab(view_, lab_);
    return view_;
}

void CodebookPage::showLab() {
    const AnalysisRow row = session_.current();
    if (!drawable(row) || row != lab_.row()) return;
    viewed_ = row;
    view_ = codebookView(*row);
    applyLab(view_, lab_);
    if (view_.rows.empty()) return;
    levels_->setCodebook(row, view_, lab_.ready());
    occupancy_->setCodebook(view_);
    table_->setCodebook(view_);
}

/// Sets the saved format, which has the same levels, with the current scales.
void CodebookPage::useSaved(const QString& id) {
    QuantSpec spec = session_.spec();
    spec.format = id.toStdString();
    for (auto clear : {&QuantSpec::dialect, &QuantSpec::scaleType}) (spec.*clear).reset();
    spec.decode.reset(), spec.compute.reset(), spec.bits.reset(), spec.symmetric.reset(), spec.stochastic.reset();
    if (validate(spec)) session_.setSpec(spec, {}); // the moved levels are now those of the format
}

void CodebookPage::addStages() {
    stages_->add([this] {
        const AnalysisRow row = session_.current();
        header_->showTensor(session_);
        QString reason = blockedReason(row);
        if (reason.isEmpty() && row->levels.empty())
            reason = tr("%1 has no codebook: it stores the values themselves.")
                         .arg(QString::fromUtf8(row->spec.traits().title));
        gap_->setMessage(reason);
        for (Card* card : std::initializer_list<Card*>{levels_, occupancy_, table_, decode_}) {
            // this card knows itself when it is empty
            if (card != decode_ || !reason.isEmpty()) card->setMessage(reason);
            if (!reason.isEmpty()) card->setNote({});
        }
        if (!view().rows.empty()) levels_->setCodebook(row, view(), lab_.ready());
    });
    stages_->add([this] {
        if (!view().rows.empty()) occupancy_->setCodebook(view());
    });
    stages_->add([this] {
        if (!view().rows.empty()) table_->setCodebook(view());
    });
    stages_->add([this] {
        decode_->setVisible(view().rows.empty() || !session_.current()->spec.traits().polyLevels.empty());
        if (!view().rows.empty())
            decode_->setCodebook(session_.model(), session_.tensor(), session_.current(), codebookView(*viewed_));
    });
}

void CodebookPage::showState() {
    if (!session_.model())
        empty_->askForModel();
    else
        empty_->askForTensor();
    stack_->setCurrentIndex(session_.model() && session_.tensor() ? 1 : 0);
}

void CodebookPage::showCode(int code) {
    levels_->showCode(code);
    occupancy_->showCode(code);
    decode_->showCode(code);
    table_->showCode(code);
    if (code >= 0) gap_->showCode(code);
}

} // namespace

QWidget* createCodebookPage(Session& session, QWidget* parent) { return new CodebookPage(session, parent); }

} // namespace qs::gui
