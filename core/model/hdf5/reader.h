// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads one HDF5 file through a sandboxed process. The process may crash, hang or send wrong answers; each of these
// becomes an error with one sentence.

#include "core/model/hdf5/listing.h"
#include "core/model/hdf5/process.h"

#include <deque>
#include <mutex>

namespace qs {

struct Hdf5Deadlines {
    double open = 60, rows = 20, read = 60; ///< most seconds for each kind of request
    double stall = 5;                       ///< most seconds of CPU time without progress, in any request
    double idle = 5;                        ///< most seconds without progress and without CPU time, in any request
};

class Hdf5Reader {
public:
    /// Opens bytes [base, base + length) of `file` and lists their objects. `path` is the name in messages.
    static Result<std::shared_ptr<Hdf5Reader>> open(const std::string& path, const Descriptor& file, std::uint64_t base,
                                                    std::uint64_t length, const Hdf5Deadlines& deadlines = {});
    const std::vector<Hdf5Row>& rows() const { return rows_; }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

    /// Reads bytes [begin, begin + into.size()) of a tensor. Any thread may call it. After a failure of this tensor, or of
    /// the process, it returns false and fills `into` with zeros.
    bool read(std::size_t row, std::uint64_t begin, std::span<std::byte> into);
    /// The first failure of the process, or else of this tensor.
    Result<void> failure(std::size_t row) const;
    /// Tries forbidden operations in the sandbox. Returns the errno of each; 0 means that it was NOT denied.
    Result<std::map<std::string, int>> probe();
    /// Ends the process. Elements that lie plain in the file can still be read, because they need no process.
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
    mutable std::mutex mutex_; ///< allows one request at a time; guards the members below
    std::unique_ptr<Hdf5Process> process_;
    std::map<std::size_t, Error> failures_;                                    ///< of tensors whose data cannot be read
    std::deque<std::pair<std::pair<std::size_t, std::uint64_t>, Tile>> tiles_; ///< the most recently used one first
};

} // namespace qs
