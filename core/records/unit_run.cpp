// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/records/unit_run.h"

#include "core/base/text.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs {

Result<std::unique_ptr<UnitRun>> UnitRun::open(Settings settings) {
    std::unique_ptr<UnitRun> out(new UnitRun(std::move(settings)));
    auto files = RecordFiles::open(out->settings_.places, out->settings_.folder, out->settings_.origin);
    if (!files) return tl::unexpected(files.error());
    out->files_ = std::move(*files);
    return out;
}

bool UnitRun::takes(double weight) { return dealer_.takes(weight) && !settings_.isMerge; }

void UnitRun::leaveOut(std::string name) {
    constexpr std::size_t most = 3;
    if (++leftOut_ <= most) firstLeftOut_.push_back(std::move(name));
}

std::vector<std::string> UnitRun::folders() const {
    std::vector<std::string> out;
    if (!settings_.folder.empty()) out.push_back(settings_.folder);
    for (const std::string& place : settings_.places) {
        std::error_code error;
        const std::filesystem::path path = place;
        out.push_back(std::filesystem::is_directory(path, error) ? place : path.parent_path().string());
    }
    return out;
}

std::string UnitRun::shardText() const {
    return fmt::format("Shard {}: {} units computed, {} were there, {} are of other shards.", settings_.shard.text(),
                       computed_, found_, leftOut_);
}

Result<bool> UnitRun::finish() {
    if (auto written = files_.write(); !written) return tl::unexpected(written.error());
    if (isWhole() || !settings_.isMerge) return isWhole() && !settings_.isPart;
    const std::size_t more = leftOut_ - firstLeftOut_.size();
    std::string sentence = fmt::format("{} of {} units are missing: {}{}.", leftOut_, found_ + leftOut_,
                                       fmt::join(firstLeftOut_, "; "), more ? fmt::format("; and {} more", more) : "");
    if (files_.filesOfOthers() > 0)
        sentence +=
            fmt::format(" {} files are of another input, another version or other options.", files_.filesOfOthers());
    return fail(sentence + " The command with --records and without --shard computes what is missing.");
}

} // namespace qs
