// SPDX-License-Identifier: GPL-3.0-or-later
// llama_logits MODEL BASE OUT f16|f32 THREADS: the logits that `llama-perplexity --kl-divergence -b CONTEXT -fa off` compares with the
// base-logits file BASE, as f32 [rows, vocabulary]. The third argument from the end is the type of the key/value cache.
#include "llama.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Base {
    std::int32_t context = 0, vocabulary = 0, chunks = 0;
    std::vector<llama_token> tokens;
};

bool read(const char* path, Base& out) {
    std::ifstream file(path, std::ios::binary);
    char magic[8] = {};
    file.read(magic, sizeof magic);
    file.read(reinterpret_cast<char*>(&out.context), 4), file.read(reinterpret_cast<char*>(&out.vocabulary), 4);
    file.read(reinterpret_cast<char*>(&out.chunks), 4);
    if (!file || std::memcmp(magic, "_logits_", 8) != 0) return false;
    out.tokens.resize(std::size_t(out.context) * std::size_t(out.chunks));
    return bool(file.read(reinterpret_cast<char*>(out.tokens.data()), std::streamsize(out.tokens.size() * 4)));
}

llama_context* contextOf(llama_model* model, const Base& base, bool isF32, int threads) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = std::uint32_t(base.context);
    params.n_outputs_max_per_seq = std::uint32_t(base.context);
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.type_k = params.type_v = isF32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    params.n_threads = params.n_threads_batch = threads;
    return llama_init_from_model(model, params);
}

} // namespace

int main(int count, char** arguments) {
    if (count != 6) return std::fputs("llama_logits MODEL BASE OUT f16|f32 THREADS\n", stderr), 2;
    Base base;
    if (!read(arguments[2], base)) return std::fputs("no base-logits file\n", stderr), 1;
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_backend_init();
    llama_model* model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    llama_context* context =
        model ? contextOf(model, base, std::string(arguments[4]) == "f32", std::atoi(arguments[5])) : nullptr;
    if (!context) return std::fputs("the model cannot be loaded\n", stderr), 1;
    const llama_vocab* vocabulary = llama_model_get_vocab(model);
    std::ofstream out(arguments[3], std::ios::binary);
    llama_batch batch = llama_batch_init(base.context, 0, 1);
    const std::int32_t first = base.context / 2;
    for (std::int32_t chunk = 0; chunk < base.chunks; ++chunk) {
        llama_memory_clear(llama_get_memory(context), true);
        batch.n_tokens = base.context;
        for (std::int32_t i = 0; i < base.context; ++i) {
            batch.token[i] = base.tokens[std::size_t(chunk * base.context + i)];
            batch.pos[i] = i, batch.n_seq_id[i] = 1, batch.seq_id[i][0] = 0, batch.logits[i] = i >= first;
        }
        if (llama_vocab_get_add_bos(vocabulary)) batch.token[0] = llama_vocab_bos(vocabulary);
        if (llama_decode(context, batch) != 0) return std::fputs("a chunk cannot be decoded\n", stderr), 1;
        for (std::int32_t i = first; i + 1 < base.context; ++i)
            out.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, i)),
                      std::streamsize(base.vocabulary) * 4);
    }
    return out.flush() ? 0 : 1;
}
