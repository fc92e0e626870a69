// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The key figures of one spec: mean KL with both errors, same top, perplexity of both, p99 and maximum.

#include "core/eval/scores/score_profile.h"

#include <QWidget>

#include <optional>
#include <vector>

class QLabel;

namespace qs::gui {

class EvidenceFigures : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceFigures(QWidget* parent = nullptr);
    void setSummary(const eval::ScoreSummary& summary);
    void setSoFar(const eval::ScoreProfile& profile); ///< only what is known while scores come
    void clear(const QString& why);                   ///< "not measured", with the reason as tooltip
    QString text(const char* id) const;               ///< the figure as printed; "kld", "top", "ppl", "p99", "max"

private:
    struct Figure {
        const char* id;
        QLabel *value, *note;
    };
    void say(const char* id, const QString& value, const QString& note, const QString& tip = {});
    std::vector<Figure> figures_;
};

} // namespace qs::gui
