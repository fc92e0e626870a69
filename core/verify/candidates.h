// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The specs under which a stored tensor may have been quantized.

#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

namespace qs {

/// All specs that can store such a coding: every dialect and type of scales of the formats with these levels.
std::vector<QuantSpec> specsOfCoding(const LayerCoding& coding, const std::vector<std::int64_t>& shape);
/// The specs that a tensor of the exported model may have, the most likely first; empty if nothing is known. They
/// follow from `certified` (the spec in the certificate, or ""), the metadata of the file, and the type of the tensor. `exported` is the model as it was
/// opened, not decoded.
std::vector<QuantSpec> candidateSpecs(const Model& exported, const std::string& name, const std::string& certified);

} // namespace qs
