// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures of other programs beside the measured ones: logs and tables of llama-perplexity, logs of GPTQ, tables with a
// figure a tensor. The spec and the floor of a file can be said here. A base-logits file becomes the reference instead.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "core/eval/files/imports/imported_columns.h"

#include <QWidget>

#include <vector>

class QLineEdit;
class QPushButton;
class QTableView;

namespace qs::gui {

class Session;
class StatusLine;

class EvidenceImports : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceImports(Session& session, QWidget* parent = nullptr);
    std::vector<eval::ImportedColumn> columns() const; ///< of all files
    void choose();                                     ///< by a dialog called "evidenceImportDialog"
    void read(const eval::ImportWish& wish);
    void clear();
    QTableView* table() const { return table_; }

Q_SIGNALS:
    void changed(); ///< columns()
    void baseChosen(const QString& path);
    void settled();

private:
    struct File {
        eval::ImportWish wish;
        std::vector<eval::ImportedColumn> columns;
    };
    QWidget* bar();
    const File* current() const; ///< of the row that is chosen
    void again();                ///< the same file with the spec and floor of the fields
    void draw();
    Session& session_;
    Task task_;
    std::vector<File> files_;
    QPushButton *choose_, *remove_;
    QLineEdit *spec_, *floor_;
    StatusLine* status_;
    QTableView* table_;
    RowModel<eval::ImportedColumn>* rows_;
};

} // namespace qs::gui
