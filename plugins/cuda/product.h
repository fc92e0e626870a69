// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A problem on the device: its weights, its activations and its result. Cold runs need several copies of the weights.

#include "kernels/cuda/kernels.h"
#include "plugins/cuda/blas.h"

#include <vector>

namespace qs::cuda {

struct Device {
    cudaStream_t stream = nullptr;
    Blas blas;
    int processors = 0;
    std::size_t memory = 0;
    std::size_t l2 = 0; ///< bytes of the cache that all multiprocessors share
    std::string name, architecture, versions;
};

/// True if cuBLASLt applies the scales of this e4m3 product itself. Otherwise a kernel of ours does, after the product.
bool scalesItself(const Device& device, const qs_problem& problem);

class Product {
public:
    Product(Device& device, const qs_problem& problem, const VariantRow& row, Plan plan, const qs_tensor* const* in,
            std::uint32_t count);
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;

    qs_kernel_info info() const { return info_; }
    std::vector<std::string> kernelNames() const; ///< names of our kernels that it runs, for ptxOf(); not the vendor's
    void upload(const qs_tensor* const* act, std::uint32_t count); ///< checks the activations and copies them
    void copies(std::uint32_t count); ///< makes copies of the weights until there are `count`
    void run(std::uint32_t copy);     ///< adds a run to the stream and does not wait for it
    void download(qs_tensor* const* outs, std::uint32_t count, bool withScales = true) const;

private:
    struct Weights {
        Memory codes, scales;
    };
    void prepareWeights(const qs_tensor* const* in, std::uint32_t count);
    bool xIsPadded() const;
    void prepareRooms();
    StoredMatrix stored(const Weights& w) const;
    bool isTiled() const { return row_.path == Path::Skinny || row_.path == Path::Staged || row_.path == Path::Large; }
    StagedShape staged() const;
    Measuring measuring() const;
    void decode(const Weights& w, void* to, Element type) const;

    Device& device_;
    VariantRow row_;
    Plan plan_;
    std::int64_t m_, n_, k_, depth_, mPadded_, nPadded_;
    bool kn_, actBf16_ = false, dynamic_, outBf16_, isProduct_;
    std::vector<Weights> copies_;
    Memory levels_, stored_, bias_, x_, xScale_, padded_, sums_, dense_, y_, yScale_, finished_;
    Memory measured_, partials_, totals_; ///< for quantizers: values of the codes, sums per thread block, total sums
    TiledWeight shape_;                   ///< only its sizes; codes and scales are in copies_
    std::size_t yBytes_ = 0;              ///< bytes of the result; y_ may have padding behind it
    Blas::ByteProduct bytes_;
    qs_kernel_info info_{};
};

} // namespace qs::cuda
