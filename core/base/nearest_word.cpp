// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/nearest_word.h"

#include "core/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace qs {
namespace {

constexpr std::size_t kLongest = 40; ///< a longer word is no attempt at a word of the list

std::string plain(std::string_view word) {
    std::string out(word);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
        if (c == '-' || c == '.' || c == ' ') c = '_';
    }
    return out;
}

struct Edits {
    int count = 0;
    int digits = 0; ///< sum of the differences of changed digits
    bool operator<(const Edits& other) const { return std::pair(count, digits) < std::pair(other.count, other.digits); }
    Edits plus(int edits, int by = 0) const { return {count + edits, digits + by}; }
};

/// The fewest insertions, deletions, changes, and swaps of two neighbours.
Edits edits(std::string_view a, std::string_view b) {
    std::vector<std::vector<Edits>> least(a.size() + 1, std::vector<Edits>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                least[i][j] = {int(i + j), 0};
                continue;
            }
            const char x = a[i - 1], y = b[j - 1];
            const int by = isDigit(x) && isDigit(y) ? std::abs(x - y) : 0;
            Edits best = least[i - 1][j - 1].plus(x != y, by);
            best = std::min({best, least[i - 1][j].plus(1), least[i][j - 1].plus(1)});
            if (i > 1 && j > 1 && x == b[j - 2] && y == a[i - 2]) best = std::min(best, least[i - 2][j - 2].plus(1));
            least[i][j] = best;
        }
    return least[a.size()][b.size()];
}

} // namespace

std::optional<std::size_t> nearestWord(std::string_view typed, std::span<const std::string_view> words) {
    const std::string word = plain(typed.substr(0, kLongest + 1));
    if (word.empty() || word.size() > kLongest) return std::nullopt;
    std::optional<std::size_t> prefix, whole, least;
    Edits fewest;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string known = plain(words[i]);
        if (word.starts_with(known) && (!prefix || known.size() > words[*prefix].size())) prefix = i;
        if (!whole && (known.starts_with(word) || (word.size() > 2 && known.find(word) != std::string::npos)))
            whole = i;
        const Edits found = edits(word, known);
        if (!least || found < fewest) least = i, fewest = found;
    }
    if (prefix) return prefix;
    if (whole) return whole;
    return least && std::size_t(fewest.count) * 2 <= word.size() ? least : std::nullopt;
}

} // namespace qs
