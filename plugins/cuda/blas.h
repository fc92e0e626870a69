// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// cuBLAS and cuBLASLt. They are loaded when the backend is opened. Without them the baselines are declined; our own
// kernels still run.

#include "plugins/common/shared_library.h"
#include "plugins/cuda/device.h"
#include "plugins/cuda/plan.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <optional>

namespace qs::cuda {

class Blas {
public:
    /// `folder` holds the libraries; if it is empty, the places of the linker are searched. `capability` is the compute
    /// capability of the device times 10: 89 for 8.9.
    void load(const std::string& folder, cudaStream_t stream, int capability);
    ~Blas() { close(); }
    void close(); ///< must be called before the stream is destroyed
    Blas() = default;
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;
    const Libraries& libraries() const { return libraries_; }
    std::string version() const;
    /// Some aligned memory of the device. planScaled() needs an address even if nothing will run.
    const void* anywhere() const { return workspace_.as<void>(); }

    /// y[m,n] (f32) = x[m,k] W, with W [k,n] or [n,k]. x and W have the type `type`. Products of f32 are computed in
    /// f32, not in TF32. Sums are f32.
    void product(std::int64_t m, std::int64_t n, std::int64_t k, const void* x, const void* w, cudaDataType type,
                 bool wIsKn, float* y);

    /// sums[m,n] = x[m,k] W^T with elements of one byte: int8 with int32 sums, or e4m3 with f32 sums. Every size must
    /// be a multiple of 16.
    enum class Byte { Int8, E4m3 };
    struct ByteProduct {
        Byte type = Byte::Int8;
        bool scaled = false; ///< true: the product also multiplies the sums by both scales
        const Blas* owner = nullptr;
        cublasLtMatmulDesc_t operation = nullptr;
        cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
        cublasLtMatmulAlgo_t algorithm{};

        ByteProduct() = default;
        ByteProduct(ByteProduct&& other) noexcept { *this = std::move(other); }
        ByteProduct& operator=(ByteProduct&& other) noexcept;
        ~ByteProduct();
    };
    ByteProduct planBytes(Byte type, std::int64_t m, std::int64_t n, std::int64_t k) const;
    /// Plans y[m,n] (f32 or bf16) = x[m,k] W^T of e4m3, times xScale[m] and a scale for each row of W. Returns nullopt
    /// if this cuBLASLt cannot scale rows (before 12.9) or cannot do this product on this device. The scales are read
    /// when the product runs.
    std::optional<ByteProduct> planScaled(std::int64_t m, std::int64_t n, std::int64_t k, bool toBf16,
                                          const float* xScale) const;
    /// `wScale` holds the scales of the rows of W; only for a plan of planScaled().
    void multiplyBytes(const ByteProduct& plan, const void* x, const void* w, void* to, const float* wScale = nullptr);

private:
    cublasStatus_t fill(ByteProduct& plan, std::int64_t m, std::int64_t n, std::int64_t k, cudaDataType to,
                        const float* xScale) const;

    plugin::SharedLibrary blas_, lt_;
    Libraries libraries_;
    cudaStream_t stream_ = nullptr;
    cublasHandle_t handle_ = nullptr;
    cublasLtHandle_t ltHandle_ = nullptr;
    Memory workspace_;
    static constexpr std::size_t kWorkspaceBytes = std::size_t(32) << 20;

    decltype(&cublasCreate_v2) create_ = nullptr;
    decltype(&cublasDestroy_v2) destroy_ = nullptr;
    decltype(&cublasSetStream_v2) setStream_ = nullptr;
    decltype(&cublasGetVersion_v2) getVersion_ = nullptr;
    // The C++ header overloads cublasGemmEx. The exported function is the one with a cublasComputeType_t.
    using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                      const void*, cudaDataType, int, const void*, cudaDataType, int, const void*,
                                      void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
    GemmEx gemm_ = nullptr;
    decltype(&cublasLtGetVersion) ltVersion_ = nullptr;
    decltype(&cublasLtCreate) ltCreate_ = nullptr;
    decltype(&cublasLtDestroy) ltDestroy_ = nullptr;
    decltype(&cublasLtMatmulDescCreate) descCreate_ = nullptr;
    decltype(&cublasLtMatmulDescDestroy) descDestroy_ = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) descSet_ = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) layoutCreate_ = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy_ = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate_ = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) preferenceDestroy_ = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preferenceSet_ = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic_ = nullptr;
    decltype(&cublasLtMatmul) matmul_ = nullptr;
};

} // namespace qs::cuda
