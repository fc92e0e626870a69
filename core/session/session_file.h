// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a user was doing, as a file (.qscope): which files were opened, the specs with their history, what was measured,
// and where the user looked. HDF5, read and written by the sandboxed process.

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace qs {

class Model;

constexpr int kSessionVersion = 1;
constexpr std::uint64_t kLongestKept = 128u << 20; ///< bytes of one of SessionFile::kept

struct SessionSource {
    std::string path;   ///< absolute
    std::string sha256; ///< "": not known
    std::uint64_t size = 0;
    std::int64_t mtimeNs = 0;
};

struct SessionStep {
    std::string specA, specB; ///< as they were typed
    bool comparing = false;
    std::string rules = {}; ///< of the recipe, a line each
    bool keepsRest = false; ///< what no rule matches stays as it is
    struct Levels {
        std::string format;         ///< whose levels were moved
        std::vector<double> values; ///< ascending; empty: none were
        std::string how;            ///< they were learned like this
        bool operator==(const Levels&) const = default;
    };
    Levels levels = {};
    bool operator==(const SessionStep&) const = default;
};

/// Measures of the tensors under one spec; NaN: not measured.
struct SessionResults {
    std::string spec;
    std::vector<std::string> tensors, metrics;
    std::vector<double> values; ///< a row for each tensor
};

struct SessionFile {
    std::string opened; ///< the path that openModel() got: a folder, an index or a file
    std::vector<SessionSource> sources;
    std::string recipe; ///< JSON: {"version":1,"default":SPEC,"rules":[...]}
    std::vector<SessionStep> history;
    std::size_t at = 0; ///< the step in force
    std::map<std::string, std::string> view;
    std::vector<SessionResults> results;
    std::map<std::string, std::string> kept; ///< what pages have computed, by their names; see kept_results.h
};

bool looksLikeSession(const std::string& path); ///< by its name: *.qscope

/// Whole or not at all.
Result<void> writeSession(const std::string& path, const SessionFile& session, const Job& job = {});
/// Refuses what a later version wrote, and says so.
Result<SessionFile> readSession(const std::string& path);

/// Of the model's files. Hashes are computed where all together have at most `hashedBytes`, else left out.
Result<std::vector<SessionSource>> sourcesOf(const Model& model, std::uint64_t hashedBytes, const Job& job = {});
/// A sentence for each source that is missing or another one now; hashes only what looks changed.
Result<std::vector<std::string>> changedSources(const SessionFile& session, const Job& job = {});

} // namespace qs
