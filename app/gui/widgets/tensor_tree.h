// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The model behind the browser: tensors by layer, or as one flat list, with size and the chosen metric.

#include "core/analysis/analysis.h"

#include <QAbstractItemModel>
#include <QSortFilterProxyModel>

#include <vector>

namespace qs::gui {

class Session;

/// Names and groups of a model's tensors, made on a worker thread: 100,000 names take longer than a frame.
struct TensorOutline {
    struct Group {
        QString title; ///< "layers.3"; empty: the tensor stands alone
        std::vector<int> tensors;
        quint64 bytes = 0;
    };
    std::vector<Group> groups;
    std::vector<QString> names, roles; ///< escaped for people, per tensor
    std::vector<int> groupOf, indexInGroup;
};
TensorOutline outlineOf(const Model& model);

class TensorTree : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { Name, Bpw, MetricValue, Bytes, Flags, Columns };
    enum Role { Sort = Qt::UserRole, Bar };

    explicit TensorTree(Session& session, QObject* parent = nullptr);
    void setOutline(std::shared_ptr<const Model> model, TensorOutline outline);
    void setFlat(bool flat);
    bool isFlat() const { return flat_; }
    /// Fetches rows of the session's spec; `afresh` when spec or metric changed.
    void refreshValues(bool afresh);

    const TensorInfo* tensor(const QModelIndex& index) const; ///< null for a group
    QModelIndex indexOf(const TensorInfo* tensor) const;
    bool anyFlags() const { return anyFlags_; }

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    // For the proxy, without QVariants.
    int tensorAt(const QModelIndex& index) const; ///< -1: a group
    double sortKey(int tensor, int column) const; ///< NaN: not measured
    const QString& nameOf(int tensor) const { return outline_.names[std::size_t(tensor)]; }

private:
    QString flagsOf(int tensor, bool sentence) const;
    QVariant groupData(const TensorOutline::Group& group, int column, int role) const;
    QVariant metricText(int tensor) const;
    bool standsAlone(std::size_t group) const { return outline_.groups[group].title.isEmpty(); }

    Session& session_;
    std::shared_ptr<const Model> model_;
    TensorOutline outline_;
    std::vector<AnalysisRow> rows_;
    std::vector<double> values_; ///< of the metric; NaN: none
    const Metric* metric_ = nullptr;
    double largest_ = 0;
    std::size_t firstUnknown_ = 0; ///< rows arrive in the model's order: what lies before is settled
    qsizetype known_ = 0;
    bool flat_ = false, anyFlags_ = false;
};

/// Sorts numbers as numbers with "not measured" last; keeps groups whose tensors match.
class TensorOrder : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit TensorOrder(TensorTree& tree, QObject* parent = nullptr);

protected:
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    TensorTree& tree_;
};

} // namespace qs::gui
