// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/save.h"

#include "core/layouts/produce.h"
#include "core/layouts/stored.h"

namespace qs::solve {

Result<std::uint64_t> saveSolved(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                 const std::shared_ptr<const Solved>& solved, const std::string& path, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto source = makeSource(*view, spec, job);
    if (!source) return tl::unexpected(source.error());
    (*source)->solved = solved;
    const Layout& native = *findLayout("native");
    auto tensors = native.writeFrom(*source);
    if (!tensors) return tl::unexpected(tensors.error());
    const std::map<std::string, std::string> metadata{
        {"format", "pt"},
        {std::string(kStoredPrefix) + tensor.name, storedText(tensor, spec, native.id, !solved->columnScales.empty())}};
    return writeSafetensors(path, std::move(*tensors), metadata, &model, job);
}

} // namespace qs::solve
