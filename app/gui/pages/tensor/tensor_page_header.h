// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The first line of the tensor page: facts of the tensor at the left, statistics at the right.

#include <QLabel>
#include <QWidget>

namespace qs::gui {

class Session;

class TensorHeader : public QWidget {
    Q_OBJECT
public:
    explicit TensorHeader(QWidget* parent = nullptr);
    /// Shows the chosen tensor, what is known of it, and whether the recipe or the layout keeps it as it is.
    void showTensor(const Session& session);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void elide();
    QString name_;
    QLabel *title_, *facts_;
    QLabel *sigma_, *kurtosis_, *outliers_, *holes_;
};

} // namespace qs::gui
