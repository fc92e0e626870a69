// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A problem with random codes, packed as the ABI header describes. Its f64 result is computed without any decoding code
// of the backend.

#include "plugins/abi/quantscope_backend.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qs::test {

struct MadeFormat {
    std::string format; ///< format id of the ABI
    std::string packing = "none", dtype = "u8";
    unsigned bits = 8;
    int codeBias = 0;
    std::vector<float> codebook{}; ///< codebook in the description of the format
    std::vector<float> values{};   ///< value of code i; if empty: i + codeBias (i8: the byte itself)
    unsigned codes = 0;            ///< uses codes 0 .. codes-1; 0: all codes
    std::string scaleDtype = "f32";
};

struct MadeShape {
    std::int64_t m, n, k;
    bool kn = false;
    int blockAxis = -1, channelAxis = -1;
    std::uint64_t block = 0;
};

enum class MadeAct { F32, BF16, Int8Dynamic, Int8Given };

struct MadeTensor {
    std::string role, dtype;
    std::vector<std::int64_t> dims;
    std::vector<std::byte> bytes;
    qs_tensor abi{};
    qs_tensor* input(); ///< valid while this object lives and is not moved
    qs_tensor* output();
};

class MadeProblem {
public:
    MadeProblem(const MadeFormat& format, const MadeShape& shape, MadeAct act, bool bias,
                const std::string& op = "matmul", const std::string& out = "f32", std::uint32_t seed = 1);
    const qs_problem* problem();
    std::vector<const qs_tensor*> weights();
    std::vector<const qs_tensor*> acts();
    MadeTensor output() const;
    /// y in f64 of the stored operands. `levels`, if given, replace the values of the codes, for approximate decodes.
    std::vector<double> reference(const std::vector<float>& levels = {}) const;

private:
    void makeWeight();
    void makeScale();
    void makeAct(MadeAct act);
    std::uint32_t random() { return state_ = state_ * 1664525u + 1013904223u, state_ >> 8; }
    float uniform() { return float(random()) / 8388608.0f - 1.0f; }
    double scaleAt(std::int64_t row, std::int64_t col) const;
    double valueOf(unsigned code, const std::vector<float>& levels) const;

    MadeFormat format_;
    MadeShape shape_;
    std::string op_, out_;
    std::int64_t rows_, cols_;
    std::uint32_t state_;
    std::vector<unsigned> codes_;   ///< [rows, cols]
    std::vector<float> scales_;     ///< converted to f32
    std::vector<double> actValues_; ///< [m, k], as the product uses them
    std::vector<float> bias_;
    std::vector<MadeTensor> weightTensors_, actTensors_;
    qs_format weight_{}, act_{};
    qs_problem problem_{};
};

/// sum (y - r)^2 / sum r^2; infinity if y has a value that is not finite.
double nmse(const MadeTensor& y, const std::vector<double>& reference);

} // namespace qs::test
