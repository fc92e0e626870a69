// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/certificate_change.h"

#include "core/layouts/certificate_path.h"

#include <unistd.h>

namespace qs {

Result<CertificateChange> CertificateChange::prepare(const Certificate& certificate, const std::string& output,
                                                     const Job& job) {
    std::uint64_t bytes = 0;
    (void)eachCertificatePiece(certificate, [&](const std::string& piece) {
        bytes += piece.size();
        return Result<void>();
    });
    auto whole = AtomicFile::create(certificatePathFor(output), bytes);
    if (!whole) return tl::unexpected(whole.error());
    const auto kept = eachCertificatePiece(certificate, [&](const std::string& piece) { return whole->write(piece); });
    if (!kept) return tl::unexpected(kept.error());
    if (auto sealed = whole->seal(job); !sealed) return tl::unexpected(sealed.error());
    return CertificateChange(certificate, output, std::move(*whole));
}

Result<void> CertificateChange::before() {
    const std::string old = certificateOf(output_), path = certificatePathFor(output_);
    if (old.empty()) return {};
    auto previous = readCertificate(old);
    // One that speaks of nothing is not kept. Of two, the one that speaks of what has the name now.
    if (!previous) return removeCertificate(output_);
    if (previous->previous) {
        auto checked = checkCertificate(old, {});
        if (!checked) return tl::unexpected(checked.error());
        previous = std::move(checked->certificate);
    }
    Certificate both = certificate_;
    both.previous = std::make_shared<Certificate>(std::move(*previous));
    const std::string text = certificateText(both);
    if (text.size() > kMostCertificate) return removeCertificate(output_);
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    if (auto kept = file->write(text); !kept) return kept;
    if (auto sealed = file->seal(); !sealed) return sealed;
    if (auto named = file->takeName(); !named) return named;
    if (old != path) ::unlink(old.c_str());
    return {};
}

Result<void> CertificateChange::after() { return whole_.takeName(); }

} // namespace qs
