/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
/* The interface of the module quantscope-mpi.so. It exports qs_mpi_module(). All functions must be called by the thread
   that called begin(). */

extern "C" {
struct QsMpiModule {
    /* Joins the processes of mpirun. Returns 0, or an error code of MPI. */
    int (*begin)(int* rank, int* count);
    /* Waits for all processes. Returns 1 if all of them gave 1. */
    int (*all)(int fine);
    void (*end)();
};
typedef const QsMpiModule* (*QsMpiModuleFunction)();
}
