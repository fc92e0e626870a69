// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantize, prove, certify: what every export goes through. Without a proof nothing gets its name.

#include "core/export/certificate.h"

namespace qs {

struct Exported {
    WrittenFiles written;
    Certificate certificate;
    std::string certificatePath;
};
enum class Beside { Certificate, Nothing };
/// certificate.json goes into a folder; NAME.certificate.json beside a file NAME.safetensors, unless that is to be alone:
/// then certificatePath is "".
Result<Exported> exportModel(const Model& model, QuantizeRequest request, const Job& job,
                             Beside beside = Beside::Certificate);
std::string certificatePathFor(const std::string& output);

} // namespace qs
