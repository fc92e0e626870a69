// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/save.h"

#include "core/layouts/layouts.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/stored.h"

namespace qs::solve {

Result<std::uint64_t> saveSolved(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                 const std::shared_ptr<const Solved>& solved, const std::string& path, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto measured = MeasuredTensor::of(*view, spec, job);
    if (!measured) return tl::unexpected(measured.error());
    measured->setSolved(solved);
    static const Layout native = nativeLayout();
    auto made = inLayout(native, std::move(*measured));
    if (!made) return tl::unexpected(made.error());
    auto tensors = tensorsToWrite(std::make_shared<MeasuredTensor>(std::move(made->tensor)), std::move(made->fields));
    const std::map<std::string, std::string> metadata{
        {"format", "pt"},
        {std::string(kStoredPrefix) + tensor.name, storedText(tensor, spec, native, !solved->columnScales.empty())}};
    return writeSafetensors(path, std::move(tensors), metadata, &model, job);
}

} // namespace qs::solve
