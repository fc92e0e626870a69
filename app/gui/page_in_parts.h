// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A page that is made in parts. The window makes one an event-loop turn before it shows the page, because making all of
// a page with many charts and tables would hold the loop for longer than a frame; showing it makes what is missing.

#include <QWidget>

#include <functional>
#include <utility>
#include <vector>

namespace qs::gui {

class PageInParts : public QWidget {
public:
    using QWidget::QWidget;
    /// Makes the next part; false when none was left.
    bool makePart() {
        if (next_ >= parts_.size()) return false;
        const auto part = std::exchange(parts_[next_++], {});
        part();
        return true;
    }
    void makeAllParts() {
        while (makePart()) {
        }
    }

protected:
    void addPart(std::function<void()> part) { parts_.push_back(std::move(part)); }
    void showEvent(QShowEvent* event) override {
        makeAllParts();
        QWidget::showEvent(event);
    }

private:
    std::vector<std::function<void()>> parts_;
    std::size_t next_ = 0;
};

} // namespace qs::gui
