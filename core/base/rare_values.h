// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A value for each of many things. While all have the usual value, it takes no memory.

#include <cstddef>
#include <vector>

namespace qs {

template<class T> class RareValues {
public:
    explicit RareValues(std::size_t size = 0, T usual = {}) : size_(size), usual_(usual) {}

    T operator[](std::size_t at) const { return values_.empty() ? usual_ : values_[at]; }
    /// `at` is below the size.
    void set(std::size_t at, T value) {
        if (values_.empty()) {
            if (value == usual_) return;
            values_.assign(size_, usual_);
        }
        values_[at] = value;
    }

private:
    std::size_t size_;
    T usual_;
    std::vector<T> values_;
};

} // namespace qs
