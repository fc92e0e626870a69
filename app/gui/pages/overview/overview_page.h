// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The first page of an opened model: which tensors lose most. Filled while the whole model is measured under spec A.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/overview/overview_cards.h"
#include "app/gui/task.h"

#include <QElapsedTimer>
#include <QTimer>

#include <memory>

class QComboBox;
class QLabel;
class QLayout;
class QStackedWidget;

namespace qs::gui {

class Card;
class Session;
class StagedRefresh;

class OverviewPage : public PageInParts {
public:
    OverviewPage(Session& session, QWidget* parent);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    QLayout* header();
    QWidget* layersTab();
    void connectTab();
    void connectSession();
    void changed(); ///< refreshes now if the page is visible, otherwise when it is shown
    void refresh(); ///< computes a new picture, for a large model on a worker thread
    void show(std::shared_ptr<const OverviewPicture> picture);
    void follow(); ///< marks the selected tensor
    void open(int weight);
    QString describe(int weight) const;
    QString unmeasured(const Metric& metric) const; ///< why no tensor has a value
    int weightAt(int row, int column) const;
    void showTrust();
    const Metric& metric() const;

    Session& session_;
    /// the picture on the screen
    std::shared_ptr<const OverviewPicture> picture_ = std::make_shared<OverviewPicture>();
    Task task_; ///< computes the next picture
    QElapsedTimer clock_;
    QLabel *note_ = nullptr, *proxy_ = nullptr;
    QComboBox* metrics_ = nullptr;
    Card *mapCard_ = nullptr, *barsCard_ = nullptr;
    SpreadCard* spread_ = nullptr;
    ShareCard* share_ = nullptr;
    BytesCard* bytes_ = nullptr;
    HeatMap* mapView_ = nullptr;
    RankedBars* bars_ = nullptr;
    QStackedWidget* tabs_ = nullptr;
    StagedRefresh* charts_; ///< draws one chart per turn of the event loop, so that no turn is long
    bool dirty_ = true;
    QTimer pause_;
};

} // namespace qs::gui
