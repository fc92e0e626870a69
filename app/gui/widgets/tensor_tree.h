// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The item model of the browser: tensors by layer or as a flat list, with size and the chosen metric. It filters and
// sorts by itself, for a large model on a worker thread; a proxy model would do both in one turn of the GUI thread.

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
    void followModel(); ///< shows the session's model in its layout

    // Each ends with arranged(), at once for a small model.
    void setFlat(bool flat);
    void setFilter(const QRegularExpression& filter);
    void sort(int column, Qt::SortOrder order) override;
    void rearrange(); ///< after values have changed

    bool isFlat() const { return shown_.flat; }
    bool arranging() const { return arranging_.running(); }
    QString filter() const { return wish_.filter.pattern(); }
    int shown() const { return shown_.shown; } ///< number of tensors that pass the filter
    bool sortedByValue() const { return wish_.key != ArrangementWish::ByName; }
    /// Reads the rows of the session's spec; `afresh`: the spec or the metric has changed.
    void refreshValues(bool afresh);
    bool anyFlags() const { return survey_.anyFlags; }

    const TensorInfo* tensor(const QModelIndex& index) const; ///< null for a group
    /// fetches rows up to the tensor; invalid: filtered out
    QModelIndex indexOf(const TensorInfo* tensor);
    QModelIndex firstTensor() const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    // A view stores 40 bytes per row: rows of a long list are announced as the view reaches them.
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
    int topRowOf(int tensor) const; ///< -1: filtered out
    bool standsAlone(int row) const;
    const TensorOutline::Group& groupAt(int row) const; ///< `row` must be a group

    Session& session_;
    std::shared_ptr<const Model> model_;
    std::shared_ptr<const ModelLayout> layout_ = std::make_shared<ModelLayout>();
    ModelRows rows_;
    const Metric* metric_ = nullptr;
    TensorArrangement shown_;
    int fetched_ = 0; ///< number of top rows that are announced
    ArrangementWish wish_;
    TensorSurvey survey_;
    Task arranging_, surveying_;
    bool surveyAgain_ = false;
};

} // namespace qs::gui
