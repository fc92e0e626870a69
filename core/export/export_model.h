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
class UnitRun;

/// Writes the files of a folder of safetensors as units that several processes share. A written file is kept in the
/// folder of the records. Only the process for which no file is missing puts the folder together and proves all of it;
/// in the others WrittenFiles::isWhole is false. Error: the output is not such a folder.
Result<void> shareFiles(UnitRun& units, const Model& model, QuantizeRequest& request, const Job& job);

/// certificate.json goes into a folder; NAME.safetensors.certificate.json beside a file NAME.safetensors, unless that
/// is to be alone: then certificatePath is "". See certificate_change.h for what happens when there is one already.
/// `rows`: with Counted, Exported::certificate has no rows where no certificate is written.
Result<Exported> exportModel(const Model& model, QuantizeRequest request, const Job& job,
                             Beside beside = Beside::Certificate, ProofRows rows = ProofRows::Kept);

} // namespace qs
