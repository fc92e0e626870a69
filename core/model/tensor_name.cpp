// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tensor_name.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace qs {
namespace {

/// The start of a chunk. It is aligned, so that it is found from the address of a text in it.
struct Chunk {
    std::atomic<std::uint32_t> users = 1; ///< names in it, and the thread that adds to it
    std::uint32_t used = sizeof(Chunk);   ///< bytes, this struct included; only that thread reads it
};
constexpr std::size_t kAlignment = 65536;
/// A little less than the alignment: then malloc puts the next chunk directly behind, with its own data between them.
constexpr std::size_t kChunk = kAlignment - 64;
constexpr unsigned char kLong = 255; ///< a longer text has its length in four more bytes before this one
constexpr std::size_t kLengthBytes = 5;

Chunk* chunkOf(const char* text) {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(text) & ~std::uintptr_t(kAlignment - 1));
}

Chunk* newChunk(std::size_t bytes) {
    void* memory = nullptr;
    if (::posix_memalign(&memory, kAlignment, bytes) != 0) throw std::bad_alloc();
    return new (memory) Chunk;
}

void release(Chunk* chunk) {
    if (chunk->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    chunk->~Chunk();
    std::free(chunk);
}

/// The chunk that a thread adds names to.
struct Current {
    Chunk* chunk = nullptr;
    ~Current() {
        if (chunk) release(chunk);
    }
};

/// Room for so many bytes in a chunk that counts one user more.
char* room(std::size_t bytes) {
    if (bytes > kChunk / 8) return reinterpret_cast<char*>(newChunk(sizeof(Chunk) + bytes)) + sizeof(Chunk); // its own
    thread_local Current current;
    if (!current.chunk || current.chunk->used + bytes > kChunk) {
        Chunk* const next = newChunk(kChunk);
        if (current.chunk) release(current.chunk);
        current.chunk = next;
    }
    current.chunk->users.fetch_add(1, std::memory_order_relaxed);
    char* const at = reinterpret_cast<char*>(current.chunk) + current.chunk->used;
    current.chunk->used += std::uint32_t(bytes);
    return at;
}

} // namespace

TensorName::TensorName(std::string_view text) {
    if (text.empty()) return;
    const bool isLong = text.size() >= kLong;
    char* at = room((isLong ? kLengthBytes : 1) + text.size() + 1);
    if (isLong) {
        const auto length = std::uint32_t(text.size());
        std::memcpy(at, &length, sizeof length);
        at += sizeof length;
    }
    *at++ = char(isLong ? kLong : text.size());
    std::memcpy(at, text.data(), text.size());
    at[text.size()] = '\0';
    text_ = at;
}

std::string_view TensorName::view() const noexcept {
    if (!text_) return {};
    const auto length = static_cast<unsigned char>(text_[-1]);
    if (length != kLong) return {text_, length};
    std::uint32_t whole = 0;
    std::memcpy(&whole, text_ - kLengthBytes, sizeof whole);
    return {text_, whole};
}

void TensorName::keep() const noexcept {
    if (text_) chunkOf(text_)->users.fetch_add(1, std::memory_order_relaxed);
}
void TensorName::drop() const noexcept {
    if (text_) release(chunkOf(text_));
}

} // namespace qs
