// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Bits per weight, SQNR and max |error| of the selected tensor, or of the whole model on pages about the model. A word
// says which of the two.

#include "app/gui/model_rows.h"

#include <QWidget>

#include <array>
#include <optional>

class QLabel;

namespace qs::gui {

class Session;

class KeyFigures : public QWidget {
    Q_OBJECT
public:
    explicit KeyFigures(Session& session, QWidget* parent = nullptr);
    QString text(int figure) const; ///< 0 bpw, 1 SQNR, 2 max |error|
    QString owner() const;          ///< "Model" or "Tensor"

private:
    struct Figures {
        std::optional<double> bpw, sqnrDb, maxAbs;
        QString why; ///< why figures are missing
    };
    static Figures ofTensor(const AnalysisRow& row);
    Figures ofModel(const ModelRows& rows) const;
    void refresh();
    void print(QLabel* label, const std::optional<double>& value, int figure, bool b, const QString& why);

    Session& session_;
    QString owner_;
    std::array<QLabel*, 3> values_, seconds_, captions_;
};

} // namespace qs::gui
