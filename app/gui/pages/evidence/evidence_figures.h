// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The key figures of one spec: mean KL with both errors, same top, perplexity of both, p99 and maximum; of an encoder
// cosines in their place.

#include "core/eval/run/embeddings.h"
#include "core/eval/scores/score_profile.h"

#include <QWidget>

#include <optional>
#include <vector>

class QAbstractItemModel;
class QLabel;
class QTableView;

namespace qs::gui {

class Card;

class EvidenceFigures : public QWidget {
    Q_OBJECT
public:
    enum class Of { Tokens, Embeddings };
    explicit EvidenceFigures(Of of = Of::Tokens, QWidget* parent = nullptr);
    void setSummary(const eval::ScoreSummary& summary);     ///< of Tokens
    void setSummary(const eval::EmbeddingSummary& summary); ///< of Embeddings
    void setSoFar(const eval::ScoreProfile& profile);       ///< only what is known while scores come
    void clear(const QString& why);                         ///< "not measured", with the reason as tooltip
    /// The figure as printed: "kld", "top", "ppl", "p99", "max"; "cosine", "median", "p10", "p1", "least".
    QString text(const char* id) const;

private:
    struct Figure {
        const char* id;
        QLabel *value, *note;
    };
    void say(const char* id, const QString& value, const QString& note, const QString& tip = {});
    std::vector<Figure> figures_;
};

/// Fills a card: the figures, and under them the table of specs, of which one row can be chosen.
void putFiguresOverTable(Card& card, EvidenceFigures& figures, QTableView& table, QAbstractItemModel& rows);

} // namespace qs::gui
