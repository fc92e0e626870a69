// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/kept_pixels.h"

#include <QtGlobal>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace qs::gui {
namespace {

// a window that grows while it is dragged does not need new memory at each step
constexpr std::size_t kStep = std::size_t(64) << 10;

struct Memory {
    unsigned char* data = nullptr;
    std::size_t capacity = 0;
};

/// Memory of deleted copies; used by the GUI thread only.
std::vector<Memory>& spare() {
    // never destroyed, so that leak checkers see its content as reachable
    static auto* const all = new std::vector<Memory>;
    return *all;
}

Memory allocate(std::size_t bytes) {
    const std::size_t capacity = (bytes + kStep - 1) / kStep * kStep;
    auto* data = static_cast<unsigned char*>(std::aligned_alloc(64, capacity));
    if (!data) throw std::bad_alloc();
    return {data, capacity};
}

/// The smallest block that is large enough and at most four times too large.
Memory take(std::size_t bytes) {
    auto& all = spare();
    auto best = all.end();
    for (auto one = all.begin(); one != all.end(); ++one)
        if (one->capacity >= bytes && one->capacity / 4 <= bytes &&
            (best == all.end() || one->capacity < best->capacity))
            best = one;
    if (best == all.end()) return allocate(bytes);
    const auto taken = *best;
    all.erase(best);
    return taken;
}

void give(Memory memory) {
    auto& all = spare();
    all.push_back(memory);
    // delete the oldest block: it has fitted no widget for longest
    while (KeptPixels::spareBytes() > KeptPixels::kSpareBytes) {
        std::free(all.front().data);
        all.erase(all.begin());
    }
}

} // namespace

std::size_t KeptPixels::spareBytes() {
    std::size_t sum = 0;
    for (const auto& one : spare()) sum += one.capacity;
    return sum;
}

void KeptPixels::keep(const QImage& window, const QRect& part) {
    const auto line = std::size_t(part.width()) * 4;
    const std::size_t bytes = line * std::size_t(part.height());
    Q_ASSERT(window.depth() == 32 && window.rect().contains(part));
    if (bytes == 0) return clear();
    if (bytes > capacity_) {
        clear();
        const auto memory = take(bytes);
        data_ = memory.data;
        capacity_ = memory.capacity;
    }
    if (image_.size() != part.size() || image_.format() != window.format())
        image_ = QImage(data_, part.width(), part.height(), qsizetype(line), window.format());
    for (int y = 0; y < part.height(); ++y)
        std::memcpy(data_ + std::size_t(y) * line, window.constScanLine(part.y() + y) + qsizetype(4) * part.x(), line);
    image_.setDevicePixelRatio(window.devicePixelRatio());
}

void KeptPixels::clear() {
    image_ = {};
    if (data_) give({data_, capacity_});
    data_ = nullptr;
    capacity_ = 0;
}

} // namespace qs::gui
