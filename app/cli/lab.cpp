// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/lab.h"

#include "app/cli/interrupt.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis_report.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::cli {

void addLabTensor(CLI::App& app, std::string& name) {
    option(app, "--tensor", name, "The tensor: its name, or a regular expression that takes one")
        .type("REGEX")
        .required();
}

Result<void> sayNeed(const MemoryNeed& need) {
    if (auto fits = fitsMemory(need); !fits) return fits;
    if (const auto bytes = need.bytes(need.size); bytes >= std::uint64_t(1) << 30)
        warn(fmt::format("{} takes about {} of memory.", need.what, bytesText(bytes)));
    return {};
}

Result<LabTensor> labTensor(const std::string& path, const std::string& name, bool flat,
                            const std::function<MemoryNeed(const TensorInfo&)>& need) {
    const EndsAtOnce reading;
    const auto opened = open(path);
    if (!opened) return tl::unexpected(opened.error());
    Model decoded; // a list of its own, where the file's list has tensors that are stored quantized
    if (hasStoredTensors(**opened)) {
        auto listing = servedListing(**opened);
        if (!listing) return tl::unexpected(listing.error());
        decoded = std::move(*listing);
    }
    const Model& listed = decoded.tensors.empty() ? **opened : decoded;
    const auto named =
        std::ranges::find_if(listed.tensors, [&](const TensorInfo& tensor) { return tensor.name == name; });
    const TensorInfo* found = named == listed.tensors.end() ? nullptr : &*named;
    if (!found) {
        const auto taken = select(listed, {name});
        if (!taken) return tl::unexpected(taken.error());
        if (taken->size() > 1)
            return fail(fmt::format("--tensor '{}' takes {} tensors, the first two are {} and {}: name one",
                                    escapeForPeople(name, 80), taken->size(), escapeForPeople(taken->at(0)->name, 80),
                                    escapeForPeople(taken->at(1)->name, 80)),
                        path);
        found = taken->front();
    }
    if (!info(found->dtype).quantizable)
        return fail(fmt::format("tensor '{}' is {}: only floats of 8 to 64 bits are quantized",
                                escapeForPeople(found->name), found->typeId()),
                    path);
    if (need)
        if (auto fits = sayNeed(need(*found)); !fits) return tl::unexpected(fits.error());
    const auto model = servedTensor(*opened, found->name, processJob());
    if (!model) return tl::unexpected(model.error());
    found = (*model)->find(found->name);
    const auto view = (*model)->view(*found);
    if (!view) return tl::unexpected(view.error());
    auto values = value::loadTensor(*view);
    if (!values) return tl::unexpected(values.error());
    if (flat) {
        const std::int64_t last = found->lastAxis();
        values->shape = {last ? std::int64_t(found->elements) / last : 0, last};
        values->dtype = DType::F32;
    }
    return LabTensor{*opened, *model, found, std::move(*values)};
}

Result<std::shared_ptr<const value::InputFile>> labInputs(const std::string& path) {
    if (path.empty()) return std::shared_ptr<const value::InputFile>();
    const EndsAtOnce reading;
    auto opened = value::InputFile::open(path);
    if (!opened) return opened;
    if (const auto& source = (*opened)->source()) runFiles().reads(*source);
    if (auto fine = runFiles().apart(); !fine) return tl::unexpected(fine.error());
    return opened;
}

Result<void> putLab(const OutputFiles& outputs, const Model* model, const Table& table,
                    const std::vector<std::string_view>& shown, LabReport contents, const std::string& below) {
    const auto text = [&] { return tableText(withColumns(table, shown)) + below; };
    if (!outputs.any()) return print(text());
    Report report;
    report.title = contents.title;
    report.subtitle = contents.subtitle;
    if (model) {
        auto provenance = modelProvenance(*model, contents.specs, contents.commandLine, processJob());
        if (!provenance) return tl::unexpected(provenance.error());
        report.provenance = std::move(*provenance);
        for (auto& [key, line] : report.provenance)
            if (key == "seeds" && !contents.seeds.empty()) line = contents.seeds;
    } else {
        report.provenance = {{"specs", contents.specs}, {"seeds", contents.seeds}};
        for (auto& line : machineProvenance()) report.provenance.push_back(std::move(line));
        report.provenance.emplace_back("command_line", contents.commandLine);
    }
    report.data = table;
    report.more = std::move(contents.more);
    Section section{.title = contents.title,
                    .text = contents.text,
                    .note = contents.note,
                    .cards = {},
                    .tables = {withColumns(table, shown)},
                    .plots = std::move(contents.plots),
                    .brief = true};
    report.sections.push_back(std::move(section));
    if (!outputs.standardOutput())
        if (auto done = print(text()); !done) return done;
    auto paths = pathsOf(model);
    paths.insert(paths.end(), contents.paths.begin(), contents.paths.end());
    return outputs.write(std::move(report), paths);
}

} // namespace qs::cli
