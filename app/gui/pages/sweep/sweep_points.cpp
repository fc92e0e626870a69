// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/sweep/sweep_points.h"

#include "app/gui/session.h"
#include "core/base/text.h"

#include <QCoreApplication>
#include <QTableView>

namespace qs::gui {
namespace {

constexpr int kFirstEffect = 4, kEffects = 6; ///< columns of the table

QString pointText(const char* text) { return QCoreApplication::translate("sweep_points", text); }

} // namespace

Columns<SweepPoint> sweepTableColumns(const Session& session) {
    auto list = sweepColumns().pick({"spec", "bpw", "sqnr_db", "nmse", "kl_model", "kl_model_se", "kl_alone",
                                     "kl_alone_se", "kl_predicted", "kl_predicted_se", "bytes_all", "worst_tensor"});
    list.back().value = [&session](const SweepPoint& point) { // the same name as on other pages
        const auto* tensor = session.model() ? session.model()->find(point.worstTensor) : nullptr;
        const int weight = tensor ? session.weightIndex(tensor) : -1;
        return Value(weight < 0 ? point.worstTensor : session.layout()->grid.brief[std::size_t(weight)].toStdString());
    };
    return list;
}

void hideUnknownEffects(QTableView& table) {
    const auto& model = *table.model();
    for (int column = kFirstEffect; column < kFirstEffect + kEffects; ++column) {
        bool any = false;
        for (int row = 0; row < model.rowCount() && !any; ++row)
            any = model.index(row, column).data(Qt::UserRole).isValid();
        table.setColumnHidden(column, !any);
    }
}

QString sweepPointText(const SweepPoint& point) {
    const auto number = [](double value, int decimals) { return QString::fromStdString(fixedText(value, decimals)); };
    QString text =
        pointText("%1\n%2 bpw   %3 dB%4\nworst: %5")
            .arg(QString::fromStdString(point.specText), number(point.bpw().value_or(0), 4),
                 number(point.sqnrDb().value_or(0), 2), point.frontier ? pointText("   on the frontier") : QString(),
                 QString::fromStdString(escapeForPeople(point.worstTensor)));
    for (const auto& column : sweepColumns().pick({"kl_model", "kl_alone", "kl_predicted"}))
        if (const Value value = column.value(point); value != Value())
            text += u'\n' + QString::fromStdString(column.title + " " + cellText(column, value) + " " + column.unit);
    return text;
}

} // namespace qs::gui
