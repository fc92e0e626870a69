// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/export_model.h"

#include "core/base/text.h"
#include "core/export/certificate_change.h"
#include "core/layouts/certificate_path.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/output/atomic_file.h"
#include "core/report/report.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <optional>
#include <set>

namespace qs {
namespace {

namespace fs = std::filesystem;

bool isFile(const std::string& output) { return !fileEnding(output).empty(); }

/// CPU time of all threads of this process, in seconds.
double cpuSeconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// Makes the proof. Meanwhile another thread computes the hashes of the files.
Result<void> proveAndHash(const Model& model, const std::string& path, const std::string& output,
                          const WrittenModel& what, Certificate& certificate, ProofRows rows, const Job& job) {
    auto hashing = std::async(std::launch::async, [&] { return certifyFiles(path, output, job); });
    auto proof = prove(model, what, path, job, rows);
    auto files = hashing.get();
    if (!proof) return tl::unexpected(proof.error());
    if (!files) return tl::unexpected(files.error());
    certificate.proof = std::move(*proof);
    certificate.files = std::move(*files);
    return {};
}

std::string architectureOf(const Model& model) {
    if (!model.files.empty()) // of GGUF
        if (const auto& said = model.files.front().metadata; said.contains("general.architecture"))
            return said.at("general.architecture");
    return readCheckpointConfig(model).modelType;
}

/// The cells of the loader table for what was written.
void findLoaders(const Model& model, const QuantizeRequest& request, Certificate& certificate) {
    if (!hasLoader(certificate.layout)) return;
    certificate.architecture = architectureOf(model);
    std::set<std::string> formats, specs;
    (void)certificate.proof.tensors.each([&](const TensorProof& row) -> Result<void> {
        const std::string_view spec = row.spec.text();
        if (!spec.empty()) formats.emplace(spec.substr(0, spec.find(':'))), specs.emplace(row.specFull.text());
        return {};
    });
    ExportedSpecs exported{{formats.begin(), formats.end()}, specs.size() > 1, {}};
    for (const TensorRule& rule : request.rules)
        if (!rule.spec) exported.kept.push_back(rule.regex + "=keep");
    if (request.keepsRest || !request.choice.filters.empty()) exported.kept.emplace_back("keep");
    if (request.skipRefused) exported.kept.emplace_back("refused=keep");
    certificate.loaders = loaderCellsOf(certificate.architecture, certificate.layout, exported);
}

/// A sentence if the programs that the layout is made for load no such network, or were not tried with one.
std::string withoutLoader(const Certificate& certificate) {
    if (certificate.loaders.empty() && !certificate.architecture.empty())
        return fmt::format(
            "No program was tried with such an export of a network of type {} in layout {}: load it, and "
            "compare its outputs before you use it.",
            escapeForPeople(certificate.architecture, 40), certificate.layout);
    const auto none = std::ranges::find_if(certificate.loaders, [](const LoaderCell* cell) {
        return cell->loading == Loading::NoLoader || cell->loading == Loading::Fails;
    });
    if (none == certificate.loaders.end()) return {};
    return fmt::format("No program that was tried loads a network of type {} in layout {}: {} ({}).",
                       escapeForPeople(certificate.architecture, 40), certificate.layout, (*none)->reason,
                       (*none)->programs);
}

} // namespace

Result<Exported> exportModel(const Model& model, QuantizeRequest request, const Job& job, Beside beside,
                             ProofRows rows) {
    Exported out;
    if (beside == Beside::Certificate || !isFile(request.output))
        out.certificatePath = certificatePathFor(request.output);
    if (!out.certificatePath.empty()) rows = ProofRows::Kept;
    Certificate& certificate = out.certificate;
    certificate.version = toolVersion();
    certificate.source = model.title, certificate.sourceFormat = model.format;
    certificate.missing = missingSentence(model);
    certificate.missingTensors =
        model.missing.tensors + std::uint64_t(std::ranges::count_if(model.tensors, &TensorInfo::isUnread));
    const auto layout = requestedLayout(request);
    if (!layout) return tl::unexpected(layout.error());
    certificate.layout = (*layout)->id;
    const double begin = cpuSeconds();
    std::optional<CertificateChange> change; // of a single file
    request.prove = [&](const std::string& path, const WrittenModel& what,
                        const std::vector<LeftOut>& leftOut) -> Result<void> {
        const double written = cpuSeconds();
        certificate.leftOut = leftOut;
        if (auto good = proveAndHash(model, path, request.output, what, certificate, rows, job); !good) return good;
        findLoaders(model, request, certificate);
        out.cpuOfProof = cpuSeconds() - written;
        if (!isFile(request.output))
            return writeCertificate((fs::path(path) / "certificate.json").string(), certificate);
        if (out.certificatePath.empty()) return {};
        if (auto apart = notAnOpenedInput(out.certificatePath, &model); !apart) return apart;
        auto made = CertificateChange::prepare(certificate, request.output, job);
        if (!made) return tl::unexpected(made.error());
        change.emplace(std::move(*made));
        return {};
    };
    if (isFile(request.output) && !out.certificatePath.empty()) {
        request.before = [&] { return change->before(); };
        request.after = [&] { return change->after(); };
    }
    auto written = quantizeModel(model, request, job);
    if (!written) return tl::unexpected(written.error());
    out.written = std::move(*written);
    if (auto sentence = withoutLoader(certificate); !sentence.empty())
        out.written.warnings.push_back(std::move(sentence));
    if (!out.written.isWhole) return out;
    if (change) out.written.paths.push_back(out.certificatePath);
    out.cpuOfWriting = cpuSeconds() - begin - out.cpuOfProof;
    return out;
}

} // namespace qs
