// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/export_model.h"

#include "core/model/atomic_file.h"
#include "core/report/report.h"

#include <filesystem>
#include <optional>

namespace qs {
namespace {

namespace fs = std::filesystem;

bool isFile(const std::string& output) { return !fileEnding(output).empty(); }

} // namespace

std::string certificatePathFor(const std::string& output) {
    if (!isFile(output)) return (fs::path(output) / "certificate.json").string();
    return output.substr(0, output.size() - fileEnding(output).size()) + ".certificate.json";
}

Result<Exported> exportModel(const Model& model, QuantizeRequest request, const Job& job, Beside beside) {
    Exported out;
    if (beside == Beside::Certificate || !isFile(request.output))
        out.certificatePath = certificatePathFor(request.output);
    Certificate& certificate = out.certificate;
    certificate.version = toolVersion();
    certificate.source = model.title, certificate.sourceFormat = model.format;
    certificate.layout = request.layout.empty() ? "eformer" : request.layout;
    std::optional<AtomicFile> second; // of a single file; made before that has its name, so that both can be written
    request.prove = [&](const std::string& path, const std::vector<WrittenTensor>& tensors) -> Result<void> {
        auto proof = prove(model, tensors, path, job);
        if (!proof) return tl::unexpected(proof.error());
        certificate.proof = std::move(*proof);
        auto files = certifyFiles(path, request.output, job);
        if (!files) return tl::unexpected(files.error());
        certificate.files = std::move(*files);
        const std::string text = certificateText(certificate);
        if (!isFile(request.output)) return writeWholeFile((fs::path(path) / "certificate.json").string(), text);
        if (out.certificatePath.empty()) return {};
        if (auto apart = notAnOpenedInput(out.certificatePath, &model); !apart) return apart;
        auto file = AtomicFile::create(out.certificatePath, text.size());
        if (!file) return tl::unexpected(file.error());
        second.emplace(std::move(*file));
        return second->write(text);
    };
    auto written = quantizeModel(model, request, job);
    if (!written) return tl::unexpected(written.error());
    out.written = std::move(*written);
    if (second)
        if (auto done = second->commit(); !done) return tl::unexpected(done.error());
    if (!out.certificatePath.empty()) out.written.paths.push_back(out.certificatePath);
    return out;
}

} // namespace qs
