// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files of records. A record is the result of one unit: its key and its bytes. A file is written whole or not at all and
// is never changed afterwards, so that a process that dies loses only what it has not written yet. Many processes may
// write into one folder.
//
// A file: "QSRECORD", then the header as JSON after its size (u64), then the records: SHA-256 of the key (32 bytes), size
// (u64), CRC-32C of size and bytes (u32), bytes. Numbers are little-endian. A record that is not complete or was changed
// ends the reading of its file, as if it and those behind it were missing.

#include "core/base/result.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qs {

/// What the records of a file belong to.
struct RecordsOrigin {
    std::vector<std::string> command; ///< the command line, with which `merge` makes its result; without the program
    std::string about; ///< everything that all results depend on, besides what is in their keys. Lines for people.
    bool operator==(const RecordsOrigin&) const = default;
};

class RecordFiles {
public:
    /// Reads the headers of files, and of the files *.records in folders. Error: there is none, or one is no such file.
    static Result<std::vector<RecordsOrigin>> originsIn(const std::vector<std::string>& places);

    RecordFiles() = default;
    RecordFiles(RecordFiles&&) = default;
    RecordFiles& operator=(RecordFiles&&) = default;
    ~RecordFiles(); ///< writes what is not written yet; a problem is then not reported

    /// Opens the records of this origin in some places; files of other origins, and what cannot be read in a folder, are
    /// left alone. `folder`: where new records go, made if it is missing; empty: there are none. Errors: a folder cannot
    /// be read or made, and a file that `places` name is no file of records.
    static Result<RecordFiles> open(const std::vector<std::string>& places, const std::string& folder,
                                    RecordsOrigin origin);

    std::size_t size() const;                                    ///< different keys
    std::size_t filesOfOthers() const { return filesOfOthers_; } ///< files with another origin
    /// Hands over the bytes of the records with this key, one after another, until `takes` returns true: several files
    /// may hold one, and not each need be good. Bytes of a file that has changed are left out.
    void find(const std::string& key, const std::function<bool(const std::string& bytes)>& takes) const;
    /// Adds a record. It is in a file at once, or with the next record that is added after the time of a file: a second
    /// or, in long runs, a hundredth of the time that the run has taken.
    Result<void> add(const std::string& key, std::string bytes);
    Result<void> write();
    /// Deletes the files of this origin in the folder for new records, with the records that wait. Error: a file cannot be
    /// deleted.
    Result<void> forget();
    /// Deletes files of records in a folder that were written before `oldest`, then the oldest ones until the rest takes at
    /// most `most` bytes. What cannot be read as such a file stays. A process that uses a deleted file computes its units
    /// again.
    static void trim(const std::string& folder, std::uint64_t most, std::filesystem::file_time_type oldest);

private:
    using Hash = std::array<std::uint8_t, 32>;
    struct Place {
        std::uint32_t file = 0;
        std::uint32_t sum = 0;
        std::uint64_t offset = 0, size = 0; ///< of the bytes
    };
    static Hash hashOf(const RecordsOrigin& origin, const std::string& key);
    Result<void> read(const std::string& path);

    RecordsOrigin origin_;
    std::string folder_, waiting_; ///< waiting_: records that are not in a file yet
    std::vector<std::string> paths_;
    std::multimap<Hash, Place> known_;
    std::map<Hash, std::string> new_; ///< those of waiting_
    std::size_t filesOfOthers_ = 0;
    double opened_ = 0, written_ = 0; ///< times in seconds of the steady clock; written_: of the last file, or 0
};

} // namespace qs
