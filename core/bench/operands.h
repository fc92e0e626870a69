// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The host tensors of a Problem, out of a spec and a shape.
//
// W is [N,K], or [K,N] when the op says so; blocks run along its LAST axis in both, as in the seeds. Dims of the
// tensors: "weight" [rows, stored columns] in elements of its dtype (packed: bytes; nf4 rows are padded to whole
// blocks), "scale" [rows, blocks] with blocks, [kept axis] per channel, [1] per tensor; "act" [M,K], "bias" [N],
// "source" [N,K] f32.
//
// Random values: splitmix64 of (seed, stream, index) gives 64 bits; three of them are twelve 16-bit uniforms whose sum,
// minus 6, is the normal variate (Irwin-Hall): integer arithmetic, so every machine gets the same operands. Weights
// have standard deviation 0.02. Activations have 1, and one channel in 64 (at least one from K = 32 on) is ten times
// larger, as outlier channels of language models are.

#include "core/bench/bench_plan.h"
#include "core/quant/quantizer.h"

namespace qs {

struct OperandRequest {
    const BenchOp* op = nullptr;
    const BenchAct* act = nullptr;
    QuantSpec spec;
    std::int64_t m = 1, n = 0, k = 0;
    bool bias = false;
    std::uint64_t seed = 1;
    const TensorView* weights = nullptr; ///< [n,k] or [k,n] as the op has it; nullptr: random
};

struct Operands {
    Problem problem;
    std::vector<HostTensor> inputs; ///< of prepare()
    std::vector<HostTensor> act;    ///< of execute() and bench()
    std::vector<HostTensor> outs;   ///< role, dtype, dims and bytes; no buffer yet

    // The same operands for the reference.
    std::int64_t m = 0, n = 0, k = 0;
    bool wIsKn = false;
    std::vector<float> original;   ///< W before quantization, as stored
    QuantizedTensor quantized;     ///< of W
    std::vector<float> levels;     ///< code -> value before the scale; empty for float formats
    std::vector<double> x;         ///< [M,K] as the products see it: rounded to bf16, or q
    std::vector<float> xScale;     ///< [M] of int8 activations, else empty
    std::vector<float> bias;       ///< [N] or empty
    std::uint64_t weightBytes = 0; ///< codes, scales and padding
};
Result<Operands> makeOperands(const OperandRequest& request, const Job& job);

/// How a spec's weights cross the interface; fails for formats that it has no packing for.
Result<OperandFormat> weightFormat(const QuantSpec& spec, std::span<const std::int64_t> shape);

/// Element `index` of a stream of normal variates.
float normalVariate(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// A tensor of this role with memory behind it, zeroed.
Result<HostTensor> makeHostTensor(std::string role, std::string dtype, std::vector<std::int64_t> dims);
std::size_t dtypeBytes(std::string_view dtype); ///< of the interface's dtypes; 0 when unknown

} // namespace qs
