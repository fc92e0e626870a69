// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/trained.h"

#include "core/base/text.h"
#include "core/quant/codebook/user_formats.h"

#include <fmt/format.h>

namespace qs::value {

Result<QuantSpec> keepTrained(const std::string& id, const Model& model, const TensorInfo& tensor,
                              const QatResult& result, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const TrainedTensor trained{*view, std::make_shared<const std::vector<float>>(result.latent.values),
                                fmt::format("output NMSE {} instead of {}", significantText(result.bestLoss),
                                            significantText(result.startLoss))};
    return saveTrained(id, result.spec, trained, userFormatsFolder(), job);
}

} // namespace qs::value
