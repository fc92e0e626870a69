// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/certificate_change.h"

#include "core/layouts/certificate_path.h"
#include "core/model/mapped_file.h"

#include <unistd.h>

namespace qs {
namespace {

/// Gives a certificate the name, while the lock of its folder is held.
Result<void> putNow(const std::string& path, const Certificate& certificate, const MappedFile* previous) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    const auto kept = eachCertificatePiece(
        certificate, [&](std::string_view piece) { return file->write(piece); }, previous);
    if (!kept) return kept;
    if (previous)
        if (auto same = previous->unchanged(); !same) return same;
    if (auto sealed = file->seal(); !sealed) return sealed;
    return file->takeName();
}

} // namespace

Result<CertificateChange> CertificateChange::prepare(const Certificate& certificate, const std::string& output,
                                                     const Job& job) {
    std::uint64_t bytes = 0;
    (void)eachCertificatePiece(certificate, [&](std::string_view piece) {
        bytes += piece.size();
        return Result<void>();
    });
    auto whole = AtomicFile::create(certificatePathFor(output), bytes);
    if (!whole) return tl::unexpected(whole.error());
    const auto kept = eachCertificatePiece(certificate, [&](std::string_view piece) { return whole->write(piece); });
    if (!kept) return tl::unexpected(kept.error());
    if (auto sealed = whole->seal(job); !sealed) return tl::unexpected(sealed.error());
    return CertificateChange(certificate, output, bytes, std::move(*whole));
}

Result<void> CertificateChange::before() {
    const std::string old = certificateOf(output_), path = certificatePathFor(output_);
    if (old.empty()) return {};
    const auto previous = readCertificate(old, ProofRows::Counted);
    if (!previous) return removeCertificate(output_); // it cannot be read, so it describes no file
    if (previous->previous) { // an earlier export was stopped between two steps: keep the certificate that holds
        const auto checked = checkCertificate(old, {});
        if (!checked) return tl::unexpected(checked.error());
        if (auto kept = putNow(old, checked->certificate, nullptr); !kept) return kept;
    }
    const auto text = MappedFile::open(old);
    if (!text) return tl::unexpected(text.error());
    if ((*text)->size() + bytes_ > kMostCertificate) return removeCertificate(output_);
    if (auto named = putNow(path, *certificate_, text->get()); !named) return named;
    if (old != path) ::unlink(old.c_str());
    return {};
}

Result<void> CertificateChange::after() { return whole_.takeName(); }

} // namespace qs
