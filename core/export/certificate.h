// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// certificate.json: what an export is made of, its true bits per weight, its bytes as predicted and as written, a
// SHA-256 of every file, and how every tensor read back.

#include "core/export/proof.h"

namespace qs {

struct CertifiedFile {
    std::string name; ///< relative to the certificate's folder
    std::uint64_t bytes = 0;
    std::string sha256;
};
struct Certificate {
    std::string version;      ///< of the program
    std::string source;       ///< name of the model's file or folder
    std::string sourceFormat; ///< "safetensors"
    std::string layout;
    std::vector<CertifiedFile> files;
    Proof proof;
    /// Of the quantized tensors.
    double bitsPerWeight() const;
    double bitsPerWeightOfAll() const; ///< of all tensors, copied ones too
};
std::string certificateText(const Certificate& certificate);
/// Its tensors alone as a JSON array of rows: "tensor" beside the fields that the certificate has.
std::string certificateRows(const Certificate& certificate);
Result<Certificate> readCertificate(const std::string& path);
Result<Certificate> parseCertificate(const std::string& text, const std::string& path); ///< path: for sentences
/// Hashes of a written file, or of every file of a folder but the certificate itself.
Result<std::vector<CertifiedFile>> certifyFiles(const std::string& path, const std::string& output, const Job& job);
/// "4.5000 bpw in 10 quantized tensors, 5.6021 bpw over all 12 tensors of the file; 1.20 MiB of tensors written ..."
std::string summaryText(const Certificate& certificate);

} // namespace qs
