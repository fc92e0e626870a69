// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// cuBLAS and cuBLASLt, loaded when the backend is opened; without them the baselines are declined and ours still run.

#include "plugins/common/shared_library.h"
#include "plugins/cuda/device.h"
#include "plugins/cuda/plan.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <optional>

namespace qs::cuda {

class Blas {
public:
    /// `folder`: where the libraries are, or empty for the linker's places. `capability`: of the device, 89 for 8.9.
    void load(const std::string& folder, cudaStream_t stream, int capability);
    ~Blas() { close(); }
    void close(); ///< before the stream ends
    Blas() = default;
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;
    const Libraries& libraries() const { return libraries_; }
    std::string version() const;
    const void* anywhere() const { return workspace_.as<void>(); } ///< aligned memory of the device, for asking

    /// y[m,n] (f32) = x[m,k] W; W [k,n] or [n,k]. Both of `type`, products in f32 for f32 (no TF32), sums in f32.
    void product(std::int64_t m, std::int64_t n, std::int64_t k, const void* x, const void* w, cudaDataType type,
                 bool wIsKn, float* y);

    /// sums[m,n] = x[m,k] W^T of bytes: int8 with int32 sums, or e4m3 with f32 sums; every size a multiple of 16.
    enum class Byte { Int8, E4m3 };
    struct ByteProduct {
        Byte type = Byte::Int8;
        bool scaled = false; ///< results are the sums times both scales
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
    /// y[m,n] (f32 or bf16) = x[m,k] W^T of e4m3, times xScale[m] and a scale of each row of W; nullopt: this cuBLASLt
    /// does not scale rows (before 12.9), or not this product on this device. What the scales point to is needed when it
    /// runs.
    std::optional<ByteProduct> planScaled(std::int64_t m, std::int64_t n, std::int64_t k, bool toBf16,
                                          const float* xScale) const;
    /// `wScale`: of a plan that scales.
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
    // In C++ the header overloads cublasGemmEx; the exported one takes a cublasComputeType_t.
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
