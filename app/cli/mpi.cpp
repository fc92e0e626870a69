// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/mpi.h"

#include "app/mpi/mpi_module.h"
#include "core/base/text.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

namespace qs::cli {
namespace {

constexpr const char* kModule = "quantscope-mpi.so";

/// Variables that only the starters of MPI programs set: Open MPI, MPICH and its relatives, PMIx.
bool isStartedByMpi() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
        if (std::getenv(name)) return true;
    return false;
}

/// Beside the program, as in a build; else in the library folder of an installation. "" if that place is not known.
std::filesystem::path modulePath() {
    std::error_code error;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    if (error) return {}; // a path relative to the current folder would load what lies there
    const auto beside = folder / kModule;
    return std::filesystem::exists(beside, error) ? beside : folder.parent_path() / "lib" / "quantscope" / kModule;
}

} // namespace

Result<std::unique_ptr<Mpi>> Mpi::join() {
    if (!isStartedByMpi()) return nullptr;
    const auto path = modulePath();
    if (path.empty())
        return fail("mpirun started this program, but /proc does not say where its MPI module is. Without MPI use "
                    "--shard I/N and `merge`.");
    // RTLD_GLOBAL: Open MPI loads parts of itself that need its symbols.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        const char* why = ::dlerror();
        return fail(fmt::format("mpirun started this program, but its MPI module cannot be loaded: {}. Without MPI use "
                                "--shard I/N and `merge`.",
                                escapeForPeople(why ? why : path.c_str(), 200)));
    }
    const auto function = reinterpret_cast<QsMpiModuleFunction>(::dlsym(library, "qs_mpi_module"));
    if (!function) return fail(fmt::format("{} is no MPI module of this program.", shownPath(path)));
    int rank = 0, count = 0;
    if (const int error = function()->begin(&rank, &count))
        return fail(fmt::format("MPI cannot begin: error {}.", error));
    std::unique_ptr<Mpi> out(new Mpi(function()));
    out->rank_ = {std::size_t(rank), std::size_t(count)};
    return out;
}

Mpi::~Mpi() { module_->end(); }

bool Mpi::all(bool isFine) const { return module_->all(isFine ? 1 : 0) != 0; }

} // namespace qs::cli
