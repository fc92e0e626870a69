// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// certificate.json: what an export is made of, its true bits per weight, its bytes as predicted and as written, a
// SHA-256 of every file, and how every tensor read back.

#include "core/export/loaders.h"
#include "core/export/proof.h"

namespace qs {

class MappedFile;

struct CertifiedFile {
    std::string name; ///< relative to the certificate's folder
    std::uint64_t bytes = 0;
    std::string sha256;
};
struct Certificate {
    std::string version;      ///< version of the program
    std::string source;       ///< name of the model's file or folder
    std::string sourceFormat; ///< "safetensors"
    std::string layout;
    std::vector<CertifiedFile> files;
    std::vector<LeftOut> leftOut; ///< files of the source's folder that were not copied
    Proof proof;
    std::string missing;              ///< missingSentence() of the source; "" if it is whole
    std::uint64_t missingTensors = 0; ///< of the source, that are in no file or cannot be read
    std::string architecture; ///< model_type in config.json, or general.architecture of GGUF; "" if there is none
    std::vector<const LoaderCell*> loaders = {}; ///< loaderCellsOf() the export; not read back
    /// The certificate of the older file with the same name. While a new file replaces the old one, the certificate
    /// describes both. It may itself have a previous one, if several exports were stopped.
    std::shared_ptr<Certificate> previous = {};
    double bitsPerWeight() const;      ///< bits per weight of the quantized tensors
    double bitsPerWeightOfAll() const; ///< bits per weight of all tensors, the copied ones included
};
std::string certificateText(const Certificate& certificate);
/// The text of a certificate is made in pieces, because it may have a million tensors.
using TakeText = std::function<Result<void>(std::string_view)>;
/// `previous` holds the certificate of the older file with the same name; null if there is none.
Result<void> eachCertificatePiece(const Certificate& certificate, const TakeText& take,
                                  const MappedFile* previous = nullptr);
Result<void> writeCertificate(const std::string& path, const Certificate& certificate);
/// Writes only the tensors, as a JSON array of rows. A row has "tensor" and the fields of the certificate.
Result<void> eachCertificateRow(const Certificate& certificate, const TakeText& take);

inline constexpr std::size_t kMostCertificate = std::size_t(1) << 30; ///< bytes
inline constexpr int kMostPrevious = 3;                               ///< certificates within each other
Result<Certificate> parseCertificate(std::string_view text, const std::string& path, ProofRows rows = ProofRows::Kept,
                                     const std::function<void(std::uint64_t)>& passed = {});
Result<Certificate> readCertificate(const std::string& path, ProofRows rows = ProofRows::Kept);
/// Hashes of a written file, or of every file of a folder but the certificate itself.
Result<std::vector<CertifiedFile>> certifyFiles(const std::string& path, const std::string& output, const Job& job);

/// A file that a certificate names, compared with the file that exists now.
struct CheckedFile {
    CertifiedFile certified;
    std::string differs; ///< "" if size and SHA-256 are those of the certificate; else what differs
};
/// A certificate, and whether the files beside it are those that it describes.
struct CheckedCertificate {
    Certificate certificate;
    std::vector<CheckedFile> files;
    bool holds() const;
};
/// Reads a certificate and checks the files that it names, which lie in its folder. If an interrupted export left two
/// certificates, it returns the one that holds.
Result<CheckedCertificate> checkCertificate(const std::string& path, const Job& job, ProofRows rows = ProofRows::Kept);
/// "All 3 files are as certified.", or which file is not and why.
std::string checkText(const CheckedCertificate& checked);

/// "4.5000 bpw in 10 quantized tensors, 5.6021 bpw over all 12 tensors of the file; 1.20 MiB of tensors written ..."
std::string summaryText(const Certificate& certificate);

} // namespace qs
