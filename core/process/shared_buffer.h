// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Memory that program and worker share. It is an anonymous file (memfd) that both map; its descriptor is sent over the
// control socket.

#include "core/base/result.h"
#include "core/process/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace qs {

class SharedBuffer {
public:
    /// Makes a buffer of at least `bytes`, page-aligned and filled with 0. Fails if there is not enough memory.
    static Result<std::shared_ptr<SharedBuffer>> create(std::uint64_t bytes);
    /// Maps the file of a descriptor that the other side has sent, and owns the descriptor. Fails if the file is
    /// shorter than `bytes`, or could be made shorter later.
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
