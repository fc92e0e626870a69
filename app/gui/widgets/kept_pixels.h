// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A copy of the pixels that a widget has painted. The memory of deleted copies is used again: new memory would cost
// more than the copying, a page fault for every 4 KiB.

#include <QImage>
#include <QRect>

#include <cstddef>

namespace qs::gui {

class KeptPixels {
public:
    KeptPixels() = default;
    KeptPixels(const KeptPixels&) = delete;
    KeptPixels& operator=(const KeptPixels&) = delete;
    ~KeptPixels() { clear(); }

    /// `part`: in pixels of `window`; `window` has 4 bytes per pixel and contains `part`.
    void keep(const QImage& window, const QRect& part);
    void clear();
    const QImage& image() const { return image_; } ///< null when nothing is stored
    /// Bytes of memory that deleted copies have left for new ones, of all widgets; at most kSpareBytes.
    static std::size_t spareBytes();
    static constexpr std::size_t kSpareBytes = std::size_t(32) << 20;

private:
    QImage image_; ///< its pixels are in data_
    unsigned char* data_ = nullptr;
    std::size_t capacity_ = 0;
};

} // namespace qs::gui
