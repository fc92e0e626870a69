// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_guide.h"

#include "app/gui/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

constexpr int kReadable = 560; ///< px of a line of text

QLabel* guideText(const QString& text, int px, const char* role) {
    auto* label = new QLabel(text);
    label->setFont(Theme::words(px));
    label->setProperty("role", QLatin1String(role));
    label->setWordWrap(true);
    label->setMaximumWidth(kReadable);
    return label;
}

} // namespace

EvidenceGuide::EvidenceGuide(QWidget* parent)
    : QWidget(parent), title_(guideText({}, 18, "")), what_(guideText({}, 13, "muted")),
      sample_(new QPushButton(tr("Use the sample's held-out text"))), text_(new QPushButton(tr("Choose a text…"))),
      tokens_(new QPushButton(tr("Choose token ids…"))) {
    auto* column = new QVBoxLayout;
    column->setSpacing(Theme::kGap);
    title_->setFont(Theme::words(18, QFont::DemiBold));
    column->addWidget(title_);
    column->addWidget(what_);
    setEncoder(false);
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
        steps->addWidget(mark, number, 0);
        steps->addWidget(guideText(line, 13, ""), number, 1);
        ++number;
    }
    column->addLayout(steps);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(Theme::kSpace);
    sample_->setObjectName(QStringLiteral("evidenceSample"));
    sample_->setProperty("role", QStringLiteral("primary"));
    sample_->setToolTip(tr("Evaluates the ticked specs on the text that ships with the sample"));
    text_->setObjectName(QStringLiteral("evidenceGuideText"));
    tokens_->setObjectName(QStringLiteral("evidenceGuideTokens"));
    for (auto* button : {sample_, text_, tokens_}) buttons->addWidget(button);
    buttons->addStretch(1);
    column->addSpacing(Theme::kSpace);
    column->addLayout(buttons);
    connect(sample_, &QPushButton::clicked, this, &EvidenceGuide::sampleTextAsked);
    connect(text_, &QPushButton::clicked, this, [this] { Q_EMIT textAsked(false); });
    connect(tokens_, &QPushButton::clicked, this, [this] { Q_EMIT textAsked(true); });
    auto* centred = new QGridLayout(this);
    centred->addLayout(column, 1, 1);
    for (const int side : {0, 2}) centred->setColumnStretch(side, 1);
    centred->setRowStretch(0, 1);
    centred->setRowStretch(2, 2);
}

void EvidenceGuide::setSampleText(bool there) { sample_->setVisible(there); }
void EvidenceGuide::setEncoder(bool isEncoder) {
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
