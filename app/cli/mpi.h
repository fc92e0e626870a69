// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The processes that mpirun started. The module quantscope-mpi.so does the work; it is loaded only in such a process.

#include "core/base/result.h"
#include "core/records/shard.h"

#include <memory>

struct QsMpiModule;

namespace qs::cli {

class Mpi {
public:
    /// Joins the other processes. Null: mpirun did not start this process. Error: it did, but there is no module, or MPI
    /// cannot begin.
    static Result<std::unique_ptr<Mpi>> join();
    ~Mpi(); ///< leaves them

    const Shard& rank() const { return rank_; }
    /// Waits for all processes. True if `isFine` was true in all of them.
    bool all(bool isFine) const;

private:
    explicit Mpi(const QsMpiModule* module) : module_(module) {}
    const QsMpiModule* module_;
    Shard rank_;
};

} // namespace qs::cli
