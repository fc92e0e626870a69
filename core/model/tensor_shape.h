// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The shape of a tensor: one size per axis. A model with a million tensors has few different shapes, so equal shapes
// share one list of sizes. It is read like a const vector, and assigned only as a whole.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace qs {

class TensorShape {
public:
    using Sizes = std::vector<std::int64_t>;
    using value_type = std::int64_t;
    using const_iterator = const std::int64_t*;

    TensorShape() = default;
    TensorShape(const Sizes& sizes); // NOLINT(google-explicit-constructor): it is that vector to everyone
    TensorShape(std::initializer_list<std::int64_t> sizes) : TensorShape(Sizes(sizes)) {}
    TensorShape(const TensorShape& other) : shared_(other.shared_) {
        if (shared_) shared_->users.fetch_add(1, std::memory_order_relaxed);
    }
    TensorShape(TensorShape&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    TensorShape& operator=(TensorShape other) noexcept {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~TensorShape();

    const Sizes& sizes() const { return shared_ ? shared_->sizes : none(); }
    operator const Sizes&() const { return sizes(); } // NOLINT(google-explicit-constructor)
    bool empty() const { return !shared_; }
    std::size_t size() const { return shared_ ? shared_->sizes.size() : 0; }
    const std::int64_t* data() const { return shared_ ? shared_->sizes.data() : nullptr; }
    const std::int64_t* begin() const { return data(); }
    const std::int64_t* end() const { return data() + size(); }
    std::int64_t operator[](std::size_t axis) const { return shared_->sizes[axis]; }
    std::int64_t front() const { return shared_->sizes.front(); }
    std::int64_t back() const { return shared_->sizes.back(); }

    /// Number of sizes that only this shape keeps in memory; 0 if other shapes share the list.
    std::size_t ownSizes() const;

    friend bool operator==(const TensorShape& a, const TensorShape& b) {
        return a.shared_ == b.shared_ || a.sizes() == b.sizes();
    }
    friend bool operator==(const TensorShape& a, const Sizes& b) { return a.sizes() == b; }
    friend bool operator<(const TensorShape& a, const TensorShape& b) { return a.sizes() < b.sizes(); }

private:
    struct Shared {
        std::atomic<std::uint32_t> users{1};
        Sizes sizes;
    };
    static const Sizes& none();
    Shared* shared_ = nullptr; ///< null: no axes (a scalar)
};

} // namespace qs
