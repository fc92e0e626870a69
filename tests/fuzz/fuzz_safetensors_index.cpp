// SPDX-License-Identifier: GPL-3.0-or-later
// Any text must give an index or an error. No shard name may lead out of the folder.
#include "core/model/safetensors/safetensors.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto index = qs::parseSafetensorsIndex({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!index) return 0;
    for (const auto& [tensor, shard] : index->weightMap)
        if (shard.empty() || shard == ".." || shard.find('/') != std::string::npos) std::abort();
    return 0;
}
