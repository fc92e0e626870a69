// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Every export: quantize, prove, certify. Files get their names only after the proof.

#include "core/export/certificate.h"

namespace qs {

struct Exported {
    WrittenFiles written;
    Certificate certificate;
    std::string certificatePath;
    /// Seconds of all cores in this process: to read, quantize, write and read back, and beside it to prove and hash.
    double cpuOfWriting = 0, cpuOfProof = 0;
};
enum class Beside { Certificate, Nothing };
/// certificate.json goes into a folder; NAME.safetensors.certificate.json beside a file NAME.safetensors, unless that
/// is to be alone: then certificatePath is "". See certificate_change.h for what happens when there is one already.
Result<Exported> exportModel(const Model& model, QuantizeRequest request, const Job& job,
                             Beside beside = Beside::Certificate);

} // namespace qs
