// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The model behind the browser: tensors by layer, or as one flat list, with size and the chosen metric. It filters and
// sorts itself, on a worker thread when the model is large: a proxy would do both in one turn of the GUI thread.

#include "app/gui/task.h"
#include "app/gui/widgets/tensor_arrangement.h"

#include <QAbstractItemModel>

namespace qs::gui {

class Session;

class TensorTree : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { Name, Bpw, MetricValue, Bytes, Flags, Columns };
    enum Role { Sort = Qt::UserRole, Bar };

    explicit TensorTree(Session& session, QObject* parent = nullptr);
    void followModel(); ///< the session's, as it is laid out

    // Each ends in arranged(), at once when the model is small.
    void setFlat(bool flat);
    void setFilter(const QRegularExpression& filter);
    void sort(int column, Qt::SortOrder order) override;
    void rearrange(); ///< values have changed

    bool isFlat() const { return shown_.flat; }
    bool arranging() const { return arranging_.running(); }
    QString filter() const { return wish_.filter.pattern(); }
    int shown() const { return shown_.shown; } ///< tensors that the filter leaves
    bool sortedByValue() const { return wish_.key != ArrangementWish::ByName; }
    /// Takes the rows of the session's spec over; `afresh` when spec or metric changed.
    void refreshValues(bool afresh);
    bool anyFlags() const { return survey_.anyFlags; }

    const TensorInfo* tensor(const QModelIndex& index) const; ///< null for a group
    QModelIndex indexOf(const TensorInfo* tensor);            ///< invalid: filtered away; fetches up to it
    QModelIndex firstTensor() const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    // A view keeps 40 bytes a row: it hears of a long list's rows as it comes to them.
    bool hasChildren(const QModelIndex& parent = {}) const override;
    bool canFetchMore(const QModelIndex& parent) const override;
    void fetchMore(const QModelIndex& parent) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

Q_SIGNALS:
    void arranged();
    void surveyed(); ///< anyFlags() and the length of the bars are known

private:
    int tensorAt(const QModelIndex& index) const; ///< -1: a group
    QModelIndex place(int tensor, int column) const;
    void show(TensorArrangement arrangement);
    void lookOver();
    bool little() const;
    const TensorOutline& outline() const { return layout_->outline; }
    const AnalysisRow& rowOf(int tensor) const;
    double metricOf(int tensor) const;
    QVariant groupData(const TensorOutline::Group& group, int column, int role) const;
    QVariant metricText(int tensor) const;
    QString tip(int tensor, int column) const;
    int topRows() const { return int(shown_.isList ? shown_.tensors.size() : shown_.rows.size()); }
    int topRowOf(int tensor) const; ///< -1: filtered away
    bool standsAlone(int row) const;
    const TensorOutline::Group& groupAt(int row) const; ///< of a row that does not stand alone

    Session& session_;
    std::shared_ptr<const Model> model_;
    std::shared_ptr<const ModelLayout> layout_ = std::make_shared<ModelLayout>();
    ModelRows rows_;
    const Metric* metric_ = nullptr;
    TensorArrangement shown_;
    int fetched_ = 0; ///< of the top rows
    ArrangementWish wish_;
    TensorSurvey survey_;
    Task arranging_, surveying_;
    bool surveyAgain_ = false;
};

} // namespace qs::gui
