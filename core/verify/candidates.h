// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The specs under which a stored tensor may have been quantized.

#include "core/export/certificate.h"
#include "core/model/derived_tensor.h"

namespace qs {

/// By what is stored: every dialect and type of scales of the formats with these levels.
std::vector<QuantSpec> specsOfCoding(const LayerCoding& coding, const std::vector<std::int64_t>& shape);
/// Of a tensor of the exported model: what a certificate says of it, what the file's metadata says, what its type is.
/// `exported` is the model as it was opened, not decoded. The likeliest first; empty: nothing is known.
std::vector<QuantSpec> candidateSpecs(const Model& exported, const std::string& name, const Certificate* certificate);

} // namespace qs
