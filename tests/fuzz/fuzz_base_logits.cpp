// SPDX-License-Identifier: GPL-3.0-or-later
// Any bytes must give a base-logits file or an error. A row that is read holds numbers or minus infinity.
#include "core/eval/files/base_logits.h"

#include <cmath>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int memory = memfd_create("fuzz", MFD_CLOEXEC);
    if (memory < 0 || (size > 0 && write(memory, data, size) != ssize_t(size))) std::abort();
    auto file = qs::MappedFile::ofDescriptor(memory, "/proc/self/fd/" + std::to_string(memory));
    if (!file) return 0;
    const auto base = qs::eval::BaseFile::of(std::move(*file));
    if (!base) {
        if (base.error().message.empty()) std::abort();
        return 0;
    }
    const auto& header = base->header();
    if (base->tokens().size() != header.chunks * header.context) std::abort();
    std::vector<float> row(header.vocabulary);
    for (std::size_t i = 0; i < header.chunks * header.rowsOfChunk() && i < 100; ++i) {
        if (!base->read(i, 1, row)) continue;
        for (const float value : row)
            if (std::isnan(value) || value == INFINITY) std::abort();
    }
    return 0;
}
