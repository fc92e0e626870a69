// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes the host tensors of a Problem from a spec and a shape.
// W is [N,K], or [K,N] if the op says so; blocks run along its LAST axis in both, as in eformer. Dims of the
// tensors: "weight" [rows, stored columns] in elements of its dtype (packed: bytes; nf4 rows are padded to whole
// blocks), "scale" [rows, blocks] with blocks, [kept axis] per channel, [1] per tensor; "act" [M,K], "bias" [N],
// "source" [N,K] f32.
//
// Random values: splitmix64 of (seed, stream, index) gives 64 bits. Three such numbers give twelve 16-bit uniforms; their
// sum minus 6 is the normal variate (Irwin-Hall). This is integer arithmetic, so that every machine gets the same
// operands. Weights have a standard deviation of 0.02. Activations have 1, and one channel in 64 (at least one from
// K = 32 on) is ten times larger, as outlier channels of language models are.

#include "core/base/random.h"
#include "core/bench/run/bench_plan.h"
#include "core/quant/encode/encode_plan.h"
#include "core/quant/encode/quantizer.h"

namespace qs {

/// W under a spec: packed for the interface, and in the form of the reference. Shared by all M and activations.
struct BenchWeights {
    OperandFormat format;
    std::vector<HostTensor> inputs;                     ///< "weight", then "scale" if the spec has scales
    std::shared_ptr<const std::vector<float>> original; ///< values before quantization, [rows, columns] as stored
    QuantizedTensor quantized;
    /// code -> value before scaling; empty for float formats, which have quantized.values
    std::vector<float> levels;
    std::uint64_t bytes = 0; ///< of codes, scales and padding
    /// Index of the scale of an element: row * rowStep + column / block * blockStep; without scales it is 1.
    std::size_t scaleIndex(std::int64_t row, std::int64_t column) const {
        return std::size_t(row) * rowStep + std::size_t(column / block) * blockStep;
    }
    std::size_t rowStep = 0, blockStep = 0;
    std::int64_t block = 1;
};
/// [rows, columns] seeded random values, or the values of a tensor of that shape.
Result<std::shared_ptr<const std::vector<float>>> weightValues(std::int64_t rows, std::int64_t columns,
                                                               std::uint64_t seed, const TensorView* tensor);
/// `outputLast`: the matrix is [K, N], of y = x W; axis=out then keeps its columns.
Result<std::shared_ptr<const BenchWeights>> makeWeights(const QuantSpec& spec, std::int64_t rows, std::int64_t columns,
                                                        std::shared_ptr<const std::vector<float>> values,
                                                        const Job& job, bool outputLast = false);

struct OperandRequest {
    const BenchOp* op = nullptr;
    const BenchAct* act = nullptr;
    std::int64_t m = 1, n = 0, k = 0;
    bool bias = false;
    std::uint64_t seed = 1;
};

struct Operands {
    Problem problem;
    std::vector<HostTensor> inputs; ///< for prepare()
    std::vector<HostTensor> act;    ///< for execute() and bench()
    std::vector<HostTensor> outs;   ///< role, dtype, dims and bytes; no buffer

    std::shared_ptr<const BenchWeights> weights;
    std::int64_t m = 0, n = 0, k = 0;
    std::vector<double> x; ///< [M,K] as the products use it: rounded to bf16, or the codes of a row without their scale
    std::vector<float> xScale; ///< [M] for activations that are quantized in the run, else empty
    std::vector<float> bias;   ///< [N] or empty
    std::vector<double> sums;  ///< for quantize_stats: sum (V-W)^2, sum W^2, max |V-W|, max |W|; else empty
};
/// The results are codes and scales, which are compared bit by bit.
inline bool isQuantize(const Problem& problem) { return problem.op == "quantize" || problem.op == "quantize_stats"; }
/// `weights` must have the rows and columns of the op: [N,K] or [K,N].
Result<Operands> makeOperands(const OperandRequest& request, std::shared_ptr<const BenchWeights> weights);

/// How the interface passes activations.
OperandFormat actFormat(const BenchAct& act);
/// Why the interface cannot pass weights of this spec, for any shape; nullopt: it can.
std::optional<std::string> whyNotCrossing(const QuantSpec& spec);
/// How the interface passes weights of this spec; fails for a format without a packing.
Result<OperandFormat> weightFormat(const EncodePlan& plan, const ScaleGrid& grid);

/// Random streams of the operands: none depends on the size of another.
inline constexpr std::uint64_t kWeightStream = 1, kActStream = 2, kOutlierStream = 3, kBiasStream = 4, kCheckStream = 5;

/// A tensor with this role and zeroed memory.
Result<HostTensor> makeHostTensor(std::string role, std::string dtype, std::vector<std::int64_t> dims);
std::size_t dtypeBytes(std::string_view dtype); ///< of the interface's dtypes; 0 for an unknown one

} // namespace qs
