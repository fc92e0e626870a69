// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/certificate.h"

#include "core/base/text.h"
#include "core/layouts/certificate_path.h"
#include "core/model/companion.h"
#include "core/report/report.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace qs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr std::array kResults = {std::pair{Comparison::Equal, "equal"}, std::pair{Comparison::Copied, "copied"},
                                 std::pair{Comparison::NotCompared, "not compared"}};
constexpr const char* kPrevious = "previous";

const char* textOf(Comparison result) {
    return std::find_if(kResults.begin(), kResults.end(), [&](const auto& row) { return row.first == result; })->second;
}

Json jsonOf(const TensorProof& one) {
    Json row;
    row["name"] = one.name;
    row["result"] = textOf(one.result);
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

void readTensor(const nlohmann::json& row, TensorProof& one) {
    one.name = row.at("name").get<std::string>();
    const auto result = row.at("result").get<std::string>();
    for (const auto& [value, text] : kResults)
        if (result == text) one.result = value;
    one.reason = row.value("reason", "");
    one.spec = row.value("spec", ""), one.specFull = row.value("spec_full", "");
    one.dtype = row.at("dtype").get<std::string>();
    one.shape = row.at("shape").get<std::vector<std::int64_t>>();
    if (row.at("read_as").is_string()) one.readAs = row.at("read_as").get<std::string>();
    one.elements = 1;
    for (const auto dim : one.shape) one.elements *= std::uint64_t(dim);
    one.bytesPredicted = row.at("bytes_predicted").get<std::uint64_t>();
    one.bytesWritten = row.at("bytes_written").get<std::uint64_t>();
}

/// Throws where a field is missing or of another type.
Certificate certificateFrom(const nlohmann::json& json) {
    Certificate c;
    c.version = json.at("quantscope").get<std::string>();
    c.source = json.at("source").get<std::string>();
    c.sourceFormat = json.at("source_format").get<std::string>();
    c.layout = json.at("layout").get<std::string>();
    for (const auto& row : json.at("files"))
        c.files.push_back({row.at("name").get<std::string>(), row.at("bytes").get<std::uint64_t>(),
                           row.at("sha256").get<std::string>()});
    if (const auto left = json.find("files_left_out"); left != json.end())
        for (const auto& row : *left)
            c.leftOut.push_back({row.at("name").get<std::string>(), row.at("why").get<std::string>()});
    for (const auto& row : json.at("tensors")) {
        TensorProof one;
        readTensor(row, one);
        c.proof.add(std::move(one));
    }
    return c;
}

/// Without the rows of its tensors, which are `rows` to come.
Json certificateJson(const Certificate& c, bool rows) {
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
    json["files"] = Json::array();
    for (const auto& file : c.files)
        json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
    if (!c.leftOut.empty()) json["files_left_out"] = Json::array();
    for (const auto& one : c.leftOut) json["files_left_out"].push_back({{"name", one.name}, {"why", one.why}});
    json["tensors"] = Json::array();
    if (rows)
        for (const auto& one : c.proof.tensors) json["tensors"].push_back(jsonOf(one));
    if (c.previous) json[kPrevious] = certificateJson(*c.previous, true);
    return json;
}

} // namespace

double Certificate::bitsPerWeight() const {
    return proof.quantizedElements ? 8.0 * double(proof.quantizedBytes) / double(proof.quantizedElements) : 0;
}

double Certificate::bitsPerWeightOfAll() const {
    return proof.elements ? 8.0 * double(proof.bytesWritten) / double(proof.elements) : 0;
}

Result<void> eachCertificatePiece(const Certificate& c, const std::function<Result<void>(const std::string&)>& take) {
    constexpr std::size_t most = std::size_t(1) << 20;
    constexpr std::string_view empty = "\n \"tensors\": []"; // the first is the certificate's own: quotes are escaped
    const auto dumped = [](const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); };
    const std::string around = dumped(certificateJson(c, false)) + "\n";
    const auto at = around.find(empty);
    if (c.proof.tensors.empty() || at == std::string::npos) return take(around);
    std::string piece = around.substr(0, at + empty.size() - 1);
    for (std::size_t i = 0; i < c.proof.tensors.size(); ++i) {
        piece += i ? ",\n  " : "\n  ";
        for (const char letter : dumped(jsonOf(c.proof.tensors[i]))) { // two deep, as in the whole
            piece += letter;
            if (letter == '\n') piece += "  ";
        }
        if (piece.size() < most) continue;
        if (auto done = take(piece); !done) return done;
        piece.clear();
    }
    return take(piece + "\n " + around.substr(at + empty.size() - 1));
}

std::string certificateText(const Certificate& c) {
    std::string text;
    (void)eachCertificatePiece(c, [&](const std::string& piece) {
        text += piece;
        return Result<void>();
    });
    return text;
}

std::string certificateRows(const Certificate& c) {
    std::string rows = "[";
    for (const auto& one : c.proof.tensors) {
        Json row{{"tensor", one.name}};
        row.update(jsonOf(one));
        row.erase("name");
        rows += (rows.size() > 1 ? "," : "") + row.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    return rows + "]";
}

Result<Certificate> parseCertificate(std::string_view text, const std::string& path) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("{} is not a certificate: {}.", escapeForPeople(path, 200), why), path);
    };
    const auto json = readJsonTree(text, kMostCertificate);
    if (!json) return wrong("it " + json.error().sentence());
    try {
        Certificate c = certificateFrom(*json);
        // Left where an export was stopped between its file and its certificate.
        if (const auto previous = json->find(kPrevious); previous != json->end())
            c.previous = std::make_shared<Certificate>(certificateFrom(*previous));
        return c;
    } catch (const nlohmann::json::exception& error) {
        return wrong(escapeForPeople(error.what(), 160));
    }
}

Result<Certificate> readCertificate(const std::string& path) {
    const auto text = readCompanion(path, kMostCertificate);
    if (!text) return tl::unexpected(text.error());
    return parseCertificate(*text, path);
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
    if (failed)
        return fail(fmt::format("{} cannot be listed: {}.", escapeForPeople(path, 200), failed.message()), path);
    std::sort(found.begin(), found.end());
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
                    proof.tensors.size(), bytesText(proof.bytesWritten));
    if (proof.proved()) return text + "opened again, every value is what was analysed.";
    return text + fmt::format("{} of {} tensors were not compared: {}.", proof.notCompared, proof.tensors.size(),
                              std::find_if(proof.tensors.begin(), proof.tensors.end(), [](const TensorProof& one) {
                                  return one.result == Comparison::NotCompared;
                              })->reason);
}

} // namespace qs
