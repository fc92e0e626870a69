// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The files of an OCDBT database, and the memory that opening it may take.

#include "core/model/ocdbt/data_files.h"
#include "core/model/output/confined_folder.h"

#include <map>
#include <memory>

namespace qs::ocdbt {

class Storage {
public:
    explicit Storage(const std::string& folder) : folder_(folder), path_(folder) {}

    const std::string& path() const { return path_; }
    /// In the order in which they were opened.
    const std::vector<std::shared_ptr<MappedFile>>& files() const { return files_; }
    /// Opens the file unless it is open. The index in files().
    Result<std::uint32_t> fileOf(const DataFile& file);

    /// Charges memory. False if this and what was charged exceed the limit. The limit is twice the size of the files and
    /// of the unpacked nodes, plus 48 MiB.
    bool take(std::uint64_t bytes);
    bool fits(std::uint64_t bytes) const; ///< what take() would return
    void giveBack(std::uint64_t bytes) { used_ -= bytes; }
    void addUnpacked(std::uint64_t bytes) { bytes_ += bytes; }
    std::string tooLarge(const char* what) const; ///< the end of a sentence: why it is refused

private:
    ConfinedFolder folder_;
    std::string path_;
    std::vector<std::shared_ptr<MappedFile>> files_;
    std::map<std::string, std::uint32_t, std::less<>> fileNumbers_;
    std::uint64_t bytes_ = 0; ///< of files and unpacked bodies
    std::uint64_t used_ = 0;  ///< memory
};

} // namespace qs::ocdbt
