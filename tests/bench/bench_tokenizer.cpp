// SPDX-License-Identifier: GPL-3.0-or-later
// How fast one thread turns a text into token ids: bench_tokenizer TOKENIZER TEXT... TOKENIZER: a tokenizer.json, or a
// model with a tokenizer. A row a text: the median of seven runs in seconds of CPU time, so that other programs on the machine count
// little, with the slowest and the fastest. The time to read the tokenizer is apart.
#include "core/eval/tokenizer/tokenizer.h"
#include "core/model/model.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>

namespace {

double processorSeconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

std::string textOf(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

qs::Result<std::shared_ptr<const qs::eval::Tokenizer>> read(const std::string& path) {
    if (path.ends_with(".json")) return qs::eval::parseTokenizer(textOf(path.c_str()), path);
    const auto model = qs::openModel(path);
    if (!model) return tl::unexpected(model.error());
    return qs::eval::tokenizerOf(**model);
}

int measure(const qs::eval::Tokenizer& tokenizer, const char* path) {
    const std::string text = textOf(path);
    std::array<double, 7> rates{};
    std::size_t tokens = 0;
    for (double& rate : rates) {
        const double start = processorSeconds();
        const auto ids = tokenizer.encode(text, qs::Job());
        if (!ids) return std::fprintf(stderr, "%s\n", ids.error().message.c_str()), 1;
        rate = double(text.size()) / 1e6 / (processorSeconds() - start), tokens = ids->size();
    }
    std::sort(rates.begin(), rates.end());
    std::printf("| %s | %.2f | %zu | %.2f (%.2f to %.2f) MB/s |\n", path, double(text.size()) / 1e6, tokens,
                rates[rates.size() / 2], rates.front(), rates.back());
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3) return std::fprintf(stderr, "bench_tokenizer TOKENIZER TEXT...\n"), 2;
    const double start = processorSeconds();
    const auto tokenizer = read(arguments[1]);
    if (!tokenizer) return std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str()), 1;
    std::printf("read in %.3f s\n\n| text | MB | tokens | speed |\n|---|---|---|---|\n", processorSeconds() - start);
    for (int i = 2; i < count; ++i)
        if (const int failed = measure(**tokenizer, arguments[i])) return failed;
    return 0;
}
