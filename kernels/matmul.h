// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Products with quantized weights, in several ways ("variants") that stand side by side.
//
// y[M,N] = x[M,K] W^T with W stored [N,K], or x W with W stored [K,N]. A stored weight is a matrix of codes, rows x
// cols; axis 0 is the row, axis 1 the column. The decoded value is the f32 product level(code) * scale. Variants repack
// in prepare(); run() is what is timed. Shapes, packings and scales that a variant does not do it declines with a
// reason.

#include "kernels/thread_team.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qs {

enum class NumberType : std::uint8_t { None, F32, F16, Bf16, E8m0, Fp8E4m3, I8, U8, I32, I16 };
/// Where code i of a row lies; names and meaning are those of the backend interface.
enum class Packing : std::uint8_t { None, PairHiFirst, PairLoFirst, QuadLoFirst, OctetLoFirst, Planar };
enum class MatmulOp : std::uint8_t { Matmul, Dequantize, Quantize, QuantizeAct };

struct WeightFormat {
    std::string id;                       ///< "nf4" "int8" ...; decides for quantize, and for small floats
    int bits = 32;                        ///< per code: 1 2 4 8 16 32
    NumberType element = NumberType::F32; ///< of the stored tensor: U8 where codes share bytes
    Packing packing = Packing::None;
    int packAxis = -1;                   ///< 1; 0 for Planar only
    NumberType scale = NumberType::None; ///< F32 F16 Bf16 E8m0
    int blockAxis = -1;                  ///< axis cut into blocks; -1: none
    int channelAxis = -1;                ///< without blocks: the axis kept; -1: one scale, or none
    std::size_t block = 0;
    int codeBias = 0;          ///< integers: value = code + codeBias
    std::vector<float> levels; ///< value of each code where that is a table; empty for integers and floats
    bool isFloat() const { return levels.empty() && element != NumberType::U8 && element != NumberType::I8; }
    bool isInteger() const { return levels.empty() && !isFloat(); }
};

struct MatmulProblem {
    MatmulOp op = MatmulOp::Matmul;
    std::size_t m = 1, n = 0, k = 0;
    bool weightIsKn = false; ///< W is stored [K,N]
    bool bias = false;
    bool dynamicAct = false; ///< act is I8 or Fp8E4m3, x arrives as F32 and is quantized per row within the run
    bool measure = false;    ///< quantize sums the error of its codes, too
    WeightFormat weight;
    NumberType act = NumberType::F32;                                ///< F32 Bf16 I8 Fp8E4m3 (dynamic only)
    NumberType out = NumberType::F32;                                ///< F32 Bf16
    NumberType compute = NumberType::None, accum = NumberType::None; ///< demanded; None: the variant's choice
    std::size_t rows() const { return weightIsKn ? k : n; }
    std::size_t cols() const { return weightIsKn ? n : k; }
};

/// Why no variant can do it (nullptr: some can): unknown formats, packings and scales, impossible sizes.
const char* whyImpossible(const MatmulProblem& problem);

/// The stored weight; valid during prepare() only. `quantize` takes the f32 [N,K] source as codes.
struct WeightOperand {
    const void* codes = nullptr;
    std::size_t rowBytes = 0;     ///< from one stored row to the next; padded where the format pads
    const void* scales = nullptr; ///< blockAxis 1: [rows, scaleCols]; 0: [blocks, cols]; channels: one each; or one
    std::size_t scaleCols = 0;    ///< blockAxis 1 only
    const float* bias = nullptr;  ///< N
};
struct MatmulInput {
    const void* x = nullptr;      ///< [M,K] of problem.act, F32 when dynamic
    const float* scale = nullptr; ///< M, for I8 that is not dynamic; nullptr: 1
};
struct MatmulOutput {
    void* out = nullptr;
    void* scale = nullptr; ///< quantize and quant_act
    /// quantize that measures, over W and V, what its codes mean: sum (V-W)^2, sum W^2, max |V-W|, max |W|
    double* sums = nullptr;
};

/// Asked every few milliseconds by every worker.
struct StopRequest {
    bool (*asked)(const void*) = nullptr;
    const void* user = nullptr;
    bool operator()() const { return asked && asked(user); }
};

/// A function that time goes to.
struct InnerLoop {
    const char* what; ///< "decodes a panel"
    const void* code;
};

class PreparedMatmul {
public:
    virtual ~PreparedMatmul() = default;
    /// False when stopped; the output is then undefined. One run at a time for an object and its clones.
    virtual bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) = 0;
    /// Own copy of the weights, for runs that must find them in memory.
    virtual std::unique_ptr<PreparedMatmul> clone() const = 0;
    /// What one run reads of the weights and their scales.
    virtual std::size_t weightBytes() const = 0;
    /// For whoever asks what was run; empty: it is spread over plain code.
    virtual std::vector<InnerLoop> innerLoops() const { return {}; }
};

inline constexpr unsigned kVariantRepacks = 8;

struct MatmulVariant {
    const char* id; ///< [a-z0-9_.]+
    const char* title;
    const char* note;  ///< products and sums it uses
    const char* shape; ///< of the inner loop, for whoever asks what was run
    unsigned flags;
    double nmseLimit; ///< explained by its arithmetic, against an f64 evaluation of the same operands
    NumberType compute;
    std::size_t fromM;                             ///< the smallest M it is meant for
    bool (*supported)();                           ///< by this processor, and not above QS_FORCE_ISA
    const char* (*declines)(const MatmulProblem&); ///< nullptr: it does this problem
    std::unique_ptr<PreparedMatmul> (*prepare)(const MatmulProblem&, const WeightOperand&, ThreadTeam&);
};

/// All variants compiled in; the plain reference is first.
std::span<const MatmulVariant* const> matmulVariants();

} // namespace qs
