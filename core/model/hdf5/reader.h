// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One file of HDF5 through a sandboxed process of its own. That process may crash, hang or lie: each is a sentence.

#include "core/model/hdf5/listing.h"
#include "core/model/hdf5/process.h"

#include <deque>
#include <mutex>

namespace qs {

struct Hdf5Deadlines {
    double open = 60, rows = 20, read = 60; ///< seconds
    double stall = 5;                       ///< seconds of CPU time without progress, of each
    double idle = 5;                        ///< seconds without progress and without CPU time, of each
};

class Hdf5Reader {
public:
    /// Lists what lies in bytes [base, base + length) of `file`. `path` is what sentences call it.
    static Result<std::shared_ptr<Hdf5Reader>> open(const std::string& path, const Descriptor& file, std::uint64_t base,
                                                    std::uint64_t length, const Hdf5Deadlines& deadlines = {});
    const std::vector<Hdf5Row>& rows() const { return rows_; }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

    /// Bytes [begin, begin + into.size()) of a tensor. Any thread. False, and zeros, once the reader has failed.
    bool read(std::size_t row, std::uint64_t begin, std::span<std::byte> into);
    /// How it failed, since then for good.
    Result<void> failure() const;
    /// What the sandbox denies, each with its errno; 0 is what it does NOT deny.
    Result<std::map<std::string, int>> probe();
    /// Ends the process; what is plain in the file needs none.
    void end();

private:
    using Tile = std::shared_ptr<const std::vector<std::byte>>;
    Hdf5Reader(std::unique_ptr<Hdf5Process> process, const Hdf5Deadlines& deadlines)
        : deadlines_(deadlines), process_(std::move(process)) {}
    Result<void> list(std::uint64_t base, std::uint64_t length);
    Result<nlohmann::json> ask(nlohmann::json request, double seconds) {
        return process_->ask(std::move(request), seconds, {deadlines_.stall, deadlines_.idle});
    }
    static std::uint64_t memoryOf(const Hdf5Row& row);
    Result<Tile> tile(std::size_t row, std::uint64_t number);

    Hdf5Deadlines deadlines_;
    std::vector<Hdf5Row> rows_;
    std::map<std::string, std::string> metadata_;
    mutable std::mutex mutex_; ///< one question at a time; guards all below
    std::unique_ptr<Hdf5Process> process_;
    std::deque<std::pair<std::pair<std::size_t, std::uint64_t>, Tile>> tiles_; ///< the last used in front
};

} // namespace qs
