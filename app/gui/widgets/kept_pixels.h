// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A copy of what a widget has painted into its window, at little cost: untouched memory is dearer than the copying (a
// page fault for every 4 KiB), so the memory of pictures that are gone is used again.

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

    /// `part` in pixels of `window`, which has four bytes each and contains it.
    void keep(const QImage& window, const QRect& part);
    void clear();
    const QImage& image() const { return image_; } ///< null when nothing is kept
    /// Bytes of pictures that are gone, kept for the next ones of all widgets; at most kSpareBytes.
    static std::size_t spareBytes();
    static constexpr std::size_t kSpareBytes = std::size_t(32) << 20;

private:
    QImage image_; ///< over data_
    unsigned char* data_ = nullptr;
    std::size_t capacity_ = 0;
};

} // namespace qs::gui
