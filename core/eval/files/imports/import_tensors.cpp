// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of single tensors: the CSV of GGUF-Tool-Suite (a row a type, a column a tensor), and losses of GPTQ.
#include "core/eval/files/imports/import_rows.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::string_view kTypeHeader = "QTYPE,";
constexpr std::size_t kMostFigures = std::size_t(1) << 22;

/// These files have the number 404 for a benchmark that was not run.
constexpr double kNotMeasured = 404;

bool isTensorCsv(std::string_view text) { return text.starts_with(kTypeHeader); }

Result<std::vector<ImportedFigure>> readTensorCsv(std::string_view text, const std::string& name) {
    const std::string file = name.substr(name.find_last_of('/') + 1);
    const std::string column = file.find("ppl") != file.npos ? "ppl" : "kl_mean";
    std::vector<ImportedFigure> out;
    std::vector<std::string_view> tensors;
    std::size_t number = 0;
    for (const std::string_view line : piecesOf(text, '\n')) {
        ++number;
        if (line.empty()) continue;
        const auto cells = piecesOf(line, ',');
        if (tensors.empty()) {
            tensors = cells;
            continue;
        }
        if (cells.size() != tensors.size())
            return fail(fmt::format("line {} has {} cells, its header {}.", number, cells.size(), tensors.size()));
        if (out.size() + cells.size() > kMostFigures) return fail("it holds more than 2^22 figures.");
        for (std::size_t i = 1; i < cells.size(); ++i) {
            ImportedFigure figure{std::string(tensors[i]), std::string(cells.front()), column, {}, {}};
            const auto value = importedNumber(cells[i]);
            if (!value && !cells[i].empty() && cells[i] != "nan" && cells[i] != "N/A")
                return fail(fmt::format("line {} has no number for tensor {}.", number, i));
            if (value && value->value != kNotMeasured) figure.value = value->value;
            out.push_back(std::move(figure));
        }
    }
    return out;
}

bool isGptqCsv(std::string_view text) { return text.starts_with("layer,module,loss"); }

ImportedFigure lossOf(std::string_view layer, std::string_view module, std::string_view loss) {
    return {fmt::format("layers.{}.{}", layer, module), "", "gptq_loss", plainNumber(loss), {}};
}

/// Reads quant_log.csv of GPTQModel. A module that was quantized in another way has no loss.
Result<std::vector<ImportedFigure>> readGptqCsv(std::string_view text, const std::string&) {
    std::vector<ImportedFigure> out;
    std::size_t number = 0;
    for (const std::string_view line : piecesOf(text, '\n')) {
        if (++number == 1 || line.empty()) continue;
        const auto cells = piecesOf(line, ',');
        if (cells.size() < 3 || !plainNumber(cells[0]))
            return fail(fmt::format("line {} has no layer, module and loss.", number));
        out.push_back(lossOf(cells[0], cells[1], cells[2]));
    }
    return out;
}

constexpr std::string_view kQuantizing = "Quantizing ", kInLayer = " in layer ", kLoss = "avg loss: ";

bool isGptqLog(std::string_view text) {
    const auto at = text.find(kQuantizing);
    return at != text.npos && text.find(kInLayer, at) != text.npos && text.find(kLoss, at) != text.npos;
}

/// AutoGPTQ: "Quantizing MODULE in layer 1/32..." and, behind it, "avg loss: 0.5".
Result<std::vector<ImportedFigure>> readGptqLog(std::string_view text, const std::string&) {
    std::vector<ImportedFigure> out;
    for (const std::string_view line : piecesOf(text, '\n')) {
        const auto quantizing = line.find(kQuantizing), layer = line.find(kInLayer);
        if (quantizing != line.npos && layer != line.npos && layer > quantizing) {
            const std::size_t begin = quantizing + kQuantizing.size();
            const std::string_view rest = line.substr(layer + kInLayer.size());
            std::uint32_t counted = 0;
            const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), counted);
            if (error != std::errc() || counted == 0) return fail("a line of a layer has no number from 1 on.");
            if (layer <= begin) return fail("a line of a layer has no module.");
            out.push_back(lossOf(std::to_string(counted - 1), trimmed(line.substr(begin, layer - begin)), {}));
        } else if (const auto loss = line.find(kLoss); loss != line.npos && !out.empty() && !out.back().value) {
            std::string_view rest = trimmed(line.substr(loss + kLoss.size()));
            out.back().value = plainNumber(rest.substr(0, rest.find_first_of(" ,;")));
        }
    }
    return out;
}

} // namespace

const ImportFormat kTensorCsv = {"tensor-csv", "a CSV of GGUF-Tool-Suite with a figure a tensor", isTensorCsv,
                                 readTensorCsv};
const ImportFormat kGptqCsv = {"gptq-csv", "quant_log.csv of GPTQModel", isGptqCsv, readGptqCsv};
const ImportFormat kGptqLog = {"gptq-log", "a log of AutoGPTQ", isGptqLog, readGptqLog};

} // namespace qs::eval
