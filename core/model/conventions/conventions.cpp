// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/convention.h"

#include "core/model/conventions/checkpoint.h"

#include <memory>

namespace qs {

std::span<const Convention> conventions() {
    static const Convention all[] = {kBnb4Convention,      kBnb8Convention,       kGptqConvention,
                                     kAwqConvention,       kCompressedConvention, kMlxConvention,
                                     kFp8BlocksConvention, kMxfp4BlocksConvention};
    return all;
}

void deriveLayers(Model& model) {
    std::unique_ptr<Checkpoint> checkpoint; // made where a name says that it is needed
    for (const Convention& convention : conventions())
        for (std::size_t i = 0; i < model.tensors.size(); ++i) {
            const TensorInfo& tensor = model.tensors[i];
            for (const std::string_view end : convention.ends) {
                if (!tensor.name.ends_with(end) || tensor.packed || tensor.derived) continue;
                if (!checkpoint) checkpoint = std::make_unique<Checkpoint>(model);
                if (checkpoint->find(tensor.name)) convention.take(*checkpoint, tensor, end);
                break;
            }
        }
    if (checkpoint) checkpoint->finish(model);
}

} // namespace qs
