// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A session file (.qscope): the opened files, the specs with their history, the measured results, and the state of the
// view. The format is HDF5; a sandboxed worker process reads and writes it.

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class Model;

constexpr int kSessionVersion = 1;
constexpr std::uint64_t kLongestKept = 128u << 20; ///< limit in bytes of one text in SessionFile::kept

struct SessionSource {
    std::string path;   ///< absolute path
    std::string sha256; ///< "" if not known
    std::uint64_t size = 0;
    std::int64_t mtimeNs = 0;
};

struct SessionStep {
    std::string specA, specB; ///< as the user typed them
    bool comparing = false;
    std::string rules = {}; ///< rules of the recipe, one per line
    bool keepsRest = false; ///< tensors that no rule matches are not quantized
    struct Levels {
        std::string format;         ///< the format whose levels the user changed
        std::vector<double> values; ///< ascending; empty if not changed
        std::string how;            ///< how they were learned
        bool operator==(const Levels&) const = default;
    };
    Levels levels = {};
    std::optional<double> budget = {}; ///< of the plan, bits per weight
    bool operator==(const SessionStep&) const = default;
};

/// Metrics of the tensors under one spec. NaN means not measured.
struct SessionResults {
    std::string spec;
    std::vector<std::string> tensors, metrics;
    std::vector<double> values; ///< [tensors, metrics], row-major
};

struct SessionFile {
    std::string opened; ///< the path given to openModel(): a folder, an index or a file
    std::vector<SessionSource> sources;
    std::string recipe; ///< JSON: {"version":1,"default":SPEC,"rules":[...]}
    std::vector<SessionStep> history;
    std::size_t at = 0; ///< index of the current step in `history`
    std::map<std::string, std::string> view;
    std::vector<SessionResults> results;
    std::map<std::string, std::string> kept; ///< results of the pages by page name; see kept_results.h
};

bool looksLikeSession(const std::string& path); ///< checks the name only: *.qscope

/// The rule for names in SessionFile::kept: 1 to 40 small letters and '-'. Other names are neither written nor read.
bool isKeptName(std::string_view name);

/// Writes the whole file or nothing. Refuses a name in `kept` that could not be read.
Result<void> writeSession(const std::string& path, const SessionFile& session, const Job& job = {});
/// Refuses files of a later version.
Result<SessionFile> readSession(const std::string& path);

/// The model's files. Hashes are computed only if all files together have at most `hashedBytes` bytes.
Result<std::vector<SessionSource>> sourcesOf(const Model& model, std::uint64_t hashedBytes, const Job& job = {});
/// One sentence for each source that is missing or has changed. Hashes a file only if its time differs but its size
/// does not.
Result<std::vector<std::string>> changedSources(const SessionFile& session, const Job& job = {});

} // namespace qs
