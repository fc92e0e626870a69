// SPDX-License-Identifier: GPL-3.0-or-later
// Command verify: an export against its original, or against the certificate beside it.
#include "core/verify/verify.h"
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

struct VerifyOptions {
    std::string first;    ///< the original, or the export alone
    std::string exported; ///< "": the first is an export alone
    std::string certificate;
    std::vector<std::string> failOn;
    OutputFiles outputs;
    std::string commandLine;
};

Result<std::string> certificateFor(const VerifyOptions& options) {
    if (!options.certificate.empty()) return options.certificate;
    const std::string& path = options.first;
    std::string found = certificateOf(path);
    if (!found.empty()) return found;
    return fail(fmt::format("{}: there is no certificate at {}: `export` writes one, `quantize` into a folder too; use "
                            "--certificate for one that lies elsewhere, or name the original before it.",
                            escapeForPeople(path, 160), escapeForPeople(certificatePathFor(path), 160)),
                path);
}

/// Whether the files are still those of their certificate.
Result<void> checkFiles(const VerifyOptions& options) {
    if (!options.failOn.empty())
        return fail("--fail-on compares with an original: name it before the export.", options.first);
    for (const char* id : {"csv", "html", "pdf", "md"})
        if (options.outputs.wants(id))
            return fail(fmt::format("--{} compares with an original: name it before the export.", id), options.first);
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

Result<void> printVerification(const Verification& found) {
    std::vector<std::string_view> ids = {"tensor", "spec", "derives", "nmse", "bpw", "differing", "status", "reason"};
    if (narrowTerminal()) std::erase(ids, "differing"), std::erase(ids, "reason");
    std::string text = tableText(withColumns(makeTable({}, verifiedColumns(), found.tensors), ids));
    if (!found.claims.empty()) text += "\n" + tableText(makeTable({}, claimColumns(), found.claims));
    return print(text + "\n" + verificationText(found) + "\n");
}

/// Against the original.
Result<void> compare(const VerifyOptions& options) {
    if (!options.certificate.empty())
        return fail("--certificate is for an export without its original; beside one it is found by itself.",
                    options.certificate);
    const auto limits = parseLimits(options.failOn, verifyLimits());
    if (!limits) return tl::unexpected(limits.error());
    const auto original = openServed(options.first);
    if (!original) return tl::unexpected(original.error());
    const auto exported = open(options.exported);
    if (!exported) return tl::unexpected(exported.error());
    const VerifyRequest request{*original, *exported, options.exported};
    const auto found = verifyExport(request, processJob());
    if (!found) return tl::unexpected(found.error());
    if (!options.outputs.standardOutput())
        if (auto done = printVerification(*found); !done) return done;
    if (options.outputs.any()) {
        auto report = verifyReport(request, *found, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        auto paths = pathsOf(original->get());
        for (auto& path : pathsOf(exported->get())) paths.push_back(std::move(path));
        paths.insert(paths.end(), {options.first, options.exported});
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    }
    const std::string broken = brokenLimit(*found, *limits);
    if (broken.empty()) return {};
    return fail(fmt::format("{}: {} (--fail-on).", escapeForPeople(options.exported, 160), broken), options.exported);
}

} // namespace

Run declareVerify(CLI::App& app) {
    auto options = std::make_shared<VerifyOptions>();
    addAs(app);
    option(app, "ORIGINAL", options->first,
           "The model that an export was made from. Alone: what `quantize` or `export`\n"
           "wrote, checked by its certificate")
        .required()
        .type("")
        .reads();
    option(app, "EXPORTED", options->exported, "The export, made by any program: it is compared with the original")
        .type("")
        .reads();
    option(app, "--certificate", options->certificate,
           "Of an export alone: its certificate, beside the files that it names (default:\n"
           "certificate.json in the folder, FILE.certificate.json beside a file)")
        .type("FILE")
        .reads();
    std::string kinds;
    for (const LimitKind& kind : verifyLimits())
        kinds += fmt::format("{}{}{}", kinds.empty() ? "" : ", ", kind.id, kind.isFigure ? ">N" : "");
    option(app, "--fail-on", options->failOn,
           "Exit with 1 when this is found; repeat for more:\n" + kinds + "\n(default: never)")
        .type("LIMIT")
        .oneAtATime()
        .check([](const std::string& text) {
            const auto limit = parseLimit(text, verifyLimits());
            return limit ? std::string() : limit.error().message;
        });
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        if (auto fine = options->outputs.check(); !fine) return fine;
        if (options->exported.empty()) return checkFiles(*options);
        options->commandLine = "quantscope-cli verify " + options->first + " " + options->exported;
        for (const auto& limit : options->failOn) options->commandLine += " --fail-on '" + limit + "'";
        return compare(*options);
    };
}

} // namespace qs::cli
