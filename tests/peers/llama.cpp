// SPDX-License-Identifier: GPL-3.0-or-later
// peer_llama BASE LOGITS: the figures of `llama-perplexity --kl-divergence` by our definitions, of a base-logits file and
// of logits that come from elsewhere: f32 [rows, vocabulary], as llama_cpp/llama_logits.cpp writes them.
#include "core/eval/files/base_logits.h"
#include "core/eval/scores/llama_statistics.h"

#include <cstdio>

using namespace qs;
using namespace qs::eval;

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: peer_llama BASE LOGITS\n", stderr), 2;
    const auto say = [](const Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; };
    const auto base = BaseFile::open(argv[1]);
    if (!base) return say(base.error());
    const auto logits = MappedFile::open(argv[2]);
    if (!logits) return say(logits.error());
    const BaseHeader& header = base->header();
    const std::size_t rows = header.chunks * header.rowsOfChunk(), row = header.vocabulary * sizeof(float);
    if ((*logits)->size() != rows * row) return std::fputs("the logits are not those of the base file\n", stderr), 1;
    const auto tokens = base->tokens();
    std::vector<float> expected(header.vocabulary), other(header.vocabulary);
    LlamaStatistics statistics;
    std::string lines = LlamaStatistics::chunkHeader();
    for (std::size_t i = 0; i < rows; ++i) {
        if (auto done = base->read(i, 1, expected); !done) return say(done.error());
        (*logits)->readInto(i * row, std::as_writable_bytes(std::span(other)));
        const std::size_t chunk = i / header.rowsOfChunk(), at = header.context / 2 + i % header.rowsOfChunk();
        statistics.add(scoreAsLlama(expected, other, tokens[chunk * header.context + at + 1]));
        if ((i + 1) % header.rowsOfChunk() == 0) lines += statistics.chunkLine(chunk);
    }
    std::fputs((lines + "\n" + statistics.summary()).c_str(), stdout);
    return 0;
}
