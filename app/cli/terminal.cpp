// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/terminal.h"

#include "core/base/short_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <fmt/format.h>
#include <mutex>
#include <sys/ioctl.h>
#include <unistd.h>

namespace qs::cli {
namespace {

int terminalWidth(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char* columns = std::getenv("COLUMNS");
    const int asked = columns ? std::atoi(columns) : 0;
    return asked > 0 ? asked : 80;
}

/// Width in terminal columns. Handles wide and combining characters.
std::size_t shownWidth(std::string_view text) {
    std::size_t width = 0;
    std::mbstate_t state{};
    while (!text.empty()) {
        if (static_cast<unsigned char>(text[0]) < 0x80) {
            ++width;
            text.remove_prefix(1);
            continue;
        }
        wchar_t c = 0;
        const std::size_t n = std::mbrtowc(&c, text.data(), text.size(), &state);
        if (n == 0 || n > text.size()) {
            ++width, text.remove_prefix(1), state = {};
            continue;
        }
        width += std::size_t(std::max(0, wcwidth(c)));
        text.remove_prefix(n);
    }
    return width;
}

std::string elided(const std::string& text, std::size_t width) {
    std::string out = text;
    for (std::size_t chars = width; shownWidth(out) > width && chars >= 3; --chars) out = escapeForPeople(text, chars);
    return out;
}

std::string cellWithin(const ColumnInfo& column, const Value& value, std::size_t longest) {
    const std::string text = cellText(column, value);
    return column.show == Show::Name ? nameWithin(escapeForPeople(text, 1000), longest)
                                     : escapeForPeople(text, longest);
}

/// Makes the widest text column narrower until the row fits. Columns of numbers are never cut.
void fit(std::vector<std::size_t>& widths, const std::vector<ColumnInfo>& columns, std::size_t room) {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const auto w : widths) sum += w;
    while (sum > room) {
        std::size_t widest = widths.size();
        for (std::size_t c = 0; c < widths.size(); ++c)
            if (!isNumeric(columns[c]) && widths[c] > 8 && (widest == widths.size() || widths[c] > widths[widest]))
                widest = c;
        if (widest == widths.size()) return;
        --widths[widest], --sum;
    }
}

struct ProgressLine {
    std::mutex mutex;
    const bool terminal = isatty(STDERR_FILENO) == 1;
    bool shown = false;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now(), last{};
};
ProgressLine& progressLine() {
    static ProgressLine line;
    return line;
}

/// Passes each line of the table to `put`. Calls `row(r)` twice for every row.
template<class Row, class Put>
Result<void> putTable(const std::vector<ColumnInfo>& columns, std::size_t rows, const Row& row, std::size_t longest,
                      const Put& put) {
    if (columns.empty()) return {};
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    std::vector<std::size_t> widths;
    for (const auto& column : columns) widths.push_back(shownWidth(headerText(column)));
    for (std::size_t r = 0; r < rows; ++r) {
        const auto& cells = row(r);
        for (std::size_t c = 0; c < columns.size(); ++c)
            widths[c] = std::max(widths[c], shownWidth(cellWithin(columns[c], cells[c], longest)));
    }
    if (terminal) fit(widths, columns, std::size_t(std::max(40, terminalWidth(STDOUT_FILENO))));

    const auto putLine = [&](const auto& cell, bool isHeader) {
        std::string line;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const bool isName = !isHeader && columns[c].show == Show::Name;
            const auto fits = [&](std::string_view part) { return shownWidth(part) <= widths[c]; };
            const std::string text = isName ? nameWithin(cell(c), fits) : elided(cell(c), widths[c]);
            const std::size_t shown = shownWidth(text);
            const std::string pad(widths[c] > shown ? widths[c] - shown : 0, ' ');
            if (c) line += "  ";
            line += isNumeric(columns[c]) ? pad + text : text + pad;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return put(terminal && isHeader ? "\033[1m" + line + "\033[0m\n" : line + "\n");
    };
    if (auto done = putLine([&](std::size_t c) { return headerText(columns[c]); }, true); !done) return done;
    for (std::size_t r = 0; r < rows; ++r) {
        const auto& cells = row(r);
        const auto cell = [&](std::size_t c) { return cellWithin(columns[c], cells[c], longest); };
        if (auto done = putLine(cell, false); !done) return done;
    }
    return {};
}

} // namespace

std::string tableText(const Table& table, std::size_t longest) {
    std::string out;
    (void)putTable(
        table.columns, table.rows.size(), [&](std::size_t r) -> const std::vector<Value>& { return table.rows[r]; },
        longest,
        [&](std::string line) {
            out += line;
            return Result<void>();
        });
    return out;
}

Result<void> printTable(const std::vector<ColumnInfo>& columns, std::size_t rows,
                        const std::function<std::vector<Value>(std::size_t)>& row, std::size_t longest) {
    constexpr std::size_t piece = 65'536;
    std::string out;
    auto done = putTable(columns, rows, row, longest, [&](std::string line) -> Result<void> {
        out += line;
        if (out.size() < piece) return {};
        auto printed = print(out);
        out.clear();
        return printed;
    });
    return done ? print(out) : done;
}

bool narrowTerminal() { return isatty(STDOUT_FILENO) == 1 && terminalWidth(STDOUT_FILENO) < 100; }

Result<void> print(std::string_view text) {
    clearProgress();
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
    return fail(fmt::format("The standard output could not be written: {}.", std::strerror(errno)));
}

static void say(const char* before, std::string_view sentence) {
    clearProgress();
    const std::string line = oneSentence(before + std::string(sentence)) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void warn(std::string_view sentence) { say("quantscope-cli: warning: ", sentence); }
void note(std::string_view sentence) { say("quantscope-cli: ", sentence); }

void showProgress(const Progress& progress) {
    auto& line = progressLine();
    if (!line.terminal) return;
    const std::lock_guard lock(line.mutex);
    const auto now = std::chrono::steady_clock::now();
    if (now - line.last < std::chrono::milliseconds(100)) return;
    line.last = now;
    line.shown = true;

    const double share = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 0;
    const double elapsed = std::chrono::duration<double>(now - line.start).count();
    std::string tail =
        progress.itemsTotal ? fmt::format(" {} of {}", progress.items, progress.itemsTotal) : std::string();
    if (progress.total > 0) {
        constexpr int cells = 24;
        const int full = int(share * cells);
        std::string bar;
        for (int i = 0; i < cells; ++i) bar += i < full ? "█" : "░";
        tail += fmt::format(" {} {:3.0f} %", bar, 100 * share);
        if (share > 0.02 && elapsed > 0.5) tail += fmt::format(" {} left", durationText(elapsed * (1 - share) / share));
    }
    const int room = terminalWidth(STDERR_FILENO) - int(shownWidth(tail)) - 1;
    const std::string text =
        "\r\033[K" + (room > 8 ? elided(escapeForPeople(progress.what), std::size_t(room)) : std::string()) + tail;
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

void clearProgress() {
    auto& line = progressLine();
    const std::lock_guard lock(line.mutex);
    if (!line.shown) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    line.shown = false;
}

} // namespace qs::cli
