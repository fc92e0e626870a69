// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The levels that the codebook page shows and that users move, and their effect on W / scale of the selected tensor.

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

    /// Measures on a worker thread. Moved levels are used if they were moved for the format of this row.
    void setRow(const AnalysisRow& row);
    /// Takes levels that were moved before: from undo, redo or a session file.
    void setMoved(const MovedLevels& moved);
    const MovedLevels& moved() const { return moved_; }
    bool ready() const { return measured_ && measured_->gap; }
    const CodebookFit& fit() const { return fit_; } ///< of the current levels
    /// of the format's own levels; call it when ready() only
    const LloydGap& gap() const { return *measured_->gap; }
    bool edited() const; ///< the levels differ from the format's own
    /// Clamps `value` between the neighbours; the boundaries become the midpoints of levels.
    void moveLevel(int code, double value);
    void useBest(); ///< sets the Lloyd-Max levels
    /// Sets levels that were learned for many tensors, in units of the largest magnitude. Fails if their number is not
    /// that of the format.
    Result<void> useLevels(const std::vector<float>& learned, const QString& how);
    /// how the levels were learned; empty: moved by hand
    QString how() const { return edited() ? moved_.how : QString(); }
    /// The codebook spec with the scales and size of the current format; an error if its levels are of another kind.
    Result<QuantSpec> learnable() const;
    void reset();
    /// Stores the levels as a user's format; returns the path of its file.
    Result<QString> save(const QString& id) const;
    const AnalysisRow& row() const { return row_; }

Q_SIGNALS:
    void changed();
    void levelsEdited(const qs::gui::MovedLevels& moved); ///< by one of the functions above, not by setMoved()

private:
    struct Measured {
        Density density;
        std::optional<LloydGap> gap;
    };
    void setLevels(std::vector<double> levels, const QString& how = {});
    AnalysisRow row_;
    std::shared_ptr<const Measured> measured_; ///< of row_; while row_ is being measured, of the previous row
    CodebookFit fit_;
    void refit();
    MovedLevels moved_; ///< possibly for another format than the row's
    Task task_;
};

} // namespace qs::gui
