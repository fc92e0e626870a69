// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A page that is created in parts, one in each turn of the event loop, before it is shown. Creating a page with many
// charts and tables at once would block the event loop for longer than a frame. Showing the page early creates the
// missing parts.

#include <QWidget>

#include <functional>
#include <utility>
#include <vector>

namespace qs::gui {

class PageInParts : public QWidget {
public:
    using QWidget::QWidget;
    /// Creates the next part; false when all parts exist.
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
