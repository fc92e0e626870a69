// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The folder "NAME.partial-3f9a01c2" beside an output, in which the output is written. It contains a locked marker
// file. The lock shows that the folder is in use. If a killed process left the folder, the next writer of the output
// removes it.

#include "core/base/result.h"

#include <string>
#include <sys/types.h>

namespace qs {

/// Name of the marker file. It is locked while the folder is in use.
inline constexpr const char* kWritingMarker = ".quantscope-writing";

class PartialFolder {
public:
    /// Creates and locks a partial folder. `target`: an absolute path whose folder exists.
    static Result<PartialFolder> create(const std::string& target, mode_t mode);
    PartialFolder(PartialFolder&& other) noexcept;
    PartialFolder& operator=(PartialFolder&&) = delete;
    ~PartialFolder() { remove(); }
    /// Deletes the folder with its contents and releases the lock.
    void remove();
    const std::string& path() const { return path_; }
    /// Call after the folder was renamed to `path`: it is now the output. Deletes the marker and keeps the rest.
    void becameOutput(const std::string& path);
    /// Marks the output folder `old`, which is about to be replaced, as one that may be removed.
    static void markReplaced(const std::string& old);
    /// Deletes the marker.
    static void unmark(const std::string& folder);

private:
    PartialFolder() = default;
    std::string path_; ///< "" if there is nothing to remove
    int lock_ = -1;
};

/// Removes partial folders of `target` whose writer has ended. Keeps those in use, those of other machines, and
/// non-empty folders without our marker.
void removeStalePartials(const std::string& target);

/// Completes a replacement that was interrupted. If `target` does not exist, a partial folder that a killed process
/// left is renamed to `target`. It must hold the file `complete`, which is written last.
void adoptStalePartial(const std::string& target, const std::string& complete);

} // namespace qs
