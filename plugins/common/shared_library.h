// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Libraries of vendors, found without loading them and loaded without linking them.

#include <string>

namespace qs::plugin {

/// Where the dynamic linker would find `soname`: LD_LIBRARY_PATH, its cache, the usual folders. Empty when nowhere.
/// Reads no more than the cache; loads nothing.
std::string findSharedLibrary(const std::string& soname);

class SharedLibrary {
public:
    /// A soname or a path; not unloaded unless asked for. False: problem() is the linker's sentence.
    bool load(const std::string& name);
    /// What is resolved is invalid afterwards. The linker keeps a library that others have opened, too.
    void unload();
    explicit operator bool() const { return handle_ != nullptr; }
    const std::string& problem() const { return problem_; }
    std::string path() const; ///< of the file that was loaded
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
