// SPDX-License-Identifier: GPL-3.0-or-later
// How fast one thread turns a text into token ids: bench_tokenizer TOKENIZER.json TEXT. Prints the best of five runs; the
// time to read the tokenizer is apart.
#include "core/eval/tokenizer/tokenizer.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string textOf(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3) return std::fprintf(stderr, "bench_tokenizer TOKENIZER.json TEXT\n"), 2;
    auto start = std::chrono::steady_clock::now();
    const auto tokenizer = qs::eval::parseTokenizer(textOf(arguments[1]), arguments[1]);
    if (!tokenizer) return std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str()), 1;
    const double reading = secondsSince(start);
    const std::string text = textOf(arguments[2]);
    double best = 1e9;
    std::size_t tokens = 0;
    for (int run = 0; run < 5; ++run) {
        start = std::chrono::steady_clock::now();
        const auto ids = (*tokenizer)->encode(text, qs::Job());
        if (!ids) return std::fprintf(stderr, "%s\n", ids.error().message.c_str()), 1;
        best = std::min(best, secondsSince(start));
        tokens = ids->size();
    }
    std::printf("read in %.3f s; %zu tokens, %.2f MB/s\n", reading, tokens, double(text.size()) / 1e6 / best);
    return 0;
}
