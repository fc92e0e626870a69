// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/certificate.h"

#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/model/output/atomic_file.h"
#include "core/report/report.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace qs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr std::size_t kTextPiece = std::size_t(1) << 20;

std::string dumped(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

Json jsonOf(const TensorProof& one) {
    Json row;
    row["name"] = one.name;
    row["result"] = idOf(one.result);
    if (!one.reason.empty()) row["reason"] = one.reason;
    if (!one.spec.empty()) row["spec"] = one.spec.text(), row["spec_full"] = one.specFull.text();
    row["dtype"] = one.dtype.text();
    row["shape"] = one.shape.sizes();
    row["read_as"] = one.readAs.empty() ? Json(nullptr) : Json(one.readAs.text());
    row["bpw"] = one.bitsPerWeight();
    row["bytes_predicted"] = one.bytesPredicted;
    row["bytes_written"] = one.bytesWritten;
    return row;
}

/// Passes the text on once it is long enough, and begins a new one.
Result<void> takeLong(std::string& piece, const TakeText& take) {
    if (piece.size() < kTextPiece) return {};
    auto done = take(piece);
    piece.clear();
    return done;
}

/// What the loaders of the layout made of networks of this architecture, and with which versions.
Json loadersJson(const Certificate& c) {
    Json cells = Json::array();
    for (const LoaderCell* cell : c.loaders) {
        Json row{{"network", cell->network},
                 {"spec", cell->spec},
                 {"second_layer", cell->second},
                 {"result", idOf(cell->loading)}};
        if (*cell->measure) row[cell->measure] = cell->apart;
        if (*cell->reason) row["reason"] = cell->reason;
        row["programs"] = cell->programs;
        cells.push_back(std::move(row));
    }
    return {{"architecture", c.architecture.empty() ? Json(nullptr) : Json(c.architecture)},
            {"result", loadersResult(c.loaders)},
            {"tested", loadersTested()},
            {"cells", std::move(cells)}};
}

/// The certificate as JSON, without the rows of its tensors and without the previous certificate.
Json certificateJson(const Certificate& c) {
    Json json;
    json["quantscope"] = c.version;
    json["source"] = c.source;
    json["source_format"] = c.sourceFormat;
    json["layout"] = c.layout;
    json["result"] = c.proof.proved() ? "proved" : "not all compared";
    json["bpw"] = c.bitsPerWeight();
    json["bpw_all"] = c.bitsPerWeightOfAll();
    json["bytes_predicted"] = c.proof.bytesPredicted;
    json["bytes_written"] = c.proof.bytesWritten;
    json["tensors_equal"] = c.proof.equal;
    json["tensors_copied"] = c.proof.copied;
    json["tensors_not_compared"] = c.proof.notCompared;
    if (!c.missing.empty()) json["missing"] = c.missing, json["tensors_missing"] = c.missingTensors;
    if (hasLoader(c.layout)) json["loaders"] = loadersJson(c);
    json["files"] = Json::array();
    for (const auto& file : c.files)
        json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
    if (!c.leftOut.empty()) json["files_left_out"] = Json::array();
    for (const auto& one : c.leftOut) json["files_left_out"].push_back({{"name", one.name}, {"why", one.why}});
    json["tensors"] = Json::array();
    return json;
}

} // namespace

double Certificate::bitsPerWeight() const {
    return proof.quantizedElements ? 8.0 * double(proof.quantizedBytes) / double(proof.quantizedElements) : 0;
}

double Certificate::bitsPerWeightOfAll() const {
    return proof.elements ? 8.0 * double(proof.bytesWritten) / double(proof.elements) : 0;
}

Result<void> eachCertificatePiece(const Certificate& c, const TakeText& take, const MappedFile* previous) {
    constexpr std::string_view empty = "\n \"tensors\": []"; // the first is the certificate's own: quotes are escaped
    const std::string around = dumped(certificateJson(c));
    const auto at = around.find(empty) + empty.size() - 1;
    std::string piece = around.substr(0, at);
    bool isFirst = true;
    const auto rows = c.proof.tensors.each([&](const TensorProof& row) -> Result<void> {
        piece += std::exchange(isFirst, false) ? "\n  " : ",\n  ";
        for (const char letter : dumped(jsonOf(row))) { // two deep, as in the whole
            piece += letter;
            if (letter == '\n') piece += "  ";
        }
        return takeLong(piece, take);
    });
    if (!rows) return rows;
    if (!c.proof.tensors.empty()) piece += "\n ";
    piece += around.substr(at);
    if (previous) {
        piece.erase(piece.rfind("\n}"));
        if (auto done = take(piece + ",\n \"previous\": "); !done) return done;
        std::vector<std::byte> scratch;
        for (std::size_t from = 0; from < previous->size(); from += kTextPiece) {
            const auto bytes = previous->read(from, std::min(kTextPiece, previous->size() - from), scratch);
            if (auto done = take({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); !done) return done;
            previous->dropPages(from, bytes.size());
        }
        piece = "}";
    }
    return take(piece + "\n");
}

std::string certificateText(const Certificate& c) {
    std::string text;
    (void)eachCertificatePiece(c, [&](std::string_view piece) {
        text += piece;
        return Result<void>();
    });
    return text;
}

Result<void> writeCertificate(const std::string& path, const Certificate& certificate) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    auto done = eachCertificatePiece(certificate, [&](std::string_view piece) { return file->write(piece); });
    return done ? file->commit() : done;
}

Result<void> eachCertificateRow(const Certificate& c, const TakeText& take) {
    std::string piece = "[";
    bool isFirst = true;
    const auto rows = c.proof.tensors.each([&](const TensorProof& one) -> Result<void> {
        Json row{{"tensor", one.name}};
        row.update(jsonOf(one));
        row.erase("name");
        piece += (std::exchange(isFirst, false) ? "" : ",") + row.dump(-1, ' ', false, Json::error_handler_t::replace);
        return takeLong(piece, take);
    });
    return rows ? take(piece + "]") : rows;
}

Result<std::vector<CertifiedFile>> certifyFiles(const std::string& path, const std::string& output, const Job& job) {
    std::vector<CertifiedFile> files;
    const auto add = [&](const fs::path& file, const std::string& name) -> Result<void> {
        std::error_code failed;
        const auto bytes = fs::file_size(file, failed);
        auto hash = sha256OfFile(file.string(), job);
        if (!hash) return tl::unexpected(hash.error());
        files.push_back({name, std::uint64_t(bytes), std::move(*hash)});
        return {};
    };
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
        if (auto ok = add(path, fs::path(output).filename().string()); !ok) return tl::unexpected(ok.error());
        return files;
    }
    std::vector<fs::path> found;
    for (fs::recursive_directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed))
        if (it->is_regular_file(failed) && !it->path().filename().string().starts_with("."))
            found.push_back(it->path());
    if (failed) return fail(fmt::format("{} cannot be listed: {}.", shownPath(path), failed.message()), path);
    std::ranges::sort(found);
    for (const auto& file : found)
        if (auto ok = add(file, file.lexically_relative(path).string()); !ok) return tl::unexpected(ok.error());
    return files;
}

std::string summaryText(const Certificate& c) {
    const Proof& proof = c.proof;
    std::string text =
        fmt::format("{:.4f} bpw in {} quantized tensor{}, {:.4f} bpw over all {} tensors of the file; {} of "
                    "tensors written, as predicted; ",
                    c.bitsPerWeight(), proof.quantized, proof.quantized == 1 ? "" : "s", c.bitsPerWeightOfAll(),
                    proof.all(), bytesText(proof.bytesWritten));
    if (c.missingTensors > 0)
        text += fmt::format("{} of the source {} not in it; ",
                            c.missingTensors == 1 ? "1 tensor" : fmt::format("{} tensors", c.missingTensors),
                            c.missingTensors == 1 ? "is" : "are");
    if (proof.proved()) return text + "opened again, every value is what was analysed.";
    return text +
           fmt::format("{} of {} tensors were not compared: {}.", proof.notCompared, proof.all(), proof.whyNotCompared);
}

} // namespace qs
