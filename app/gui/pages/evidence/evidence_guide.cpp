// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_guide.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/sketch.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

constexpr int kReadable = 720; ///< px of a line of text
constexpr int kRoomy = 700;    ///< px of height from which there is room for all sketches

QLabel* guideText(const QString& text, int px, const char* role) {
    auto* label = dressed(new QLabel(text), Theme::words(px), role);
    label->setWordWrap(true);
    label->setMaximumWidth(kReadable);
    return label;
}

Card* sketched(const QString& title, const QString& sentence, Sketch::Kind kind, const QStringList& words) {
    auto* card = new Card(title);
    card->setSketch(new Sketch(kind, words));
    card->setEmpty(sentence);
    card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    return card;
}

QGridLayout* sketchGrid(QWidget* parent) {
    auto* grid = spaced(new QGridLayout(parent), Theme::kGap);
    for (const int side : {0, 1}) grid->setColumnStretch(side, 1);
    for (const int row : {0, 1, 2}) grid->setRowStretch(row, 1);
    return grid;
}

} // namespace

EvidenceGuide::EvidenceGuide(QWidget* parent)
    : QWidget(parent), title_(guideText({}, 18, "")), what_(guideText({}, 13, "muted")),
      sample_(new QPushButton(tr("Use the sample's held-out text"))), text_(new QPushButton(tr("Choose a text…"))),
      tokens_(new QPushButton(tr("Choose token ids…"))) {
    auto* column = spaced(new QVBoxLayout(this), Theme::kMargin);
    column->addWidget(explanation());
    column->addWidget(sketches(), 1);
    setEncoder(false);
}

/// What is compared and the first buttons at the left; the steps at the right.
QWidget* EvidenceGuide::explanation() {
    auto* both = new QWidget;
    auto* row = spaced(new QHBoxLayout(both), 2 * Theme::kMargin, {Theme::kMargin, Theme::kSpace, Theme::kMargin, 0});
    auto* column = spaced(new QVBoxLayout, Theme::kSpace);
    title_->setFont(Theme::words(18, QFont::DemiBold));
    addWidgets(*column, {title_, what_});
    auto* buttons = spaced(new QHBoxLayout, Theme::kSpace);
    sample_->setObjectName(QStringLiteral("evidenceSample"));
    sample_->setProperty("role", QStringLiteral("primary"));
    sample_->setToolTip(tr("Evaluates the ticked specs on the text that ships with the sample"));
    text_->setObjectName(QStringLiteral("evidenceGuideText"));
    tokens_->setObjectName(QStringLiteral("evidenceGuideTokens"));
    for (auto* button : {sample_, text_, tokens_}) buttons->addWidget(button);
    buttons->addStretch(1);
    column->addSpacing(4);
    column->addLayout(buttons);
    column->addStretch(1);
    auto* steps = new QGridLayout;
    steps->setHorizontalSpacing(Theme::kGap);
    steps->setVerticalSpacing(Theme::kSpace);
    steps->setColumnStretch(1, 1);
    const QString lines[] = {tr("Choose a text that the model was not trained on."),
                             tr("Tick the specs to compare, on the left."),
                             tr("Press Evaluate. Figures appear while the text is read; Esc stops.")};
    int number = 0;
    for (const QString& line : lines) {
        auto* mark = guideText(QString::number(number + 1), 13, "accent");
        mark->setFont(Theme::numbers(13));
        mark->setWordWrap(false);
        mark->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
        steps->addWidget(mark, number, 0);
        steps->addWidget(guideText(line, 13, ""), number, 1);
        ++number;
    }
    steps->setRowStretch(number, 1);
    row->addLayout(column, 1);
    row->addLayout(steps, 1);
    connect(sample_, &QPushButton::clicked, this, &EvidenceGuide::sampleTextAsked);
    connect(text_, &QPushButton::clicked, this, [this] { Q_EMIT textAsked(false); });
    connect(tokens_, &QPushButton::clicked, this, [this] { Q_EMIT textAsked(true); });
    return both;
}

/// The cards of an evaluation, in the places that they will have.
QWidget* EvidenceGuide::sketches() {
    ofTokens_ = new QWidget;
    auto* grid = sketchGrid(ofTokens_);
    figures_ = sketched(tr("Effect on the output"), tr("A line for each spec, with the spread of its figures."),
                        Sketch::Kind::Table,
                        {tr("Spec"), tr("Mean KL"), tr("99 % of tokens below"), tr("Largest KL"), tr("Same top"),
                         tr("Perplexity"), tr("Change")});
    grid->addWidget(figures_, 0, 0, 1, 2);
    grid->addWidget(sketched(tr("Mean KL so far"), tr("Whether the text is long enough: the lines become level."),
                             Sketch::Kind::Curves, {tr("scored tokens"), tr("mean KL, nats")}),
                    1, 0);
    grid->addWidget(sketched(tr("KL per token"), tr("Many tokens that change a little, or a few that break."),
                             Sketch::Kind::Histogram, {tr("KL of a token, nats"), tr("tokens, %")}),
                    1, 1);
    grid->addWidget(sketched(tr("KL against position"), tr("Whether the effect grows with the length of the text."),
                             Sketch::Kind::Curves, {tr("position in the chunk, tokens"), tr("mean KL, nats")}),
                    2, 0);
    grid->addWidget(sketched(tr("Worst tokens in their text"), tr("The words at which the predictions differ most."),
                             Sketch::Kind::Text, {}),
                    2, 1);
    ofEmbeddings_ = new QWidget;
    auto* of = sketchGrid(ofEmbeddings_);
    of->addWidget(sketched(tr("Effect on the embeddings"), tr("A line for each spec, with the spread of its figures."),
                           Sketch::Kind::Table, {tr("Spec"), tr("Mean cosine"), tr("Least cosine")}),
                  0, 0, 1, 2);
    of->addWidget(sketched(tr("Cosine of each chunk"), tr("Which parts of the text change most."),
                           Sketch::Kind::Frontier, {tr("chunk"), tr("cosine")}),
                  1, 0);
    of->addWidget(sketched(tr("Chunks up to a cosine"), tr("How many chunks stay close."), Sketch::Kind::Curves,
                           {tr("cosine"), tr("chunks, %")}),
                  1, 1);
    auto* both = new QWidget;
    auto* column = spaced(new QVBoxLayout(both), 0);
    addWidgets(*column, {ofTokens_, ofEmbeddings_});
    return both;
}

void EvidenceGuide::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool isRoomy = height() >= kRoomy;
    figures_->setVisible(isRoomy);
    static_cast<QGridLayout*>(ofTokens_->layout())->setRowStretch(0, isRoomy); // an empty row that stretches is a gap
}

void EvidenceGuide::setSampleText(bool there) { sample_->setVisible(there); }

void EvidenceGuide::setEncoder(bool isEncoder) {
    ofTokens_->setVisible(!isEncoder);
    ofEmbeddings_->setVisible(isEncoder);
    title_->setText(isEncoder ? tr("What does quantization do to the model's embeddings?")
                              : tr("What does quantization do to the model's answers?"));
    what_->setText(
        isEncoder
            ? tr("The model reads a text with its stored weights and with quantized ones. The embedding of a chunk is "
                 "the mean of its tokens' last hidden states. The cosine of the two embeddings says how far they "
                 "point in the same direction: 1 is equal.")
            : tr("The model reads a text with its stored weights and with quantized ones. At each token its two "
                 "predictions of the next token are compared: KL says how far they are apart. 0 is equal."));
}
void EvidenceGuide::allowTexts(bool allowed) { text_->setEnabled(allowed); }

} // namespace qs::gui
