// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/about_dialog.h"

#include "app/gui/row_model.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "core/report/libraries.h"
#include "core/report/report.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

namespace qs::gui {

void showAboutDialog(QWidget& window) {
    auto* dialog = named(new QDialog(&window), "about");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(QStringLiteral("About QuantScope"));
    dialog->resize(760, 560);
    auto* column = spaced(new QVBoxLayout(dialog), Theme::kGap, {24, 24, 24, 16});
    auto* title = dressed(new QLabel(QStringLiteral("QuantScope %1").arg(QLatin1String(toolVersion()))),
                          Theme::words(16, QFont::DemiBold));
    auto* words = new QLabel(QStringLiteral("A workbench for weight quantization.\nGPL-3.0-or-later with a permission "
                                            "for backends; see LICENSE-EXCEPTION."));
    words->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* table = named(new QTableView, "aboutLibraries");
    auto* rows = new RowModel<Library>(libraryColumns(), dialog);
    rows->setRows(libraries());
    asDataTable(*table, QStringLiteral("Libraries and their licences"));
    table->setModel(rows);
    table->resizeColumnsToContents();
    table->horizontalHeader()->setStretchLastSection(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    addWidgets(*column, {title, words});
    column->addWidget(table, 1);
    column->addWidget(buttons);
    dialog->show();
}

} // namespace qs::gui
