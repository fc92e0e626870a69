// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Memory that a worker can see too: an anonymous file, mapped here, whose descriptor crosses the control socket.

#include "core/base/result.h"
#include "core/process/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace qs {

class SharedBuffer {
public:
    /// Zeroed, page-aligned, at least `bytes` long; fails when memory is out.
    static Result<std::shared_ptr<SharedBuffer>> create(std::uint64_t bytes);
    /// Maps a descriptor from the other side; takes it over. Fails when the file is shorter than `bytes`.
    static Result<std::shared_ptr<SharedBuffer>> adopt(Descriptor descriptor, std::uint64_t bytes);
    ~SharedBuffer();
    SharedBuffer(const SharedBuffer&) = delete;
    SharedBuffer& operator=(const SharedBuffer&) = delete;

    std::byte* data() const { return data_; }
    std::uint64_t size() const { return bytes_; }
    int descriptor() const { return descriptor_.get(); }
    template<class T> std::span<T> as() const { return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)}; }

private:
    SharedBuffer() = default;
    std::byte* data_ = nullptr;
    std::uint64_t bytes_ = 0;
    Descriptor descriptor_;
};

} // namespace qs
