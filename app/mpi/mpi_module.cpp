// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/mpi/mpi_module.h"

#include <mpi.h>

namespace {

int begin(int* rank, int* count) {
    int provided = 0;
    // Only one thread calls MPI, but the program has others.
    if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided)) return error;
    if (const int error = MPI_Comm_rank(MPI_COMM_WORLD, rank)) return error;
    return MPI_Comm_size(MPI_COMM_WORLD, count);
}

int all(int fine) {
    int whole = 0;
    return MPI_Allreduce(&fine, &whole, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && whole;
}

void end() { MPI_Finalize(); }

const QsMpiModule kModule = {begin, all, end};

} // namespace

extern "C" __attribute__((visibility("default"))) const QsMpiModule* qs_mpi_module();
const QsMpiModule* qs_mpi_module() { return &kModule; }
