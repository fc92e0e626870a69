// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_json.h"
#include "core/session/kept_results.h"

namespace qs {
namespace kept {
namespace {

struct ExportKept {
    std::string layout, path, certificate; ///< certificate: its JSON text; empty if none
};

} // namespace

template<class Io> static void fields(Io& io, ExportKept& all) {
    io("layout", all.layout);
    io("path", all.path);
    io.longText("certificate", all.certificate);
}

} // namespace kept

std::string keptExport(const KeptExport& shown) {
    return kept::textOf(kept::ExportKept{shown.layout, shown.path,
                                         shown.certificate ? certificateText(*shown.certificate) : std::string()});
}

Result<KeptExport> exportKept(const std::string& text) {
    auto all = kept::fromText<kept::ExportKept>(text);
    if (!all) return fail("the kept export is damaged: " + all.error());
    KeptExport shown{std::move(all->layout), std::move(all->path), {}};
    if (all->certificate.empty()) return shown;
    auto certificate = parseCertificate(all->certificate, shown.path);
    if (!certificate) return tl::unexpected(certificate.error());
    shown.certificate = std::move(*certificate);
    return shown;
}

} // namespace qs
