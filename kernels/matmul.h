// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Products with quantized weights. Several variants compute the same product.
//
// y[M,N] = x[M,K] W^T with W stored as [N,K], or x W with W stored as [K,N]. A stored weight is a matrix of codes, rows
// x cols; axis 0 is the row, axis 1 the column. The decoded value is level(code) * scale, computed in f32. A variant
// may repack the weight in prepare(); only run() is timed. A variant declines shapes, packings and scales that it does
// not support, and gives the reason.

#include "kernels/thread_team.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qs {

/// Element types of operands, products and sums.
enum class NumberType : std::uint8_t { None, F32, F16, Bf16, E8m0, Fp8E4m3, I8, U8, I32, I16 };
/// Position of code i of a row in the stored bytes. Names and meaning are those of the backend interface
/// (plugins/abi/quantscope_backend.h).
enum class Packing : std::uint8_t { None, PairHiFirst, PairLoFirst, QuadLoFirst, OctetLoFirst, Planar };
/// The operations: a product; decoding a weight; encoding a weight; encoding activations to int8 row by row.
enum class MatmulOp : std::uint8_t { Matmul, Dequantize, Quantize, QuantizeAct };

/// How a weight is stored: element type, packing of codes, scales, and the value of each code.
struct WeightFormat {
    /// Id in formats(), e.g. "nf4". It decides the arithmetic of quantize and of small floats. Otherwise the fields
    /// below do.
    std::string id;
    int bits = 32;                        ///< bits per code: 1, 2, 4, 8, 16 or 32
    NumberType element = NumberType::F32; ///< of the stored tensor; U8 where codes share bytes
    Packing packing = Packing::None;
    int packAxis = -1;                   ///< axis along which codes share bytes: 1, or 0 for Planar; -1: no packing
    NumberType scale = NumberType::None; ///< F32, F16, Bf16, E8m0, or None
    int blockAxis = -1;                  ///< axis that is cut into blocks with a scale each; -1: none
    int channelAxis = -1;      ///< without blocks: the axis with one scale per index; -1: one scale in all, or none
    std::size_t block = 0;     ///< elements of a block
    int codeBias = 0;          ///< integers only: value = code + codeBias
    std::vector<float> levels; ///< value of each code; empty for integers and floats
    bool isFloat() const { return levels.empty() && element != NumberType::U8 && element != NumberType::I8; }
    bool isInteger() const { return levels.empty() && !isFloat(); }
};

/// An operation, its sizes (M rows of x, N output channels, K inner indices) and its types.
struct MatmulProblem {
    MatmulOp op = MatmulOp::Matmul;
    std::size_t m = 1, n = 0, k = 0;
    bool weightIsKn = false; ///< W is stored as [K,N]
    /// Add a bias of N floats to every row.
    bool bias = false;
    /// x is F32 and is quantized row by row to `act` (I8 or Fp8E4m3) within the run.
    bool dynamicAct = false;
    bool measure = false; ///< quantize only: also sum the error of the codes
    WeightFormat weight;
    NumberType act = NumberType::F32; ///< F32, Bf16, I8, or Fp8E4m3 (dynamic only)
    NumberType out = NumberType::F32; ///< F32 or Bf16
    /// Types of products and sums; None: the variant chooses
    NumberType compute = NumberType::None, accum = NumberType::None;
    std::size_t rows() const { return weightIsKn ? k : n; }
    std::size_t cols() const { return weightIsKn ? n : k; }
};

/// Reason why no variant can compute the problem: bad format, packing or scale, impossible size. nullptr: some may.
const char* whyImpossible(const MatmulProblem& problem);

/// The stored weight. Valid during prepare() only. For quantize, `codes` is the f32 source, [N,K].
struct WeightOperand {
    const void* codes = nullptr;
    std::size_t rowBytes = 0; ///< bytes from one stored row to the next, with the padding of the format
    /// Blocks along axis 1: [rows, scaleCols]; along axis 0: [blocks, cols]; per channel: one each; else one value.
    const void* scales = nullptr;
    std::size_t scaleCols = 0;   ///< scales per row; blocks along axis 1 only
    const float* bias = nullptr; ///< [N], or null
};
/// The activations of one run.
struct MatmulInput {
    const void* x = nullptr;      ///< [M,K] of problem.act; F32 if dynamicAct
    const float* scale = nullptr; ///< [M], for I8 that is not dynamic; nullptr: all 1
};
/// Where one run writes.
struct MatmulOutput {
    /// [M,N] for a product; the weight as stored for dequantize; codes for quantize and QuantizeAct.
    void* out = nullptr;
    void* scale = nullptr; ///< quantize and QuantizeAct only: the scales
    /// quantize with `measure` only. Four sums over the source W and the decoded values V: sum (V-W)^2, sum W^2, max
    /// |V-W|, max |W|.
    double* sums = nullptr;
};

/// Asks whether to stop. Every worker thread asks every few milliseconds.
struct StopRequest {
    bool (*asked)(const void*) = nullptr;
    const void* user = nullptr;
    bool operator()() const { return asked && asked(user); }
};

/// A function in which a variant spends its time, for profiles and disassembly.
struct InnerLoop {
    const char* what; ///< what it does, e.g. "decodes a panel"
    const void* code;
};

/// A weight prepared by a variant, ready to run.
class PreparedMatmul {
public:
    virtual ~PreparedMatmul() = default;
    /// Computes the result. Returns false if stopped; the output is then undefined. An object and its clones share
    /// memory, so only one of them may run at a time.
    virtual bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) = 0;
    /// A copy with its own memory for the weights. Benchmarks use copies to read weights from memory, not from a cache.
    virtual std::unique_ptr<PreparedMatmul> clone() const = 0;
    /// Bytes of weights and scales that one run reads.
    virtual std::size_t weightBytes() const = 0;
    /// The functions that take the time; empty if there is no single inner loop.
    virtual std::vector<InnerLoop> innerLoops() const { return {}; }
};

/// Flag of variants that repack the weight in prepare().
inline constexpr unsigned kVariantRepacks = 8;

/// One way to compute a problem.
struct MatmulVariant {
    const char* id; ///< characters a-z, 0-9, _ and .
    const char* title;
    const char* note;  ///< arithmetic of its products and sums
    const char* shape; ///< shape of the inner loop, for display
    unsigned flags;
    /// The largest normalized mean squared error that the arithmetic explains, against an f64 result of the same
    /// operands. 0: the limit of the host for `compute`. Below 0: the result must be exact.
    double nmseLimit;
    NumberType compute;
    std::size_t fromM;                             ///< the smallest M that it is meant for
    bool (*supported)();                           ///< this processor can run it, and QS_FORCE_ISA allows it
    const char* (*declines)(const MatmulProblem&); ///< reason for declining; nullptr: it accepts
    std::unique_ptr<PreparedMatmul> (*prepare)(const MatmulProblem&, const WeightOperand&, ThreadTeam&);
};

/// All variants in this build. The first one is the plain reference.
std::span<const MatmulVariant* const> matmulVariants();

} // namespace qs
