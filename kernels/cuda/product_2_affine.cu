// SPDX-License-Identifier: GPL-3.0-or-later
// The products for codes of 2 bits in affine tiles, in a unit of their own so that units compile side by side.
#include "kernels/cuda/large.cuh"
#include "kernels/cuda/skinny.cuh"
#include "kernels/cuda/staged.cuh"

namespace qs::cuda {

int skinny2Affine(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    return skinnyByMode<Affine2>(w, x, shape, to, stream);
}
int staged2Affine(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                  const Target& to, Stream stream) {
    return stagedByShape<Affine2>(w, x, shape, room, to, stream);
}
int large2Affine(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    return largeByMode<Affine2>(w, x, to, stream);
}

} // namespace qs::cuda
