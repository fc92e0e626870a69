// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/records/input_hash.h"

#include "core/report/report.h"

#include <QByteArray>
#include <QCryptographicHash>
#include <filesystem>

namespace qs {

std::string aboutProgram() {
    std::string out;
    for (const auto& [key, value] : machineProvenance())
        if (key == "version" || key == "formats_version" || key == "isa") out += key + " " + value + "\n";
    return out;
}

std::string sha256OfText(const std::string& text) {
    const auto hash =
        QCryptographicHash::hash(QByteArray(text.data(), qsizetype(text.size())), QCryptographicHash::Sha256);
    return hash.toHex().toStdString();
}

Result<std::string> hashOfFilesWith(const Model& model, const TensorInfo& tensor, const Job& job) {
    if (tensor.derived) return hashOfModel(model, job);
    return sha256OfFile(model.files.at(tensor.file).path, job);
}

Result<std::string> hashOfModel(const Model& model, const Job& job) {
    std::vector<std::string> paths;
    for (const ModelFile& file : model.files) paths.push_back(file.path);
    std::error_code error;
    if (!paths.empty()) {
        const auto config = std::filesystem::path(paths.front()).parent_path() / "config.json";
        if (std::filesystem::is_regular_file(config, error)) paths.push_back(config.string());
    }
    std::string all;
    for (const std::string& path : paths) {
        const auto hash = sha256OfFile(path, job);
        if (!hash) return tl::unexpected(hash.error());
        all += *hash + "\n";
    }
    return sha256OfText(all);
}

} // namespace qs
