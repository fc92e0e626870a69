// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/worker_environment.h"

#include "core/base/lists.h"
#include "core/process/process_mark.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace qs {
namespace {

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";
constexpr std::array<std::string_view, 9> kWorkerVariables = {"PATH",   "HOME", "LANG",       "LANGUAGE",      "TZ",
                                                              "TMPDIR", "TEMP", kLibraryPath, "XDG_CACHE_HOME"};
constexpr std::array<std::string_view, 42> kVendorPrefixes = {
    "LC_",   "QUANTSCOPE_", "QS_",     "OMP_",    "GOMP_",  "KMP_",         "OPENBLAS_", "GOTO_", "MKL_",
    "BLIS_", "DNNL_",       "ONEDNN_", "CUDA_",   "CUBLAS", "CUDNN_",       "NVIDIA_",   "NV_",   "NCCL_",
    "HIP_",  "ROCM_",       "ROCR_",   "HSA_",    "AMD_",   "SYCL_",        "ZE_",       "OCL_",  "ONEAPI_",
    "XLA_",  "TPU_",        "LIBTPU_", "PJRT_",   "JAX_",   "TF_CPP_",      "TF_XLA_",   "ASAN_", "UBSAN_",
    "TSAN_", "LSAN_",       "MSAN_",   "MALLOC_", "GCOV_",  "LLVM_PROFILE_"};

bool passesToWorker(std::string_view name) {
    return contains(kWorkerVariables, name) || std::ranges::any_of(kVendorPrefixes, [&](std::string_view beginning) {
               return name.starts_with(beginning);
           });
}

/// A list of folders without those that are not absolute. The loader takes an empty one, as `export
/// LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH` often leaves behind, for the current folder, and that may hold a stranger's files.
std::string absoluteFolders(std::string_view list) {
    std::string out;
    for (std::size_t from = 0; from <= list.size();) {
        const auto to = std::min(list.find_first_of(":;", from), list.size()); // the loader takes both separators
        const auto folder = list.substr(from, to - from);
        if (folder.starts_with('/')) out += (out.empty() ? "" : ":") + std::string(folder);
        from = to + 1;
    }
    return out;
}

} // namespace

std::vector<std::string> workerEnvironment(const char* const* current) {
    std::vector<std::string> out;
    for (; current && *current; ++current) {
        const std::string_view line = *current;
        const auto end = line.find('=');
        const auto name = line.substr(0, end);
        if (end == std::string_view::npos || name == kProcessMark || !passesToWorker(name)) continue;
        if (name != kLibraryPath)
            out.emplace_back(line);
        else if (const auto folders = absoluteFolders(line.substr(end + 1)); !folders.empty())
            out.push_back(std::string(kLibraryPath) + '=' + folders);
    }
    return out;
}

} // namespace qs
