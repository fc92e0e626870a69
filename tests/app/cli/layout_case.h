// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Test tables over the registry of layouts.

#include "core/layouts/layout.h"

#include <QtTest>
#include <algorithm>
#include <span>

namespace clitest {

/// A layout and a spec that it accepts.
struct LayoutCase {
    const char *layout, *spec;
};
/// One spec for each layout. A layout without a row here has no tests for outputs that cannot be written.
inline constexpr LayoutCase kLayoutCases[] = {{"eformer", "nf4:block=64"},
                                              {"native", "int3:block=32"},
                                              {"plain", "int8"},
                                              {"bnb", "nf4:dialect=bnb"},
                                              {"compressed-tensors", "int4:dialect=ct:block=32:scaletype=bf16"},
                                              {"gptq", "int4:dialect=ct:block=32:scaletype=f16"},
                                              {"llm-int8", "int8:dialect=bnb"},
                                              {"mlx", "int4:sym=no:block=32:scaletype=bf16"},
                                              {"gguf", "q4_0"},
                                              {"hdf5", "nf4:block=64"},
                                              {"npz", "int8"}};
/// The first layout without a row; null if all have one.
inline const char* layoutWithoutCase(std::span<const LayoutCase> cases) {
    for (const qs::Layout& layout : qs::layouts())
        if (std::none_of(cases.begin(), cases.end(),
                         [&](const LayoutCase& one) { return std::string_view(one.layout) == layout.id; }))
            return layout.id;
    return nullptr;
}

} // namespace clitest
