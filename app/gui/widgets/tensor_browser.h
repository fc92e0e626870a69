// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds tensors in a tree by layer or in a flat table, filtered by a regular expression. Cells show the metric as a
// bar.

#include <QTimer>
#include <QWidget>

#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;
class QTreeView;

namespace qs {
struct TensorInfo;
}

namespace qs::gui {

class Session;
class TensorTree;

class TensorBrowser : public QWidget {
    Q_OBJECT
public:
    explicit TensorBrowser(Session& session, QWidget* parent = nullptr);
    void focusFilter();
    void clearFilter();
    void moveCurrent(int step); ///< in the shown order
    const TensorInfo*
    tensorAtCursor(QRect* cell) const; ///< under the mouse, else the current one; `cell` gets global pixels
    QTreeView* view() const { return view_; }
    QSize sizeHint() const override { return {300, 400}; }

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void rebuild();
    void applyFilter();
    void followArrangement();
    void enterList();
    void followSession();
    void refreshRows();
    void takeSelection();
    void selectAllOf(const std::vector<const TensorInfo*>& tensors);
    void fitColumns();
    void countShown();

    Session& session_;
    TensorTree* tree_;
    QTreeView* view_;
    QLineEdit* filter_;
    QComboBox* metric_;
    QToolButton *asTree_, *asTable_;
    QLabel* shown_;
    QTimer filterDelay_, rowsDelay_;
    bool following_ = false;
    bool opened_ = false;  ///< the tree of a new model must be unfolded
    bool wasFlat_ = false; ///< the flat table was shown before, so that the tree must be unfolded
    bool enter_ = false;   ///< Down was pressed while the filter was being applied
};

} // namespace qs::gui
