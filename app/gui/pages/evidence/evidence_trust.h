// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The trust meter: whether figures of the weights rank specs and tensors as the model's output does.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "core/eval/run/record.h"
#include "core/eval/trust/trust_tables.h"

#include <QWidget>

class QTableView;

namespace qs::gui {

class Card;
class EvidenceImports;
class Session;
class SmallMultiples;

class EvidenceTrust : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceTrust(Session& session, QWidget* parent = nullptr);
    void setRecord(std::shared_ptr<const eval::EvaluationRecord> record); ///< null: none
    void setTensors(std::vector<eval::SensitivityRow> rows);
    QTableView* table() const { return table_; }
    EvidenceImports* imports() const { return imports_; }
    SmallMultiples* plots() const { return plots_; }

Q_SIGNALS:
    void settled();

protected:
    void showEvent(QShowEvent*) override;

private:
    struct Meter {
        std::vector<eval::TrustTable> tables;
        std::vector<eval::TrustRow> rows;
        std::vector<std::size_t> tableOf; ///< of each row
    };
    std::vector<eval::SpecProxies> proxies() const;
    void refresh();
    void draw(Meter meter);
    std::string briefNames(const eval::TrustTable& table, const eval::TrustRow& row) const;
    Session& session_;
    Task task_;
    std::shared_ptr<const eval::EvaluationRecord> record_;
    std::vector<eval::SensitivityRow> tensors_;
    Meter meter_;
    bool stale_ = true;
    Card *plotsCard_, *tableCard_;
    SmallMultiples* plots_;
    QTableView* table_;
    EvidenceImports* imports_;
    RowModel<eval::TrustRow>* rows_;
};

} // namespace qs::gui
