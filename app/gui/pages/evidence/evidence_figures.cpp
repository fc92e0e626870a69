// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_figures.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "core/base/text.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

QString digits(double value, int count) { return QString::fromStdString(significantText(value, count)); }
QString percent(double share, int decimals) {
    return QString::fromStdString(fixedText(100 * share, decimals)) + QStringLiteral(" %");
}

} // namespace

EvidenceFigures::EvidenceFigures(Of of, QWidget* parent) : QWidget(parent) {
    auto* row = spaced(new QHBoxLayout(this), 24);
    struct Title {
        const char *id, *column; ///< column: that of the table with the same figure, which says what it is
        QString text;
    };
    const std::vector<Title> ofTokens = {{"kld", "kl_mean", tr("Mean KL, nats ↓")},
                                         {"top", "top1", tr("Same top token ↑")},
                                         {"ppl", "ppl", tr("Perplexity ↓")},
                                         {"p99", "kl_p99", tr("p99 KL, nats ↓")},
                                         {"max", "kl_max", tr("Max KL, nats ↓")}};
    const std::vector<Title> ofEmbeddings = {{"cosine", "mean_cosine", tr("Mean cosine ↑")},
                                             {"median", "median_cosine", tr("Median cosine ↑")},
                                             {"p10", "cosine_10", tr("p10 cosine ↑")},
                                             {"p1", "cosine_1", tr("p1 cosine ↑")},
                                             {"least", "min_cosine", tr("Least cosine ↑")}};
    const auto tipOf = [](const auto& columns, const char* id) {
        return QString::fromStdString(columns[columns.indexOf(id)].tip);
    };
    for (const auto& [id, figure, title] : of == Of::Tokens ? ofTokens : ofEmbeddings) {
        auto* column = spaced(new QVBoxLayout, 0);
        auto* caption = dressed(new QLabel(title), Theme::words(10), "caption");
        caption->setToolTip(of == Of::Tokens ? tipOf(eval::evaluationColumns(), figure)
                                             : tipOf(eval::embeddingColumns(), figure));
        auto* value = dressed(new QLabel, Theme::numbers(18));
        value->setObjectName(QStringLiteral("evidence-") + QLatin1String(id));
        auto* note = dressed(new QLabel, Theme::numbers(10), "muted");
        note->setMinimumHeight(note->fontMetrics().height());
        for (auto* label : {caption, value, note}) column->addWidget(label);
        row->addLayout(column);
        figures_.push_back({id, value, note});
    }
    row->addStretch(1);
    clear({});
}

void EvidenceFigures::say(const char* id, const QString& value, const QString& note, const QString& tip) {
    for (const Figure& figure : figures_) {
        if (std::string_view(figure.id) != id) continue;
        figure.value->setText(value);
        figure.note->setText(note);
        for (auto* label : {figure.value, figure.note}) label->setToolTip(tip);
        return;
    }
}

QString EvidenceFigures::text(const char* id) const {
    for (const Figure& figure : figures_)
        if (std::string_view(figure.id) == id) return figure.value->text();
    return {};
}

void EvidenceFigures::setSummary(const eval::ScoreSummary& summary) {
    const auto& kl = summary.divergence;
    QString errors;
    if (kl.byChunk) errors = tr("± %1 by chunk").arg(digits(*kl.byChunk, 2));
    if (kl.independent) errors += tr("  ± %1 by token").arg(digits(*kl.independent, 2));
    say("kld", digits(kl.mean, 4), errors,
        tr("The error by chunk treats chunks as independent: compare with it. The error by token, which llama.cpp "
           "prints, is too small, because neighbouring tokens are alike."));
    say("top", percent(summary.sameTop.mean, 2),
        summary.sameTop.byChunk ? tr("± %1 by chunk").arg(percent(*summary.sameTop.byChunk, 2)) : QString());
    say("ppl", digits(summary.perplexity, 5), tr("reference %1").arg(digits(summary.referencePerplexity, 5)));
    say("p99", digits(summary.divergence99, 3), tr("median %1").arg(digits(summary.medianDivergence, 3)));
    say("max", digits(summary.largestDivergence, 3), tr("p99.9 %1").arg(digits(summary.divergence999, 3)));
}

void EvidenceFigures::setSummary(const eval::EmbeddingSummary& summary) {
    const auto& mean = summary.cosine;
    say("cosine", digits(mean.mean, 6), mean.byChunk ? tr("± %1 by chunk").arg(digits(*mean.byChunk, 2)) : QString(),
        tr("Mean over chunks of the cosine of the embedding with that of the reference. 1 is equal."));
    say("median", digits(summary.median, 6), {});
    say("p10", digits(summary.percentile10, 6), tr("10 % of the chunks are below"));
    say("p1", digits(summary.percentile1, 6), tr("1 % of the chunks is below"));
    say("least", digits(summary.least, 6), tr("of %1 chunks").arg(summary.chunks));
}

void EvidenceFigures::setSoFar(const eval::ScoreProfile& profile) {
    clear(tr("known when all tokens are scored"));
    if (profile.running.empty()) return;
    const auto& kl = profile.running.back().divergence;
    say("kld", digits(kl.mean, 4), kl.byChunk ? tr("± %1 by chunk, so far").arg(digits(*kl.byChunk, 2)) : tr("so far"));
    if (!profile.worst.empty()) say("max", digits(profile.worst.front().divergence, 3), tr("so far"));
}

void EvidenceFigures::clear(const QString& why) {
    for (const Figure& figure : figures_) say(figure.id, QStringLiteral("–"), {}, why);
}

void putFiguresOverTable(Card& card, EvidenceFigures& figures, QTableView& table, QAbstractItemModel& rows) {
    table.setModel(&rows);
    table.setSelectionMode(QAbstractItemView::SingleSelection);
    table.setProperty("roomy", true); // many numbers side by side
    fillWidth(table, 96);
    auto* body = new QWidget;
    auto* column = spaced(new QVBoxLayout(body), Theme::kSpace);
    column->addWidget(&figures);
    column->addWidget(&table, 1);
    card.setBody(body);
}

} // namespace qs::gui
