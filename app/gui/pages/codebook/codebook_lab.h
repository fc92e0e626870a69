// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The levels that the codebook page shows and lets people move, with what they do to the selected tensor's W / scale.

#include "app/gui/moved_levels.h"
#include "app/gui/task.h"
#include "core/analysis/lloyd_gap.h"

#include <QObject>
#include <QString>

namespace qs::gui {

class CodebookLab : public QObject {
    Q_OBJECT
public:
    explicit CodebookLab(QObject* parent = nullptr);

    /// Measured beside the window; levels that were moved come with the format that they were moved of.
    void setRow(const AnalysisRow& row);
    /// Takes over what was moved before: undone, redone or out of a session.
    void setMoved(const MovedLevels& moved);
    const MovedLevels& moved() const { return moved_; }
    bool ready() const { return measured_ && measured_->gap; }
    const CodebookFit& fit() const { return fit_; }         ///< of the levels as they are now
    const LloydGap& gap() const { return *measured_->gap; } ///< of the format's own; when ready()
    bool edited() const;                                    ///< the levels are not the format's own
    /// Between its neighbours; the boundaries are the middles from now on.
    void moveLevel(int code, double value);
    void useBest(); ///< Lloyd-Max
    /// The levels that `learned` found for many tensors, in units of the largest magnitude; refused when they are not as
    /// many as the format's.
    Result<void> useLevels(const std::vector<float>& learned, const QString& how);
    QString how() const { return edited() ? moved_.how : QString(); } ///< they were learned; empty: moved by hand
    /// The codebook spec with the scales and the size of the format; the reason when its levels are of another kind.
    Result<QuantSpec> learnable() const;
    void reset();
    /// Keeps the levels as a format of the user's; returns the path of its file.
    Result<QString> save(const QString& id) const;
    const AnalysisRow& row() const { return row_; }

Q_SIGNALS:
    void changed();
    void levelsEdited(const qs::gui::MovedLevels& moved); ///< by one of the calls above, not by setMoved()

private:
    struct Measured {
        Density density;
        std::optional<LloydGap> gap;
    };
    void setLevels(std::vector<double> levels, const QString& how = {});
    AnalysisRow row_;
    std::shared_ptr<const Measured> measured_; ///< of row_, or of the one before while it is measured
    CodebookFit fit_;
    void refit();
    MovedLevels moved_; ///< maybe of another format than the row's
    Task task_;
};

} // namespace qs::gui
