// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A mesh of devices with named axes, and which mesh axes partition which axis of a tensor.

#include "core/value/tensor.h"

#include <string>
#include <string_view>

namespace qs::value {

struct MeshAxis {
    std::string name;
    std::int64_t size = 1;
};
struct Mesh {
    std::vector<MeshAxis> axes; ///< devices are numbered with the last axis changing fastest
    std::int64_t devices() const;
};
/// "data=2,model=4"
Result<Mesh> parseMesh(std::string_view text);
std::string meshText(const Mesh& mesh);

/// For each tensor axis, the mesh axes that partition it, coarsest first. Axes beyond the list are not partitioned.
struct Partition {
    std::vector<std::vector<std::string>> axes;
};
/// "data+model,-": the first axis over both mesh axes, the second not partitioned. "": the whole tensor is on every
/// device.
Result<Partition> parsePartition(std::string_view text);

/// The number of parts along each axis of a tensor. Fails for unknown or repeated mesh axes and for sizes that do not
/// divide.
Result<Shape> partsOf(const Mesh& mesh, const Partition& partition, std::span<const std::int64_t> shape);
/// The index of a device's part along each tensor axis.
Shape placeOf(const Mesh& mesh, const Partition& partition, std::size_t rank, std::int64_t device);

} // namespace qs::value
