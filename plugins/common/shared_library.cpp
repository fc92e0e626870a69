// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/shared_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <link.h>
#include <unistd.h>

namespace qs::plugin {
namespace {

bool readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

/// The linker's cache file ends with a list of paths, each NUL-terminated. Returns the one that ends in /soname, or "".
std::string inLinkerCache(const std::string& soname) {
    std::ifstream file("/etc/ld.so.cache", std::ios::binary);
    const std::string cache((std::istreambuf_iterator<char>(file)), {});
    const std::string wanted = '/' + soname + '\0';
    for (std::size_t at = cache.find(wanted); at != std::string::npos; at = cache.find(wanted, at + 1)) {
        const std::size_t before = cache.rfind('\0', at);
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        const std::string path = cache.substr(begin, at + soname.size() + 1 - begin);
        if (readable(path)) return path;
    }
    return {};
}

} // namespace

std::string findSharedLibrary(const std::string& soname) {
    if (const char* folders = std::getenv("LD_LIBRARY_PATH")) {
        const std::string list = folders;
        for (std::size_t from = 0; from <= list.size();) {
            const std::size_t to = std::min(list.find(':', from), list.size());
            const std::string path = list.substr(from, to - from) + '/' + soname;
            if (to > from && readable(path)) return path;
            from = to + 1;
        }
    }
    if (std::string path = inLinkerCache(soname); !path.empty()) return path;
    for (const char* folder : {"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"})
        if (readable(folder + soname)) return folder + soname;
    return {};
}

bool SharedLibrary::load(const std::string& name) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) problem_ = ::dlerror();
    return handle_ != nullptr;
}

void SharedLibrary::unload() {
    if (handle_) ::dlclose(handle_);
    handle_ = nullptr;
}

void* SharedLibrary::symbol(const char* name) const { return handle_ ? ::dlsym(handle_, name) : nullptr; }

std::string SharedLibrary::path() const {
    link_map* map = nullptr;
    if (!handle_ || ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map) return {};
    return map->l_name;
}

} // namespace qs::plugin
