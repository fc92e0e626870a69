// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Lists all files that a run reads and writes, before it writes any. Checks that no output is an input: not under
// another name, through a link, as a hard link, nor as a file in a folder that is read. Two outputs must not be the
// same file. An output has the ending of its kind, and replaces only what this program wrote.

#include "core/base/result.h"
#include "core/model/model.h"
#include "core/model/output/atomic_file.h"

#include <optional>
#include <string>
#include <vector>

namespace qs {

/// Fails if the name of an output has none of these endings, see RunFiles::writes(). `as`: as there.
Result<void> checkEnding(const std::string& path, const std::string& as, const std::vector<std::string>& endings);

class RunFiles {
public:
    /// Adds an input: a file or a folder. `as` is its name in messages: "--recipe", "the opened model".
    void reads(const std::string& path, const std::string& as);
    /// Adds the files of an opened model, its folder, and the files beside it that say how it is quantized.
    void reads(const Model& model);
    /// `endings`: how the name may end, in lower case; empty: as it likes. `unmarked`: those of the endings whose files
    /// have no place for a mark of this program, see replace().
    void writes(const std::string& path, const std::string& as, std::vector<std::string> endings = {},
                std::vector<std::string> unmarked = {});
    /// Adds an exported file or folder, and its certificate. The certificate is written or, if `certified` is false,
    /// the one of a replaced file is removed.
    void exports(const std::string& path, const std::string& as, bool certified);
    /// Fails if an output is an input or another output. The error names both.
    Result<void> apart() const;
    /// Fails if an output has another ending than it may have, or would replace a file without a mark of this program: a
    /// checkpoint of somebody, or a table. `force`: such a file may be replaced; `forced` is how the user says so.
    /// Folders are looked at when they are written, see AtomicFolder; files without a mark as replace() says.
    Result<void> mayBeWritten(bool force, const char* forced = "--force") const;
    /// How to write an output: one whose file has no place for a mark replaces only its like, unless `force` is given.
    Replace replace(const std::string& path, bool force) const;

private:
    struct Place {
        std::string path, as, canonical;
        std::vector<std::string> endings = {}, unmarked = {};
        std::optional<std::pair<std::uint64_t, std::uint64_t>> id; ///< device and inode; empty if it does not exist
        bool isFolder = false, isSpecial = false;
    };
    static Place placeOf(const std::string& path, const std::string& as);
    static bool stays(const Place& output); ///< it is there, and nothing says that this program wrote it
    static bool same(const Place& a, const Place& b);
    static Result<void> apart(const Place& output, const Place& input);
    std::vector<Place> inputs_, outputs_, removed_;
};

} // namespace qs
