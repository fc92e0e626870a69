// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_records.h"

#include "app/gui/session.h"
#include "core/base/cache_folder.h"
#include "core/export/recipe.h"
#include "core/records/input_hash.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace qs::gui {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kMostKept = std::uint64_t(1) << 30; ///< bytes of all evaluations
constexpr auto kKeptFor = std::chrono::hours(24 * 60);
constexpr const char* kChunksKey = "chunks";

std::string folderOfRecords() {
    const std::string cache = cacheFolder();
    return cache.empty() ? std::string() : cache + "/evaluations";
}

std::string stateOf(const std::string& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    const auto time = fs::last_write_time(path, error);
    return error ? path + " is not there\n" : fmt::format("{} {} {}\n", path, size, time.time_since_epoch().count());
}

/// What names the records before a file is read. Their keys hold the hash of the model's files and the tokens too, so a
/// record is never used for another input.
std::string ticketOf(const Model& model, const EvidenceSettings& settings) {
    std::string out;
    for (const ModelFile& file : model.files) out += stateOf(file.path);
    for (const std::string* path : {&settings.path, &settings.base})
        if (!path->empty()) out += stateOf(*path);
    out += fmt::format("ids {} context {} chunks {} scored {} backend {}\n", settings.ids, settings.context,
                       settings.chunks, int(settings.scored), settings.backend);
    if (settings.recipe) out += recipeText(settings.recipe->asRecipe()) + "\n";
    for (const QuantSpec& spec : settings.specs) out += specText(spec) + "\n";
    return out;
}

} // namespace

std::unique_ptr<UnitRun> recordsOf(const Model& model, const EvidenceSettings& settings) {
    UnitRun::Settings run;
    run.folder = folderOfRecords();
    if (run.folder.empty()) return nullptr;
    RecordFiles::trim(run.folder, kMostKept, fs::file_time_type::clock::now() - kKeptFor);
    run.origin.about = aboutProgram() + "an evaluation in the window: " + sha256OfText(ticketOf(model, settings));
    auto opened = UnitRun::open(std::move(run));
    return opened ? std::move(*opened) : nullptr;
}

EvidenceReach reachOf(const Model& model, const EvidenceSettings& settings) {
    std::error_code error;
    if (!fs::is_directory(folderOfRecords(), error)) return {};
    const auto records = recordsOf(model, settings);
    const auto isCount = [](std::uint64_t count) { return count < std::uint64_t(1) << 40; };
    const auto chunks = records ? records->findPart<std::uint64_t>(kChunksKey, isCount) : std::nullopt;
    if (!chunks) return {};
    return {std::min(records->records() - 1, std::size_t(*chunks)), std::size_t(*chunks)};
}

Result<void> keepChunks(UnitRun& records, std::size_t chunks) {
    return records.keepPart(kChunksKey, std::uint64_t(chunks));
}

BegunEvaluation begunOf(const EvidenceSettings& settings) {
    BegunEvaluation out{settings.path,   settings.base,    settings.backend, settings.ids, settings.recipe != nullptr,
                        settings.scored, settings.context, settings.chunks,  {},           {}};
    for (const QuantSpec& spec : settings.specs) out.specs.push_back(specText(spec));
    return out;
}

EvidenceSettings settingsOf(const BegunEvaluation& begun, const Session& session) {
    EvidenceSettings out;
    out.path = begun.path, out.ids = begun.ids, out.base = begun.base, out.backend = begun.backend;
    out.context = begun.context, out.chunks = begun.chunks, out.scored = begun.scored;
    if (begun.recipe && session.recipe()->isMixed()) out.recipe = session.recipe();
    for (const std::string& text : begun.specs)
        if (auto spec = parseSpec(text)) out.specs.push_back(std::move(*spec));
    return out;
}

EvidenceSettings settingsOf(const eval::EvaluationRecord& record, const Session& session) {
    EvidenceSettings out;
    out.path = record.textPath, out.ids = record.ids, out.scored = record.scored;
    out.context = record.context, out.chunks = record.wanted;
    const auto tick = [&](const std::string& text) {
        if (auto spec = parseSpec(text)) out.specs.push_back(std::move(*spec));
    };
    for (const auto& change : record.changes) {
        if (change.row.kind == eval::RowKind::Recipe) out.recipe = session.recipe();
        tick(change.row.spec);
    }
    for (const auto& one : record.embeddings) tick(one.row.spec);
    return out;
}

} // namespace qs::gui
