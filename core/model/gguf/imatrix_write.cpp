// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf/imatrix_write.h"

#include "core/model/gguf/gguf_write.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace qs {
namespace {

constexpr std::uint32_t kVersion = 3, kTypeU32 = 4, kTypeString = 8, kTypeArray = 9, kF32 = 0;
constexpr std::size_t kAlignment = 32;

/// Little-endian values, one after another.
class Bytes {
public:
    template<class T> void add(T value) {
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        text_.append(bytes, sizeof value);
    }
    void addGgufString(const std::string& value) { add(std::uint64_t(value.size())), text_ += value; }
    void addText(const std::string& value) { text_ += value; }
    void align() { text_.resize((text_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0'); }
    std::size_t size() const { return text_.size(); }
    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

struct Tensor {
    std::string name;
    std::vector<std::uint64_t> shape; ///< ggml's order: the fastest axis first
    const std::vector<double>* values;
};

} // namespace

std::string imatrixAsGguf(const ImatrixToWrite& matrix) {
    std::vector<Tensor> tensors;
    for (const auto& entry : matrix.entries) {
        const std::uint64_t matrices = entry.counts.size(), columns = entry.sums.size() / matrices;
        const bool one = matrices == 1; // ggml drops trailing axes of 1
        tensors.push_back(
            {entry.name + ".in_sum2", one ? std::vector{columns} : std::vector{columns, matrices}, &entry.sums});
        tensors.push_back({entry.name + ".counts",
                           one ? std::vector{std::uint64_t(1)} : std::vector{std::uint64_t(1), matrices},
                           &entry.counts});
    }
    Bytes out;
    out.addText("GGUF");
    out.add(kVersion), out.add(std::uint64_t(tensors.size())), out.add(std::uint64_t(5));
    out.addGgufString(kGgufMark), out.add(kTypeU32), out.add(std::uint32_t(1));
    out.addGgufString("general.type"), out.add(kTypeString), out.addGgufString("imatrix");
    out.addGgufString("imatrix.datasets"), out.add(kTypeArray), out.add(kTypeString), out.add(std::uint64_t(1));
    out.addGgufString(matrix.dataset);
    out.addGgufString("imatrix.chunk_count"), out.add(kTypeU32), out.add(std::uint32_t(matrix.chunks));
    out.addGgufString("imatrix.chunk_size"), out.add(kTypeU32), out.add(std::uint32_t(matrix.chunkSize));
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors) {
        out.addGgufString(tensor.name), out.add(std::uint32_t(tensor.shape.size()));
        for (const std::uint64_t size : tensor.shape) out.add(size);
        out.add(kF32), out.add(offset);
        offset += (tensor.values->size() * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    }
    out.align();
    for (const Tensor& tensor : tensors) {
        for (const double value : *tensor.values) out.add(float(value));
        out.align();
    }
    return out.take();
}

std::string imatrixAsDat(const ImatrixToWrite& matrix) {
    Bytes out;
    out.add(std::int32_t(matrix.entries.size()));
    for (const auto& entry : matrix.entries) {
        const double most = *std::ranges::max_element(entry.counts);
        const auto calls = std::int32_t(std::ceil(most / double(matrix.chunkSize)));
        out.add(std::int32_t(entry.name.size())), out.addText(entry.name);
        out.add(calls), out.add(std::int32_t(entry.sums.size()));
        const std::size_t columns = entry.sums.size() / entry.counts.size();
        for (std::size_t i = 0; i < entry.sums.size(); ++i) {
            const double count = entry.counts[i / columns];
            out.add(float((count > 0 ? entry.sums[i] / count : 1) * double(calls)));
        }
    }
    out.add(std::int32_t(matrix.chunks));
    out.add(std::int32_t(matrix.dataset.size())), out.addText(matrix.dataset);
    return out.take();
}

} // namespace qs
