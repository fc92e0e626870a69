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
    std::vector<LeftOut> leftOut; ///< of the source's folder: not copied
    Proof proof;
    /// Of what had the file's name before: while a file changes its name, the certificate beside it speaks of both.
    std::shared_ptr<const Certificate> previous = {};
    /// Of the quantized tensors.
    double bitsPerWeight() const;
    double bitsPerWeightOfAll() const; ///< of all tensors, copied ones too
};
std::string certificateText(const Certificate& certificate);
/// The same in pieces, for certificates of a million tensors.
Result<void> eachCertificatePiece(const Certificate& certificate,
                                  const std::function<Result<void>(const std::string&)>& take);
/// Its tensors alone as a JSON array of rows: "tensor" beside the fields that the certificate has.
std::string certificateRows(const Certificate& certificate);
Result<Certificate> parseCertificate(std::string_view text, const std::string& path);
Result<Certificate> readCertificate(const std::string& path);
/// Hashes of a written file, or of every file of a folder but the certificate itself.
Result<std::vector<CertifiedFile>> certifyFiles(const std::string& path, const std::string& output, const Job& job);

/// A file that a certificate speaks of, as it is now.
struct CheckedFile {
    CertifiedFile certified;
    std::string differs; ///< "" where size and SHA-256 are the certified ones; else the reason
};
/// A certificate and whether it speaks of what lies beside it.
struct CheckedCertificate {
    Certificate certificate;
    std::vector<CheckedFile> files;
    bool holds() const;
};
/// Reads a certificate and the files that it names, which lie in its folder. Of two that an interrupted export left,
/// the one that holds.
Result<CheckedCertificate> checkCertificate(const std::string& path, const Job& job);
/// "All 3 files are as certified.", or which is not and why.
std::string checkText(const CheckedCertificate& checked);

/// "4.5000 bpw in 10 quantized tensors, 5.6021 bpw over all 12 tensors of the file; 1.20 MiB of tensors written ..."
std::string summaryText(const Certificate& certificate);

} // namespace qs
