// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Divides units of work, in their order, among processes.

#include "core/base/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace qs {

/// One of `count` parts of a computation. `index` counts from 0; people count from 1.
struct Shard {
    std::size_t index = 0, count = 1;
    std::string text() const; ///< "2 of 4"
};
/// Reads "2/4".
Result<Shard> parseShard(std::string_view text);

/// Deals out units in their order, so that the parts are contiguous and have about equal weights. A part differs from
/// its fair share by at most the weight of one unit.
class ShardDealer {
public:
    /// `total`: the sum of the weights of all units.
    ShardDealer(Shard shard, double total) : shard_(shard), total_(total) {}
    /// True if the next unit, of this weight, belongs to the shard.
    bool takes(double weight);

private:
    Shard shard_;
    double total_ = 0, before_ = 0;
};

} // namespace qs
