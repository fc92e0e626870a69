// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tensor_name.h"

#include "core/base/text.h"

#include <algorithm>

namespace qs {

bool naturalLess(std::string_view a, std::string_view b) {
    for (;;) {
        const std::size_t n = std::min(a.size(), b.size());
        const auto difference =
            std::size_t(std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(n), b.begin()).first - a.begin());
        if (difference == n) return a.size() < b.size();
        // The difference may be inside a number: compare from the start of that number.
        std::size_t start = difference;
        while (start > 0 && isDigit(a[start - 1])) --start;
        if (!isDigit(a[start]) || !isDigit(b[start]))
            return static_cast<unsigned char>(a[difference]) < static_cast<unsigned char>(b[difference]);
        const auto number = [start](std::string_view s) {
            std::size_t end = start, begin = start;
            while (end < s.size() && isDigit(s[end])) ++end;
            while (begin < end && s[begin] == '0') ++begin;
            return std::pair(s.substr(begin, end - begin), s.substr(end));
        };
        const auto [x, restA] = number(a);
        const auto [y, restB] = number(b);
        if (x.size() != y.size()) return x.size() < y.size();
        if (x != y) return x < y;
        // Equal numbers with different leading zeros: the rest decides first, then the zeros.
        if (restA == restB) return a.size() < b.size();
        a = restA;
        b = restB;
    }
}

std::string quotedName(std::string_view name) { return "\"" + escapeForPeople(name, 100) + "\""; }

} // namespace qs
