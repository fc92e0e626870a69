// SPDX-License-Identifier: GPL-3.0-or-later
// bench_quantize IN.f32 ROWS COLUMNS SPEC: the times in milliseconds of quantizing a matrix in memory; codes and scales are
// new each time, as those of quantize() in Python. IN.f32 holds the values. Each line of standard input asks for one
// sample, so that python_quantize.py can take turns with it.
#include "core/quant/encode/quantizer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    using namespace qs;
    if (argc != 5) return std::fputs("usage: bench_quantize IN.f32 ROWS COLUMNS SPEC\n", stderr), 2;
    TensorInfo info;
    info.shape = {std::atoll(argv[2]), std::atoll(argv[3])};
    info.elements = std::uint64_t(info.shape.front() * info.shape.back()), info.bytes = 4 * info.elements;
    std::vector<float> values(info.elements);
    std::ifstream in(argv[1], std::ios::binary);
    in.read(reinterpret_cast<char*>(values.data()), std::streamsize(info.bytes));
    const auto spec = parseSpec(argv[4]);
    if (!in || !spec) return std::fputs(spec ? "IN.f32 is too short\n" : "no such spec\n", stderr), 1;
    const TensorView view{&info, std::as_bytes(std::span(values)), nullptr};
    for (std::string line; std::getline(std::cin, line);) {
        const auto begin = std::chrono::steady_clock::now();
        const auto done = quantizeTensor(view, *spec, {});
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
        if (!done) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
        std::printf("%.6f\n", taken.count());
        std::fflush(stdout);
    }
    return 0;
}
