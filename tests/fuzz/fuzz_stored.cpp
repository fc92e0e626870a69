// SPDX-License-Identifier: GPL-3.0-or-later
// Our own layouts with any __metadata__. The result must be an error, or exactly as many values as declared.
#include "core/layouts/stored.h"
#include "core/model/safetensors/safetensors.h"
#include "tests/fuzz/checkpoint_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto model = qs::fuzz::openCheckpoint(data, size);
    if (!model) return 0;
    for (const auto& [key, text] : model->files.front().metadata) {
        if (!key.starts_with(qs::kStoredPrefix)) continue;
        auto stored = qs::parseStored(key, text);
        if (!stored) {
            if (stored.error().message.empty()) std::abort();
            continue;
        }
        if (stored->elements > 1 << 21) continue;
        const std::uint64_t bytes = stored->elements * std::uint64_t(qs::info(stored->dtype).bits) / 8;
        const auto tensor = qs::decodeStored(*model, std::move(*stored), std::nullopt);
        if (!tensor) {
            if (tensor.error().message.empty()) std::abort();
            continue;
        }
        std::uint64_t given = 0;
        const auto done = tensor->produce([&](std::span<const std::byte> values) -> qs::Result<void> {
            given += values.size();
            return {};
        });
        if (done ? given != bytes : done.error().message.empty()) std::abort();
    }
    return 0;
}
