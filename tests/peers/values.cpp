// SPDX-License-Identifier: GPL-3.0-or-later
// peer_values IN.safetensors OUT.safetensors: runs the operations of value_cases.h on the tensors of IN, for
// compare_values.py.
#include "tests/core/value/value_cases.h"

#include "core/model/safetensors/safetensors.h"

#include <cstdio>

using namespace qs;

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: peer_values IN.safetensors OUT.safetensors\n", stderr), 2;
    const auto say = [](const Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; };
    const auto model = openModel(argv[1]);
    if (!model) return say(model.error());
    test::Tensors in;
    for (const TensorInfo& tensor : (*model)->tensors) {
        const auto view = (*model)->view(tensor);
        auto values = view ? value::loadTensor(*view) : tl::unexpected(view.error());
        if (!values) return say(values.error());
        in[tensor.name] = std::move(*values);
    }
    std::vector<TensorToWrite> out;
    for (const auto& spec : test::kValueSpecs) {
        auto results = test::valueResults(in, spec);
        if (!results) return say(results.error());
        for (auto& [name, tensor] : *results)
            out.push_back(
                {name, DType::F32, tensor.shape, [values = std::move(tensor.values)](const TensorToWrite::Sink& sink) {
                     return sink(std::as_bytes(std::span(values)));
                 }});
    }
    const auto written = writeSafetensors(argv[2], std::move(out), {}, nullptr, Job{});
    return written ? 0 : say(written.error());
}
