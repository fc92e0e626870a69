// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rows.h"
#include "core/layouts/layouts.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <array>

namespace qs {

std::span<const Layout> layouts() {
    static const std::array table = {
        eformerLayout(), nativeLayout(),  plainLayout(), bnbLayout(),  compressedTensorsLayout(),
        gptqLayout(),    llmInt8Layout(), mlxLayout(),   ggufLayout(), hdf5Layout(),
        npzLayout()};
    return table;
}

const Layout* findLayout(std::string_view id) { return rowOf(layouts(), id); }

std::string_view fileEnding(std::string_view output) {
    static constexpr std::string_view kUsual = ".safetensors";
    if (output.ends_with(kUsual)) return kUsual;
    for (const Layout& layout : layouts())
        if (layout.fileEnding && output.ends_with(layout.fileEnding)) return layout.fileEnding;
    return {};
}

namespace {

bool holdsMatrix(const Layout& layout, const QuantSpec& spec) {
    static constexpr std::array<std::int64_t, 2> shape = {4, 256}; // what every layout can cut up
    return bool(layout.accepts(spec, shape));
}

} // namespace

const Layout& defaultLayout(const QuantSpec& spec) {
    for (const Layout& layout : layouts())
        if (spec.dialect && layout.dialect && isOf(spec, *layout.dialect) && holdsMatrix(layout, spec)) return layout;
    for (const Layout& layout : layouts())
        if (holdsMatrix(layout, spec)) return layout;
    return layouts().back();
}

const Layout& defaultLayout(std::span<const QuantSpec* const> specs) {
    if (specs.empty()) return layouts().front();
    const Layout& first = defaultLayout(*specs.front());
    if (std::ranges::all_of(specs, [&](const QuantSpec* spec) { return &defaultLayout(*spec) == &first; }))
        return first;
    for (const Layout& layout : layouts())
        if (std::ranges::all_of(specs, [&](const QuantSpec* spec) { return holdsMatrix(layout, *spec); }))
            return layout;
    return first;
}

} // namespace qs
