// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/shared_painting.h"

#include "app/gui/theme.h"

#include <QBackingStore>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QPaintEngine>
#include <QPaintEvent>
#include <QPainter>
#include <QPointer>
#include <QWidget>

#include <algorithm>
#include <utility>
#include <vector>

namespace qs::gui {
namespace {

/// The current turn of the event loop, and the widgets that wait for the next one.
class Turn : public QObject {
public:
    static Turn& now() {
        static Turn turn;
        return turn;
    }

    double elapsedMs() const { return double(clock_.nsecsElapsed()) / 1e6; } ///< since the window began to paint
    /// Whether there is time for a painting of `ms`, and for the longer waiting widgets that this turn still paints.
    /// Each turn paints at least the widget that waits longest.
    bool hasTime(const QWidget& widget, double ms, QSize window) {
        begin(); // for a repaint outside of a window update
        if (window != window_) budgetMs_ = SharedPainting::kResizedMs;
        window_ = window;
        bool waits = false, oldest = true;
        for (const auto& one : queue_) {
            waits = one.widget == &widget;
            if (waits) break;
            if (!one.asked) continue;
            oldest = false;
            ms += one.ms;
        }
        return (waits && oldest && !painted_) || elapsedMs() + ms <= budgetMs_;
    }
    void wait(QWidget& widget, double ms) { ///< a widget that waits already keeps its place
        const auto place = std::ranges::find_if(queue_, [&](auto& one) { return one.widget == &widget; });
        if (place == queue_.end())
            queue_.push_back({&widget, ms, false});
        else
            place->asked = false;
    }
    void paints(const QWidget& widget) {
        painted_ = true;
        std::erase_if(queue_, [&](const Waiting& one) { return one.widget == &widget; });
    }
    bool somebodyWaits() const { return !queue_.empty(); }
    void keepLater(SharedPainting& painted) { keeps_.emplace_back(&painted); }

protected:
    /// Layouts, labels and cards are painted in the same turn, mostly earlier.
    bool eventFilter(QObject* watched, QEvent* event) override {
        if ((event->type() == QEvent::UpdateRequest && watched->isWidgetType()) || event->type() == QEvent::Expose)
            begin();
        return false;
    }
    bool event(QEvent* event) override {
        if (event->type() != QEvent::User) return QObject::event(event);
        running_ = false;
        for (const auto& one : std::exchange(keeps_, {}))
            if (one) one->keep();
        // A widget that was asked and did not paint is covered, hidden or deleted.
        std::erase_if(queue_, [](const Waiting& one) { return one.asked || !one.widget || !one.widget->isVisible(); });
        for (auto& one : queue_) {
            one.asked = true;
            one.widget->update();
        }
        return true;
    }

private:
    Turn() { QCoreApplication::instance()->installEventFilter(this); }
    void begin() {
        if (running_) return;
        running_ = true;
        painted_ = false;
        budgetMs_ = SharedPainting::kBudgetMs;
        clock_.start();
        // Sent before any other event: all later events belong to another turn.
        QCoreApplication::postEvent(this, new QEvent(QEvent::User), Qt::HighEventPriority);
    }

    struct Waiting {
        QPointer<QWidget> widget;
        double ms = 0;      ///< duration of its last painting
        bool asked = false; ///< was asked to paint itself
    };
    QElapsedTimer clock_;
    bool running_ = false, painted_ = false;
    double budgetMs_ = 0;
    QSize window_;               ///< in pixels, at the last painting
    std::vector<Waiting> queue_; ///< the longest waiting widget is first
    std::vector<QPointer<SharedPainting>> keeps_;
};

/// The pixels of the window that the widget paints into; null if the target is another picture (grab()).
const QImage* windowPixels(QWidget& widget) {
    auto* store = widget.window()->backingStore();
    if (!store) return nullptr;
    const QPainter painter(&widget);
    auto* device = painter.paintEngine() ? painter.paintEngine()->paintDevice() : nullptr;
    if (!device || device != store->paintDevice() || device->devType() != QInternal::Image) return nullptr;
    return static_cast<const QImage*>(device);
}

} // namespace

SharedPainting::SharedPainting(QWidget& widget, Fit fit) : QObject(&widget), widget_(widget), fit_(fit) {
    widget.installEventFilter(this);
    Turn::now(); // the turn begins before the window is painted
}

void SharedPainting::of(QWidget& widget, Fit fit) { new SharedPainting(widget, fit); }

bool SharedPainting::somebodyWaits() { return Turn::now().somebodyWaits(); }

bool SharedPainting::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Hide) last_.clear();
    if (event->type() == QEvent::Paint && !painting_) return paint(*static_cast<QPaintEvent*>(event));
    return QObject::eventFilter(watched, event);
}

bool SharedPainting::paint(QPaintEvent& event) {
    const auto* window = windowPixels(widget_);
    if (!window) return false;
    auto& turn = Turn::now();
    const bool hasTime = turn.hasTime(widget_, tookMs_, window->size());
    const double begun = turn.elapsedMs();
    if (!hasTime) {
        turn.wait(widget_, tookMs_);
        if (!last_.image().isNull() && colours_ == Theme::instance().tokens().surface.rgba()) {
            QPainter painter(&widget_);
            if (fit_ == Fit::Stretched)
                painter.drawImage(QRectF(widget_.rect()), last_.image());
            else
                painter.drawImage(QPointF(), last_.image());
        }
        return true;
    }
    turn.paints(widget_);
    painting_ = true;
    QCoreApplication::sendEvent(&widget_, &event);
    painting_ = false;
    turn.keepLater(*this);
    tookMs_ = turn.elapsedMs() - begun;
    return true;
}

/// Copies the whole widget even if a part was painted, because scrolling a table moves the rest.
void SharedPainting::keep() {
    last_.clear();
    auto* store = widget_.window()->backingStore();
    const auto* pixels = store ? store->paintDevice() : nullptr;
    if (!pixels || pixels->devType() != QInternal::Image || widget_.visibleRegion() != QRegion(widget_.rect())) return;
    const auto& window = *static_cast<const QImage*>(pixels);
    const double ratio = window.devicePixelRatio();
    const auto corner = widget_.mapTo(widget_.window(), QPoint());
    const QRect part((QPointF(corner) * ratio).toPoint(), (QSizeF(widget_.size()) * ratio).toSize());
    if (window.rect().contains(part) && window.depth() == 32) last_.keep(window, part);
    colours_ = Theme::instance().tokens().surface.rgba();
}

} // namespace qs::gui
