// SPDX-License-Identifier: GPL-3.0-or-later
#include "made_problem.h"

#include "kernels/small_float.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

namespace qs::test {
namespace {

template<class T> std::vector<std::byte> bytesOf(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

} // namespace

static qs_tensor* view(MadeTensor& t, bool out) {
    t.abi = {};
    t.abi.struct_size = sizeof(qs_tensor);
    t.abi.rank = std::uint32_t(t.dims.size());
    t.abi.role = t.role.c_str();
    t.abi.dtype = t.dtype.c_str();
    for (std::size_t i = 0; i < t.dims.size(); ++i) t.abi.dims[i] = t.dims[i];
    t.abi.bytes = t.bytes.size();
    (out ? t.abi.out : const_cast<void*&>(t.abi.data)) = t.bytes.data();
    return &t.abi;
}
qs_tensor* MadeTensor::input() { return view(*this, false); }
qs_tensor* MadeTensor::output() { return view(*this, true); }

MadeProblem::MadeProblem(const MadeFormat& format, const MadeShape& shape, MadeAct act, bool bias,
                         const std::string& op, const std::string& out, std::uint32_t seed)
    : format_(format), shape_(shape), op_(op), out_(out), rows_(shape.kn ? shape.k : shape.n),
      cols_(shape.kn ? shape.n : shape.k), state_(seed * 2654435761u + 12345u) {
    if (op_ != "quant_act") {
        makeWeight();
        makeScale();
    }
    if (op_ != "dequantize") makeAct(act);
    if (bias) {
        for (std::int64_t i = 0; i < shape.n; ++i) bias_.push_back(uniform());
        weightTensors_.push_back({"bias", "f32", {shape.n}, bytesOf(bias_)});
    }
    problem_.struct_size = sizeof problem_;
    problem_.flags = (shape.kn ? QS_PROBLEM_W_IS_KN : 0u) | (bias ? QS_PROBLEM_BIAS : 0u) |
                     (act == MadeAct::Int8Dynamic ? QS_PROBLEM_DYNAMIC_ACT : 0u);
    problem_.m = shape.m;
    problem_.n = shape.n;
    problem_.k = shape.k;
}

void MadeProblem::makeWeight() {
    if (format_.format == "f32" || format_.format == "bf16" || format_.format == "f16") {
        std::vector<float> wide;
        std::vector<std::uint16_t> narrow;
        for (std::int64_t i = 0; i < rows_ * cols_; ++i) {
            const float x = uniform();
            narrow.push_back(format_.format == "bf16" ? f32ToBf16(x) : f32ToF16(x));
            wide.push_back(format_.format == "f32"    ? x
                           : format_.format == "bf16" ? bf16ToF32(narrow.back())
                                                      : f16ToF32(narrow.back()));
        }
        weightTensors_.push_back(
            {"weight", format_.format, {rows_, cols_}, format_.format == "f32" ? bytesOf(wide) : bytesOf(narrow)});
        format_.values = wide; // here a code is the index of its value
        for (std::int64_t i = 0; i < rows_ * cols_; ++i) codes_.push_back(unsigned(i));
        return;
    }
    const unsigned kinds = format_.codes ? format_.codes : 1u << format_.bits;
    for (std::int64_t i = 0; i < rows_ * cols_; ++i) codes_.push_back(random() % kinds);
    const std::int64_t perByte = format_.packing == "none" ? 1 : 8 / format_.bits;
    // Stored rows of nf4 are padded to whole blocks; rows of other formats end with their last byte.
    std::int64_t padded = cols_;
    if (format_.format == "nf4" && format_.packing != "planar" && shape_.blockAxis == 1)
        weight_.row_multiple = shape_.block,
        padded = (cols_ + std::int64_t(shape_.block) - 1) / std::int64_t(shape_.block) * std::int64_t(shape_.block);
    const std::int64_t rowBytes = (padded + perByte - 1) / perByte;
    std::vector<unsigned char> bytes(std::size_t(rows_ * rowBytes));
    for (std::int64_t r = 0; r < rows_; ++r)
        for (std::int64_t c = 0; c < cols_; ++c) {
            const unsigned code = codes_[std::size_t(r * cols_ + c)];
            std::int64_t byte = c / perByte;
            unsigned shift = unsigned(c % perByte) * format_.bits;
            if (format_.packing == "pair_hi_first") shift = 4 - shift;
            if (format_.packing == "planar") {
                byte = c % rowBytes;
                shift = unsigned(c / rowBytes) * format_.bits;
            }
            auto& to = bytes[std::size_t(r * rowBytes + byte)];
            to = static_cast<unsigned char>(to | code << shift);
        }
    weightTensors_.push_back({"weight", format_.dtype, {rows_, rowBytes}, bytesOf(bytes)});
}

void MadeProblem::makeScale() {
    if (format_.scaleDtype == "none") return;
    const auto block = std::int64_t(shape_.block);
    std::vector<std::int64_t> dims;
    if (shape_.blockAxis == 1)
        dims = {rows_, (cols_ + block - 1) / block};
    else if (shape_.blockAxis == 0)
        dims = {(rows_ + block - 1) / block, cols_};
    else if (shape_.channelAxis >= 0)
        dims = {shape_.channelAxis == 0 ? rows_ : cols_};
    std::int64_t count = 1;
    for (const auto dim : dims) count *= dim;
    std::vector<std::uint16_t> narrow;
    std::vector<unsigned char> exponents;
    for (std::int64_t i = 0; i < count; ++i) {
        const float x = 0.01f + 0.2f * std::abs(uniform());
        narrow.push_back(format_.scaleDtype == "bf16" ? f32ToBf16(x) : f32ToF16(x));
        exponents.push_back(static_cast<unsigned char>(120 + random() % 12));
        scales_.push_back(format_.scaleDtype == "f32"    ? x
                          : format_.scaleDtype == "bf16" ? bf16ToF32(narrow.back())
                          : format_.scaleDtype == "f16"  ? f16ToF32(narrow.back())
                                                         : std::ldexp(1.0f, exponents.back() - 127));
    }
    weightTensors_.push_back({"scale", format_.scaleDtype == "e8m0" ? "u8" : format_.scaleDtype, dims,
                              format_.scaleDtype == "f32"    ? bytesOf(scales_)
                              : format_.scaleDtype == "e8m0" ? bytesOf(exponents)
                                                             : bytesOf(narrow)});
}

void MadeProblem::makeAct(MadeAct act) {
    const auto count = std::size_t(shape_.m * shape_.k);
    act_.struct_size = sizeof act_;
    act_.bits = 32;
    act_.packing = "none";
    act_.scale_dtype = act == MadeAct::Int8Given || act == MadeAct::Int8Dynamic ? "f32" : "none";
    act_.zero_dtype = "none";
    act_.pack_axis = act_.block_axis = act_.channel_axis = -1;
    act_.format = act == MadeAct::F32 ? "f32" : act == MadeAct::BF16 ? "bf16" : "int8";
    std::vector<float> x(count);
    for (auto& value : x) value = uniform();
    if (shape_.m > 2) // row 2: zeros and one tie (127 steps to the largest value, and a value in the middle of a step)
        for (std::int64_t i = 0; i < shape_.k; ++i) x[std::size_t(2 * shape_.k + i)] = 0;
    x[0] = 127.0f / 64;
    if (count > 1 && shape_.k > 1) x[1] = 2.5f / 64;
    if (act == MadeAct::F32) {
        actTensors_.push_back({"act", "f32", {shape_.m, shape_.k}, bytesOf(x)});
        actValues_.assign(x.begin(), x.end());
        return;
    }
    if (act == MadeAct::BF16) {
        std::vector<std::uint16_t> narrow;
        for (const float value : x) {
            narrow.push_back(f32ToBf16(value));
            actValues_.push_back(double(bf16ToF32(narrow.back())));
        }
        actTensors_.push_back({"act", "bf16", {shape_.m, shape_.k}, bytesOf(narrow)});
        return;
    }
    std::vector<std::int8_t> q;
    std::vector<float> s;
    for (std::int64_t m = 0; m < shape_.m; ++m) {
        const float* row = x.data() + m * shape_.k;
        float peak = 0;
        for (std::int64_t i = 0; i < shape_.k; ++i) peak = std::max(peak, std::abs(row[i]));
        s.push_back(peak / 127 + FLT_MIN);
        for (std::int64_t i = 0; i < shape_.k; ++i) {
            q.push_back(std::int8_t(std::nearbyint(row[i] / s.back())));
            actValues_.push_back(double(q.back()) * double(s.back()));
        }
    }
    if (act == MadeAct::Int8Dynamic) {
        actTensors_.push_back({"act", "f32", {shape_.m, shape_.k}, bytesOf(x)});
    } else {
        actTensors_.push_back({"act", "i8", {shape_.m, shape_.k}, bytesOf(q)});
        actTensors_.push_back({"act_scale", "f32", {shape_.m}, bytesOf(s)});
    }
}

const qs_problem* MadeProblem::problem() {
    problem_.op = op_.c_str();
    problem_.out = out_.c_str();
    problem_.act = op_ == "dequantize" ? nullptr : &act_;
    problem_.weight = op_ == "quant_act" ? nullptr : &weight_;
    const auto rowMultiple = weight_.row_multiple; // set where the rows were made
    weight_ = {};
    weight_.row_multiple = rowMultiple;
    weight_.struct_size = sizeof weight_;
    weight_.bits = format_.bits;
    weight_.format = format_.format.c_str();
    weight_.packing = format_.packing.c_str();
    weight_.scale_dtype = format_.scaleDtype.c_str();
    weight_.zero_dtype = "none";
    weight_.pack_axis = format_.packing == "none" ? -1 : 1;
    weight_.block_axis = shape_.blockAxis;
    weight_.channel_axis = shape_.channelAxis;
    weight_.code_bias = format_.codeBias;
    weight_.block = format_.scaleDtype == "none" ? 0 : shape_.block; // blocks without scales are refused
    weight_.codebook = format_.codebook.empty() ? nullptr : format_.codebook.data();
    weight_.codebook_n = std::uint32_t(format_.codebook.size());
    return &problem_;
}

std::vector<const qs_tensor*> MadeProblem::weights() {
    std::vector<const qs_tensor*> list;
    for (auto& t : weightTensors_) list.push_back(t.input());
    return list;
}
std::vector<const qs_tensor*> MadeProblem::acts() {
    std::vector<const qs_tensor*> list;
    for (auto& t : actTensors_) list.push_back(t.input());
    return list;
}

MadeTensor MadeProblem::output() const {
    MadeTensor t{"out", out_, op_ == "dequantize" ? std::vector{rows_, cols_} : std::vector{shape_.m, shape_.n}, {}};
    t.bytes.assign(std::size_t(t.dims[0] * t.dims[1]) * (out_ == "f32" ? 4 : 2), std::byte{0xff}); // filled with NaN
    return t;
}

double MadeProblem::valueOf(unsigned code, const std::vector<float>& levels) const {
    if (!levels.empty()) return double(levels[code]);
    if (!format_.values.empty()) return double(format_.values[code]);
    if (format_.dtype == "i8") return double(std::int8_t(code)) + format_.codeBias;
    return double(int(code) + format_.codeBias);
}

double MadeProblem::scaleAt(std::int64_t row, std::int64_t col) const {
    if (scales_.empty()) return 1;
    const auto block = std::int64_t(shape_.block);
    std::int64_t at = 0;
    if (shape_.blockAxis == 1)
        at = row * ((cols_ + block - 1) / block) + col / block;
    else if (shape_.blockAxis == 0)
        at = row / block * cols_ + col;
    else if (shape_.channelAxis >= 0)
        at = shape_.channelAxis == 0 ? row : col;
    return double(scales_[std::size_t(at)]);
}

std::vector<double> MadeProblem::reference(const std::vector<float>& levels) const {
    std::vector<double> w;
    for (std::int64_t r = 0; r < rows_; ++r)
        for (std::int64_t c = 0; c < cols_; ++c)
            w.push_back(valueOf(codes_[std::size_t(r * cols_ + c)], levels) * scaleAt(r, c));
    if (op_ == "dequantize") return w;
    std::vector<double> y;
    for (std::int64_t m = 0; m < shape_.m; ++m)
        for (std::int64_t n = 0; n < shape_.n; ++n) {
            double sum = bias_.empty() ? 0 : double(bias_[std::size_t(n)]);
            for (std::int64_t k = 0; k < shape_.k; ++k)
                sum += actValues_[std::size_t(m * shape_.k + k)] *
                       w[std::size_t(shape_.kn ? k * shape_.n + n : n * shape_.k + k)];
            y.push_back(sum);
        }
    return y;
}

double nmse(const MadeTensor& y, const std::vector<double>& reference) {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        float value = 0;
        std::uint16_t narrow = 0;
        if (y.dtype == "f32")
            std::memcpy(&value, y.bytes.data() + 4 * i, 4);
        else
            std::memcpy(&narrow, y.bytes.data() + 2 * i, 2), value = bf16ToF32(narrow);
        if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
        error += (double(value) - reference[i]) * (double(value) - reference[i]);
        power += reference[i] * reference[i];
    }
    if (power == 0) return error == 0 ? 0 : std::numeric_limits<double>::infinity();
    return error / power;
}

} // namespace qs::test
