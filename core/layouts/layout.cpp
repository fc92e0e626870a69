// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rows.h"
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"

#include <QRegularExpression>
#include <array>
#include <fmt/format.h>

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

Result<std::function<bool(const TensorInfo&)>> tensorFilter(const std::string& regex) {
    using Takes = std::function<bool(const TensorInfo&)>;
    if (regex.empty()) return Takes([](const TensorInfo& tensor) { return tensor.isWeight(); });
    const QRegularExpression filter(wideText(regex));
    if (!filter.isValid())
        return fail(fmt::format("the tensor filter '{}' is not a regular expression: {} at character {}",
                                escapeForPeople(regex, 80), filter.errorString().toStdString(),
                                filter.patternErrorOffset()));
    return Takes(
        [filter](const TensorInfo& tensor) {
            return tensor.role != TensorRole::Part && filter.match(wideText(tensor.name)).hasMatch();
        });
}

Result<std::vector<const TensorInfo*>> selectTensors(const Model& model, const std::string& regex) {
    const auto takes = tensorFilter(regex);
    if (!takes) return tl::unexpected(takes.error());
    std::vector<const TensorInfo*> taken;
    for (const TensorInfo& tensor : model.tensors)
        if ((*takes)(tensor)) taken.push_back(&tensor);
    return taken;
}

} // namespace qs
