// SPDX-License-Identifier: GPL-3.0-or-later
// export and verify: checkpoints that are written and proved, and checked again.
#include "app/python/calibration.h"
#include "core/base/text.h"
#include "core/export/certificate_columns.h"
#include "core/export/export_model.h"
#include "core/export/recipe.h"
#include "core/export/run_files.h"
#include "core/layouts/certificate_path.h"
#include "core/layouts/select.h"
#include "core/recipes/resolve.h"
#include "core/verify/verify.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {
namespace {

void checkLayout(const std::string& id) {
    if (id.empty() || findLayout(id)) return;
    std::string known;
    for (const auto& layout : layouts()) known += (known.empty() ? "" : ", ") + std::string(layout.id);
    throw Fault(Error{fmt::format("There is no layout '{}'; the layouts are {}.", escapeForPeople(id), known), {}});
}

Rows exported(const OpenModel& model, const std::string& output, const Texts& specs, const std::string& recipe,
              const std::string& layout, const Texts& filters, bool skipRefused, bool copyAll, bool force,
              bool allowMissing, Calibration calibration, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        if (specs.empty() == recipe.empty())
            throw Fault(
                Error{"export needs specs or a recipe that say which tensor gets which spec: give one of them.", {}});
        checkLayout(layout);
        RunFiles files;
        files.reads(*model.opened());
        if (!recipe.empty()) files.reads(recipe, "the recipe");
        calibration.open();
        std::vector<std::string> inputs;
        calibration.addInputs(inputs);
        for (const auto& input : inputs) files.reads(input, "the calibration inputs");
        files.exports(output, "the output", true);
        take(files.apart());
        take(files.mayBeWritten(force, "force=True"));
        const auto served = model.served(job);
        take(selectAny(*served, TensorChoice{filters}));
        const Recipe rules = recipe.empty() ? take(recipeOfSpecs(specs)) : take(readRecipeFor(recipe, *served));
        QuantizeRequest request{{}, TensorChoice{filters}, layout, output};
        request.skipRefused = skipRefused, request.copyAll = copyAll, request.allowMissing = allowMissing;
        rules.applyTo(request);
        std::vector<solve::SolveRow> solved;
        calibration.fill(request, solved, job);
        const Exported done = take(exportModel(*served, request, job));
        Rows out = Rows::of(proofColumns(), take(done.certificate.proof.tensors.all()));
        out.summary = summaryText(done.certificate);
        for (const auto& remark : done.written.remarks) out.summary += "\n" + remark;
        for (const auto& warning : done.written.warnings) out.summary += "\nWarning: " + warning;
        for (const auto& [name, why] : done.written.leftOut)
            out.summary += fmt::format("\n{} is left out: {}.", escapeForPeople(name, 200), why);
        for (const auto& [name, reason] : done.written.skipped)
            out.summary += fmt::format("\n{} stays as it is: {}", escapeForPeople(name, 80), oneSentence(reason));
        for (const auto& [name, reason] : done.written.kept)
            out.summary += fmt::format("\n{} stays as it is: {}", escapeForPeople(name, 80), oneSentence(reason));
        out.add("files", certifiedFileColumns(), done.certificate.files);
        if (!solved.empty()) out.add("solved", solve::solveColumns(), solved);
        return out;
    });
}

/// The files of an export against its certificate.
Rows checked(const std::string& path, std::string certificate, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        if (certificate.empty()) certificate = certificateOf(path);
        if (certificate.empty())
            throw Fault(Error{fmt::format("{}: there is no certificate at {}; give certificate=FILE for one that lies "
                                          "elsewhere, or the original and the export.",
                                          escapeForPeople(path, 160), escapeForPeople(certificatePathFor(path), 160)),
                              path});
        const CheckedCertificate found = take(checkCertificate(certificate, job, ProofRows::Kept));
        if (!found.holds()) throw Fault(Error{checkText(found), certificate});
        Rows out = Rows::of(checkedFileColumns(), found.files);
        out.summary = summaryText(found.certificate) + "\n" + checkText(found);
        out.add("tensors", proofColumns(), take(found.certificate.proof.tensors.all()));
        return out;
    });
}

/// An export of any program against its original.
Rows verified(const OpenModel& original, const OpenModel& exported, const std::string& path, const Texts& failOn,
              const std::string& call, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        const auto limits = take(parseLimits(failOn, verifyLimits()));
        const VerifyRequest request{original.served(job), exported.opened(), path};
        const auto found = std::make_shared<const Verification>(take(verifyExport(request, job)));
        if (const auto broken = brokenLimit(*found, limits); !broken.empty())
            throw Fault(Error{fmt::format("{}: {} (--fail-on).", escapeForPeople(path, 160), broken), path});
        Rows out = Rows::of(verifiedColumns(), found->tensors);
        out.summary = verificationText(*found);
        out.add("claims", claimColumns(), found->claims);
        out.report = [request, found, call](const Job& at) { return verifyReport(request, *found, call, at); };
        addInputs(*request.original, out.inputs), addInputs(*request.exported, out.inputs);
        return out;
    });
}

} // namespace

void bindExports(py::module_& module) {
    module.def("export", &exported);
    module.def("check_certificate", &checked);
    module.def("verify", &verified);
}

} // namespace qs::python
