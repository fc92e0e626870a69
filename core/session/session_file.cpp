// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/session_file.h"

#include "core/base/text.h"
#include "core/model/hdf5/again.h"
#include "core/model/hdf5/image.h"
#include "core/model/hdf5/reader.h"
#include "core/model/mapped_file.h"
#include "core/model/output/atomic_file.h"
#include "core/session/session_wire.h"

#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using nlohmann::json;

constexpr const char* kVersionKey = "quantscope_session";
constexpr std::uint64_t kMostText = 256u << 20;

/// The objects in the file, found by path.
class Parts {
public:
    explicit Parts(Hdf5Reader& reader) : reader_(reader) {
        for (std::size_t i = 0; i < reader.rows().size(); ++i)
            if (reader.rows()[i].reason.empty()) at_[reader.rows()[i].path] = i;
    }
    Result<std::string> text(const std::string& path) {
        const auto at = at_.find(path);
        if (at == at_.end() || reader_.rows()[at->second].dtype != DType::U8) return fail("it has no " + path);
        std::string text(row(at->second).bytes > kMostText ? 0 : row(at->second).bytes, '\0');
        if (row(at->second).bytes > kMostText) return fail(path + " is too long");
        if (!reader_.read(at->second, 0, std::as_writable_bytes(std::span(text))))
            return tl::unexpected(reader_.failure(at->second).error());
        return text;
    }
    Result<std::vector<double>> doubles(const std::string& path, std::uint64_t count) {
        const auto at = at_.find(path);
        if (at == at_.end() || row(at->second).dtype != DType::F64 || row(at->second).elements != count)
            return fail("it has no " + path + " that fits");
        std::vector<double> values(count);
        if (!reader_.read(at->second, 0, std::as_writable_bytes(std::span(values))))
            return tl::unexpected(reader_.failure(at->second).error());
        return values;
    }

private:
    const Hdf5Row& row(std::size_t i) const { return reader_.rows()[i]; }
    Hdf5Reader& reader_;
    std::map<std::string, std::size_t> at_;
};

Result<SessionFile> readParts(Hdf5Reader& reader) {
    Parts parts(reader);
    const auto text = parts.text("/session");
    if (!text) return tl::unexpected(text.error());
    auto from = sessionFromText(*text);
    if (!from) return tl::unexpected(from.error());
    SessionFile session = std::move(from->session);
    auto recipe = parts.text("/recipe");
    if (!recipe) return tl::unexpected(recipe.error());
    session.recipe = std::move(*recipe);
    for (const auto& name : from->kept) {
        auto one = parts.text("/kept/" + name);
        if (!one) return tl::unexpected(one.error());
        session.kept.emplace(name, std::move(*one));
    }
    for (std::uint64_t i = 0; i < from->results; ++i) {
        const auto at = fmt::format("/results/{}", i);
        const auto head = parts.text(at + "/rows");
        if (!head) return tl::unexpected(head.error());
        auto results = sessionResultsFromText(*head);
        if (!results) return tl::unexpected(results.error());
        if (!results->tensors.empty() && !results->metrics.empty()) {
            auto values = parts.doubles(at + "/values", results->tensors.size() * results->metrics.size());
            if (!values) return tl::unexpected(values.error());
            results->values = std::move(*values);
        }
        session.results.push_back(std::move(*results));
    }
    return session;
}

} // namespace

bool looksLikeSession(const std::string& path) { return path.ends_with(".qscope"); }

bool isKeptName(std::string_view name) {
    constexpr std::size_t kLongestName = 40;
    return !name.empty() && name.size() <= kLongestName &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == name.npos;
}

Result<void> writeSession(const std::string& path, const SessionFile& session, const Job& job) {
    std::vector<Hdf5Text> texts{{"/session", sessionText(session)},
                                {"/recipe", session.recipe.empty() ? "{}" : session.recipe}};
    for (const auto& [name, text] : session.kept) {
        if (!isKeptName(name))
            return fail(fmt::format("A session file cannot keep results under the name '{}': names are 1 to 40 small "
                                    "letters and '-'.",
                                    escapeForPeople(name, 60)),
                        path);
        texts.push_back({"/kept/" + name, text});
    }
    std::vector<Hdf5Table> tables;
    for (std::size_t i = 0; i < session.results.size(); ++i) {
        const auto& r = session.results[i];
        const auto at = fmt::format("/results/{}", i);
        texts.push_back({at + "/rows", sessionResultsText(r)});
        if (!r.values.empty()) tables.push_back({at + "/values", r.metrics.size(), r.values});
    }
    const auto image = hdf5Image(path, {{kVersionKey, std::to_string(kSessionVersion)}}, texts, tables);
    if (!image) return tl::unexpected(image.error());
    auto file = AtomicFile::create(path, image->size());
    if (!file) return tl::unexpected(file.error());
    if (auto written = file->write(*image); !written) return written;
    return file->commit(job);
}

Result<SessionFile> readSession(const std::string& path) {
    const auto shown = shownPath(path);
    const auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const auto file = openAgain(**mapping);
    if (!file) return tl::unexpected(file.error());
    const auto reader = Hdf5Reader::open(path, *file, 0, (*mapping)->size());
    if (!reader) return tl::unexpected(reader.error());
    const auto& metadata = (*reader)->metadata();
    const auto version = metadata.find(kVersionKey);
    if (version == metadata.end()) return fail(shown + " is not a session of QuantScope.", path);
    int number = 0;
    const auto& digits = version->second;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc() || number < 1)
        return fail(fmt::format("{} names no version of a session.", shown), path);
    if (number > kSessionVersion)
        return fail(
            fmt::format("{} was saved by a later QuantScope (session version {}; this one reads up to {}): open it "
                        "there, or open its checkpoint here.",
                        shown, number, kSessionVersion),
            path);
    auto session = readParts(**reader);
    if (!session && session.error().path.empty())
        return fail(oneSentence(fmt::format("{} is a damaged session: {}.", shown,
                                            escapeForPeople(session.error().sentence(), 200))),
                    path);
    return session;
}

} // namespace qs
