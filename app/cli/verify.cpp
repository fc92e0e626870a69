// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"
#include "core/export/certificate_columns.h"
#include "core/layouts/certificate_path.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

struct Options {
    std::string path, certificate;
    OutputFiles outputs;
};

Result<std::string> certificateFor(const Options& options) {
    if (!options.certificate.empty()) return options.certificate;
    std::string found = certificateOf(options.path);
    if (!found.empty()) return found;
    return fail(fmt::format("{}: there is no certificate at {}: `export` writes one, `quantize` into a folder too; use "
                            "--certificate for one that lies elsewhere.",
                            escapeForPeople(options.path, 160), escapeForPeople(certificatePathFor(options.path), 160)),
                options.path);
}

Result<void> run(const Options& options) {
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto path = certificateFor(options);
    if (!path) return tl::unexpected(path.error());
    const auto checked =
        checkCertificate(*path, processJob(), options.outputs.any() ? ProofRows::Kept : ProofRows::Counted);
    if (!checked) return tl::unexpected(checked.error());
    const Table table = makeTable({}, checkedFileColumns(), checked->files);
    if (!options.outputs.standardOutput()) {
        const std::string sentence = checked->holds() ? checkText(*checked) + "\n" : std::string();
        if (auto done = print(fmt::format("{}{}\n{}", tableText(table), summaryText(checked->certificate), sentence));
            !done)
            return done;
    }
    const auto written = options.outputs.writeJsonInPieces([&](const OutputFiles::Sink& put) {
        auto done =
            put(fmt::format("{{\"rows\": {}, \"holds\": {}, \"certificate\": ", jsonRows(table), checked->holds()));
        if (done) done = eachCertificatePiece(checked->certificate, put);
        return done ? put("}\n") : done;
    });
    if (!written) return written;
    if (checked->holds()) return {};
    return fail(checkText(*checked), *path);
}

} // namespace

Run declareVerify(CLI::App& app) {
    auto options = std::make_shared<Options>();
    option(app, "EXPORTED", options->path, "A file or folder that `quantize` or `export` wrote")
        .required()
        .type("")
        .reads();
    option(app, "--certificate", options->certificate,
           "Its certificate, beside the files that it names (default: certificate.json in\n"
           "the folder, FILE.certificate.json beside a file)")
        .type("FILE")
        .reads();
    options->outputs.declare(app, {"json"});
    return [options] { return run(*options); };
}

} // namespace qs::cli
