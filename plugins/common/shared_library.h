// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds shared libraries of vendors without loading them, and loads them at run time, so that nothing is linked to
// them.

#include <string>

namespace qs::plugin {

/// The path at which the dynamic linker would find `soname`; "" if there is none. It searches LD_LIBRARY_PATH, the
/// linker's cache and the usual folders. It loads nothing.
std::string findSharedLibrary(const std::string& soname);

class SharedLibrary {
public:
    /// Loads a library by its soname or path. The destructor does not unload it. If it returns false, problem() is the
    /// message of the linker.
    bool load(const std::string& name);
    /// Afterwards the resolved functions are invalid. The linker keeps the library if another part has also opened it.
    void unload();
    explicit operator bool() const { return handle_ != nullptr; }
    const std::string& problem() const { return problem_; }
    std::string path() const; ///< path of the loaded file
    template<class Function> bool resolve(Function& function, const char* name) {
        void* found = symbol(name);
        function = reinterpret_cast<Function>(found);
        return found != nullptr;
    }

private:
    void* symbol(const char* name) const;
    void* handle_ = nullptr;
    std::string problem_;
};

} // namespace qs::plugin
