// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// "NAME.partial-3f9a01c2" beside an output: the folder in which it is made. A locked marker inside tells one in use
// from one that a killed process left, which the next writer of the same output removes.

#include "core/base/result.h"

#include <string>
#include <sys/types.h>

namespace qs {

/// The file that marks a partial folder; its lock is held while the folder is in use.
inline constexpr const char* kWritingMarker = ".quantscope-writing";

class PartialFolder {
public:
    /// `target`: an absolute path whose folder exists.
    static Result<PartialFolder> create(const std::string& target, mode_t mode);
    PartialFolder(PartialFolder&& other) noexcept;
    PartialFolder& operator=(PartialFolder&&) = delete;
    ~PartialFolder() { remove(); }
    void remove();
    const std::string& path() const { return path_; }
    /// The folder was renamed to `path`: it is an output now, its marker goes and the rest stays.
    void becameOutput(const std::string& path);
    /// The folder `old` is about to get a partial name, because its successor takes its place: it is marked as left.
    static void markReplaced(const std::string& old);
    static void unmark(const std::string& folder);

private:
    PartialFolder() = default;
    std::string path_; ///< "" when nothing is to be removed
    int lock_ = -1;
};

/// Removes partial folders of `target` whose writer is gone. Never one in use, one of another machine, or one without
/// our marker that holds anything.
void removeStalePartials(const std::string& target);

/// Where nothing has the target's name, a partial folder that a killed process left whole gets it: one that holds the
/// file `complete`, which is written last. That is what is left of an output that was being replaced by two renames.
void adoptStalePartial(const std::string& target, const std::string& complete);

} // namespace qs
