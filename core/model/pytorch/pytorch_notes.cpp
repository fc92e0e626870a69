// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pytorch_notes.h"

#include "core/base/tensor_name.h"

#include <fmt/format.h>
#include <string_view>

namespace qs {

std::vector<std::string> TorchNotes::sentences() const {
    std::vector<std::string> out;
    const auto note = [&](const Count& count, std::string_view one, std::string_view several) {
        if (count.n == 1)
            out.push_back(fmt::format("{} {}", quotedName(count.first), one));
        else if (count.n > 1)
            out.push_back(fmt::format("{} {}; the first is {}", count.n, several, quotedName(count.first)));
    };
    if (!classes.empty()) {
        std::string list;
        for (const auto& [name, seen] : classes)
            list += fmt::format("{}{} {} of class {}{}", list.empty() ? "" : ", ", quotedName(seen.first),
                                list.empty() ? "is an object" : "one", quotedName(name),
                                seen.n > 1 ? fmt::format(" like {} more", seen.n - 1) : "");
        out.push_back(list + (classes.size() == 1 ? ", which is not loaded" : "; they are not loaded") +
                      ", only tensors in it are shown");
    }
    if (otherClasses > 0) out.push_back(fmt::format("{} objects of other classes are not loaded", otherClasses));
    note(views, "is a conjugate or negative view and not shown", "conjugate or negative views are not shown");
    note(quantized, "is quantized; its integers are shown", "tensors are quantized and shown as integers");
    note(bare, "is a storage without a shape and not shown", "storages without a shape are not shown");
    note(plain, "is a plain value and not shown", "plain values are not shown");
    note(again, "is shown under another name, or holds itself",
         "parts are shown under other names, or hold themselves");
    if (keys > 0)
        out.push_back(fmt::format("{} values have keys that are no names, in {}", keys, quotedName(firstKeys)));
    return out;
}

} // namespace qs
