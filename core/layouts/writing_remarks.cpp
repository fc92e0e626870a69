// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/layout.h"

#include "core/base/text.h"
#include "core/layouts/larger.h"
#include "core/model/derived_tensor.h"

#include <fmt/format.h>
#include <map>

namespace qs {

std::vector<std::string> writingRemarks(const Layout& layout, std::span<const WrittenSize> sizes) {
    std::map<std::string, std::size_t> said;
    std::size_t larger = 0;
    std::string first;
    for (const WrittenSize& one : sizes) {
        if (layout.remark)
            if (auto remark = layout.remark(*one.tensor, *one.spec); !remark.empty()) ++said[std::move(remark)];
        if (one.bytes <= storedBytes(*one.tensor)) continue;
        if (larger++ == 0)
            first =
                fmt::format("{} {}", escapeForPeople(one.tensor->name, 80),
                            largerText(*one.spec, *one.tensor, 8.0 * double(one.bytes) / double(one.tensor->elements)));
    }
    std::vector<std::string> out;
    for (const auto& [remark, tensors] : said)
        out.push_back(
            fmt::format("Layout {}, {} {}: {}.", layout.id, tensors, tensors == 1 ? "tensor" : "tensors", remark));
    if (larger > 0)
        out.push_back(fmt::format("{} of {} quantized tensors take more bytes than in the source; the first, {}.",
                                  larger, sizes.size(), first));
    return out;
}

} // namespace qs
