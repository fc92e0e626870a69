// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// All files that one run reads and writes, known before it writes any. An input is never written: not under another
// name, through a link, as a hard link, nor as a file of a folder that is read. Two outputs are never one file.

#include "core/base/result.h"
#include "core/model/model.h"

#include <optional>
#include <string>
#include <vector>

namespace qs {

class RunFiles {
public:
    /// A file or a folder; `as` is how people know it: "--recipe", "the opened model".
    void reads(const std::string& path, const std::string& as);
    /// The files of a model that was opened, its folder, and what lies beside it and says how it is quantized.
    void reads(const Model& model);
    void writes(const std::string& path, const std::string& as);
    /// A file that is exported, or a folder; and its certificate, which is written, or goes with what is replaced.
    void exports(const std::string& path, const std::string& as, bool certified);
    /// The sentence names the output and the input.
    Result<void> apart() const;

private:
    struct Place {
        std::string path, as, canonical;
        std::optional<std::pair<std::uint64_t, std::uint64_t>> id; ///< device and inode, where it is there
        bool isFolder = false, isSpecial = false;
    };
    static Place placeOf(const std::string& path, const std::string& as);
    static bool same(const Place& a, const Place& b);
    static Result<void> apart(const Place& output, const Place& input);
    std::vector<Place> inputs_, outputs_, removed_;
};

} // namespace qs
