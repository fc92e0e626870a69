// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An open file descriptor with one owner.

#include <unistd.h>
#include <utility>

namespace qs {

/// The destructor closes the descriptor. -1 means that there is none.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    /// Gives up ownership: from now on the caller must close the descriptor.
    int release() { return std::exchange(number_, -1); }

private:
    int number_;
};

} // namespace qs
