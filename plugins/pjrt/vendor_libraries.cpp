// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/vendor_libraries.h"
#include "plugins/elf/elf_library.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>

namespace qs::pjrt {
namespace fs = std::filesystem;

std::vector<std::string> vendorFolders(const std::string& plugin) {
    std::vector<std::string> folders;
    std::error_code error;
    auto base = fs::absolute(plugin, error).parent_path();
    for (int up = 0; up < 3 && base.has_relative_path(); ++up, base = base.parent_path())
        for (fs::directory_iterator it(base / "nvidia", error), end; !error && it != end; it.increment(error))
            if (fs::is_directory(it->path() / "lib", error)) folders.push_back((it->path() / "lib").string());
    std::sort(folders.begin(), folders.end());
    return folders;
}

bool needsCuda(const std::string& plugin) {
    const auto library = readElfLibrary(plugin);
    return std::any_of(library.needed.begin(), library.needed.end(), [](std::string_view name) {
        return name.starts_with("libcu") || name.starts_with("libnccl") || name.starts_with("libnvshmem");
    });
}

std::string preloadVendorLibraries(const std::string& plugin, const Log& log) {
    static constexpr const char* kLibraries[] = {
        "libcudart.so.13", "libnvrtc.so.13", "libcublasLt.so.13",    "libcublas.so.13",
        "libnccl.so.2",    "libcupti.so.13", "libcusparse.so.12",    "libcusolver.so.12",
        "libcufft.so.12",  "libcudnn.so.9",  "libnvshmem_host.so.3",
    };
    if (!needsCuda(plugin)) return {};
    const auto library = readElfLibrary(plugin);
    const auto folders = vendorFolders(plugin);
    std::string missing;
    for (const char* name : kLibraries) {
        // First try LD_LIBRARY_PATH and the folders of the system.
        bool loaded = dlopen(name, RTLD_NOW | RTLD_GLOBAL) != nullptr;
        for (std::size_t i = 0; !loaded && i < folders.size(); ++i)
            loaded = dlopen((folders[i] + "/" + name).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
        if (loaded) continue;
        const bool needed = std::find(library.needed.begin(), library.needed.end(), name) != library.needed.end();
        if (log) log(needed ? 2 : 0, std::string(name) + " was not found for the PJRT plugin");
        if (needed) missing += (missing.empty() ? "" : ", ") + std::string(name);
    }
    return missing;
}

} // namespace qs::pjrt
