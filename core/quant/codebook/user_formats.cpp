// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/codebook/user_formats.h"

#include "core/base/text.h"
#include "core/model/companion.h"
#include "core/model/output/atomic_file.h"
#include "core/quant/codebook/learn.h"
#include "kernels/added_formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

constexpr std::size_t kMostBytes = 65536;
constexpr std::size_t kMostText = 200;

int bitsFor(std::size_t levels) { return std::max(2, int(std::bit_width(levels - 1))); }

} // namespace

std::string userFormatsFolder() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    if (const auto own = variable("QUANTSCOPE_FORMATS"); !own.empty()) return own;
    if (const auto data = variable("XDG_DATA_HOME"); !data.empty()) return data + "/quantscope/formats";
    const auto home = variable("HOME");
    return home.empty() ? std::string() : home + "/.local/share/quantscope/formats";
}

Result<void> check(const UserFormat& format) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    const std::string& id = format.id;
    if (id.empty() || id.size() > 32 || !(id[0] >= 'a' && id[0] <= 'z') || !std::ranges::all_of(id, plain))
        return fail(fmt::format("'{}' is no id for a format: use a to z, digits and _, at most 32, a letter first",
                                escapeForPeople(id, 40)));
    const auto& levels = format.levels;
    if (levels.size() < 3 || levels.size() > 256)
        return fail(fmt::format("a codebook has 3 to 256 levels, not {}", levels.size()));
    for (std::size_t i = 0; i < levels.size(); ++i) {
        if (!std::isfinite(levels[i]) || std::fabs(levels[i]) > 1e6f)
            return fail(fmt::format("level {} is {}: levels lie within -1e6 and 1e6", i, levels[i]));
        if (i > 0 && !(levels[i - 1] < levels[i]))
            return fail(fmt::format("level {} is {}, after {}: levels ascend", i, levels[i], levels[i - 1]));
    }
    if (format.title.size() > kMostText || format.made.size() > kMostText)
        return fail(fmt::format("a title is at most {} bytes long", kMostText));
    return {};
}

Result<UserFormat> readUserFormat(const std::string& path) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("{}: {}", escapeForPeople(path, 160), why), path);
    };
    const auto text = readCompanion(path, kMostBytes);
    if (!text) return tl::unexpected(text.error());
    const auto json = readJsonTree(*text);
    if (!json) return wrong("it " + json.error().message);
    if (!json->is_object()) return wrong("it is not a JSON object");
    const auto version = json->find("version"), levels = json->find("levels");
    if (version == json->end() || *version != 1) return wrong("its version is not 1");
    if (levels == json->end() || !levels->is_array() || levels->size() > 256)
        return wrong("levels is no list of 3 to 256");
    UserFormat format;
    format.id = textAt(*json, "id"), format.title = textAt(*json, "title"), format.made = textAt(*json, "made");
    for (const auto& level : *levels) {
        if (!level.is_number()) return wrong("a level is not a number");
        format.levels.push_back(level.get<float>());
    }
    if (const auto fine = check(format); !fine) return wrong(fine.error().message);
    if (std::filesystem::path(path).stem() != format.id)
        return wrong(fmt::format("its id is {}, which belongs into {}.json", format.id, format.id));
    return format;
}

Result<void> addUserFormat(const UserFormat& format) {
    if (auto fine = check(format); !fine) return fine;
    if (const FormatTraits* known = findFormat(format.id)) {
        if (isAddedFormat(*known) &&
            std::equal(known->levels.begin(), known->levels.end(), format.levels.begin(), format.levels.end()))
            return {};
        return fail(fmt::format("there is a format {} already: choose another id", format.id));
    }
    static std::mutex mutex;
    static std::deque<UserFormat> kept; // rows point into it
    const std::lock_guard lock(mutex);
    kept.push_back(format);
    UserFormat& own = kept.back();
    if (own.title.empty()) own.title = own.id;
    own.made = own.made.empty() ? "A codebook of your own." : own.made;
    FormatTraits row = codebookFormat();
    row.id = own.id.c_str(), row.title = own.title.c_str(), row.summary = own.made.c_str();
    row.source = "a file of the user";
    row.levels = own.levels;
    row.bits = bitsFor(own.levels.size());
    row.zeroCode = withBoundaries(own.levels).zeroCode;
    if (addFormat(row)) return {};
    kept.pop_back();
    return fail(fmt::format("there are {} formats of your own already: no more fit", kMostAddedFormats));
}

Result<std::string> saveUserFormat(const UserFormat& format, const std::string& folder) {
    if (auto fine = check(format); !fine) return tl::unexpected(fine.error());
    if (folder.empty()) return fail("there is no folder for formats: set QUANTSCOPE_FORMATS or HOME");
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return fail(fmt::format("the folder {} cannot be made: {}", escapeForPeople(folder, 160), error.message()));
    const std::string path = folder + "/" + format.id + ".json";
    if (std::filesystem::exists(path, error) && !findFormat(format.id))
        return fail(fmt::format("{} is there already: choose another id", escapeForPeople(path, 160)));
    if (auto added = addUserFormat(format); !added) return tl::unexpected(added.error());
    nlohmann::ordered_json json;
    json["version"] = 1, json["id"] = format.id, json["title"] = format.title, json["levels"] = format.levels;
    json["made"] = format.made;
    const std::string text = json.dump(1) + "\n";
    if (auto written = writeWholeFile(path, text); !written) return tl::unexpected(written.error());
    return path;
}

std::vector<std::string> loadUserFormats(const std::string& folder) {
    std::vector<std::string> problems, paths;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".json" && paths.size() < 1000) paths.push_back(at->path().string());
    std::ranges::sort(paths);
    for (const std::string& path : paths) {
        const auto format = readUserFormat(path);
        const auto added = format ? addUserFormat(*format) : Result<void>(tl::unexpected(format.error()));
        if (!added) problems.push_back(added.error().message);
    }
    return problems;
}

bool isUserFormat(const QuantSpec& spec) { return isAddedFormat(spec.traits()); }

QuantSpec asCodebookSpec(const QuantSpec& spec) {
    QuantSpec out = spec;
    for (const FormatTraits& format : formats())
        if (!format.bitWidths.empty()) out.format = format.id; // the one whose levels are stored with a tensor
    out.bits = spec.codeBits();
    return out;
}

std::vector<float> storedLevels(const QuantSpec& spec) {
    std::vector<float> levels(spec.traits().levels.begin(), spec.traits().levels.end());
    levels.resize(std::size_t(1) << spec.codeBits(), levels.back());
    return levels;
}

} // namespace qs
