// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Devices in a mesh of named axes, and which of them cut which axis of a tensor.

#include "core/value/tensor.h"

#include <string>
#include <string_view>

namespace qs::value {

struct MeshAxis {
    std::string name;
    std::int64_t size = 1;
};
struct Mesh {
    std::vector<MeshAxis> axes; ///< the last one changes fastest from device to device
    std::int64_t devices() const;
};
/// "data=2,model=4"
Result<Mesh> parseMesh(std::string_view text);
std::string meshText(const Mesh& mesh);

/// Per tensor axis the mesh axes that cut it, the first one coarsest; axes beyond the list are whole everywhere.
struct Partition {
    std::vector<std::vector<std::string>> axes;
};
/// "data+model,-": the first axis over both, the second one whole. "" keeps the tensor whole on every device.
Result<Partition> parsePartition(std::string_view text);

/// Parts that each axis of a tensor is cut into. Refuses unknown and repeated mesh axes and sizes that do not divide.
Result<Shape> partsOf(const Mesh& mesh, const Partition& partition, std::span<const std::int64_t> shape);
/// Place of a device among the parts of each tensor axis.
Shape placeOf(const Mesh& mesh, const Partition& partition, std::size_t rank, std::int64_t device);

} // namespace qs::value
