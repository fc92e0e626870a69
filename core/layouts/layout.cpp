// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rows.h"
#include "core/layouts/layouts.h"

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

const Layout& defaultLayout(const QuantSpec& spec) {
    static constexpr std::array<std::int64_t, 2> shape = {4, 256}; // what every layout can cut up
    for (const Layout& layout : layouts())
        if (layout.accepts(spec, shape)) return layout;
    return layouts().back();
}

} // namespace qs
