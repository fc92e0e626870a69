// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A product through the backend interface with made-up operands and its f64 result, used by the tests of all backends.
// Includes only kernels and the standard library, so that cuda_check needs nothing else.

#include "plugins/abi/quantscope_backend.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace qs::test {

struct Case {
    std::string weight = "f32"; ///< f32 bf16 f16 nf4 int8 int4 ternary binary fp8_e4m3
    std::int64_t m = 1, n = 1, k = 1;
    bool kn = false, bias = false;
    /// f32, bf16, int8 (with scales); f32 quantized within the run: "dynamic" (to int8), "dynamic fp8" (to e4m3)
    std::string act = "f32";
    std::string scale = ""; ///< row column tensor block; empty: the default of the format (nf4: block of 64, others:
                            ///< row)
    std::uint64_t block = 64;
    std::string op = "matmul", out = "f32"; ///< other operations: dequantize, quantize; m is 1 there
    std::string name() const;
};

/// Owns everything that the structs point to.
class AbiProblem {
public:
    /// Without the reference a large problem is made faster.
    explicit AbiProblem(const Case& c, std::uint32_t seed = 1, bool withReference = true);
    AbiProblem(const AbiProblem&) = delete;
    AbiProblem& operator=(const AbiProblem&) = delete;

    qs_problem problem{};
    std::vector<const qs_tensor*> inputs, acts; ///< inputs of prepare; inputs of execute
    /// [m*n], or the decoded weight; f64 over the quantized operands. NaN: not computed, because the problem is large.
    std::vector<double> reference;
    std::vector<float> dense;  ///< the decoded weight in stored order
    std::vector<float> source; ///< the values that were quantized
    std::int64_t outRows = 0, outColumns = 0;

private:
    const qs_tensor* tensor(const char* role, const char* dtype, std::vector<std::int64_t> dims,
                            std::vector<unsigned char> bytes);
    void makeWeight(const Case& c);
    void makeActivations(const Case& c);
    void multiply(const Case& c);
    std::uint32_t random();

    std::uint32_t state_;
    qs_format weight_{}, act_{};
    std::vector<float> codebook_, bias_;
    std::vector<double> x_;                        ///< activations as the backend must use them
    std::deque<std::vector<std::uint64_t>> bytes_; ///< aligned to at least 8 bytes; see alignedCopy
    std::deque<qs_tensor> tensors_;
};

/// sum (y-r)^2 / sum r^2 where r is not NaN. 0/0 is 0; a value of y that is not finite gives infinity.
double nmse(const std::vector<float>& y, const std::vector<double>& reference);

} // namespace qs::test
