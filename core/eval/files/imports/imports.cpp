// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/files/imports/imports.h"

#include "core/base/text.h"
#include "core/eval/files/imports/import_rows.h"
#include "core/eval/scores/score_summary.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {

std::span<const ImportFormat> importFormats() {
    static const ImportFormat formats[] = {kLlamaTable, kLlamaLog, kTensorCsv, kGptqCsv, kGptqLog};
    return formats;
}

Result<std::vector<ImportedFigure>> importFigures(std::string_view text, const std::string& path) {
    const std::string name = shownPath(path);
    for (const ImportFormat& format : importFormats()) {
        if (!format.looksLike(text)) continue;
        auto figures = format.read(text, path);
        if (!figures) return fail(fmt::format("{}, read as {}: {}", name, format.title, figures.error().message), path);
        if (figures->empty()) return fail(fmt::format("{}, read as {}, holds no figures.", name, format.title), path);
        return figures;
    }
    std::string known;
    for (const ImportFormat& format : importFormats()) known += (known.empty() ? "" : ", ") + std::string(format.title);
    return fail(fmt::format("{} is none of what can be imported: {}.", name, known), path);
}

Result<std::vector<ImportedFigure>> importFile(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if ((*file)->size() > kMostImportBytes)
        return fail(fmt::format("{} is longer than the 64 MiB that a log may have.", shownPath(path)), path);
    std::vector<std::byte> scratch;
    const auto bytes = (*file)->read(0, (*file)->size(), scratch);
    auto figures = importFigures({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    if (auto same = (*file)->unchanged(); !same) return tl::unexpected(same.error());
    return figures;
}

std::optional<ImportedFloor> estimatedFloor(std::span<const ImportedFigure> figures, std::string_view column,
                                            std::string_view spec) {
    constexpr std::size_t kFewestTensors = 20;
    std::vector<double> values;
    for (const ImportedFigure& figure : figures)
        if (!figure.tensor.empty() && figure.value && figure.column == column && figure.spec == spec)
            values.push_back(*figure.value);
    if (values.size() < kFewestTensors) return {};
    std::ranges::sort(values);
    const double floor = percentile(values, 0.05), median = percentile(values, 0.5);
    return ImportedFloor{floor, median > 0 ? floor / median : 0.0};
}

} // namespace qs::eval
