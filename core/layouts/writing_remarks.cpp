// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/layout.h"

#include "core/base/text.h"
#include "core/layouts/larger.h"
#include "core/model/derived_tensor.h"

#include <fmt/format.h>
#include <map>

namespace qs {

std::vector<std::string> writingRemarks(const Layout& layout, const WrittenTensors& tensors) {
    std::map<std::string, std::size_t> said;
    std::size_t quantized = 0, larger = 0;
    std::string first;
    for (std::size_t i = 0; i < tensors.count; ++i) {
        const WrittenTensor one = tensors.at(i);
        if (!one.spec) continue;
        ++quantized;
        if (layout.remark)
            if (auto remark = layout.remark(*one.original, *one.spec); !remark.empty()) ++said[std::move(remark)];
        if (one.bytes <= storedBytes(*one.original)) continue;
        if (larger++ == 0)
            first = fmt::format(
                "{} {}", escapeForPeople(one.original->name, 80),
                largerText(*one.spec, *one.original, 8.0 * double(one.bytes) / double(one.original->elements)));
    }
    std::vector<std::string> out;
    for (const auto& [remark, count] : said)
        out.push_back(
            fmt::format("Layout {}, {} {}: {}.", layout.id, count, count == 1 ? "tensor" : "tensors", remark));
    if (larger > 0)
        out.push_back(fmt::format("{} of {} quantized tensors take more bytes than in the source; the first, {}.",
                                  larger, quantized, first));
    return out;
}

} // namespace qs
