// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Models of TensorFlow.js: model.json (of layers or of a graph), or weights_manifest.json of before version 1, and the
// shards that it names, which lie in its folder. Weights follow each other through the shards of a group.
// Source: tfjs:`tfjs-core/src/io/{types,io_utils}.ts`.

#include "core/model/model.h"

#include <span>
#include <string_view>

namespace qs {

namespace tfjs {

enum class Coding {
    Plain,  ///< elements as the dtype says
    Affine, ///< codes; the value is float(code * scale + min), in doubles, as JavaScript computes
    Text,   ///< lengths and bytes, which are no numbers
};

struct Weight {
    TensorInfo info; ///< as it is stored: name, dtype of the codes, shape, bytes (0 of texts)
    Coding coding = Coding::Plain;
    double scale = 0, min = 0;
    bool isRounded = false; ///< codes of whole numbers (int32): shown as codes
};

struct Group {
    std::vector<std::string> paths; ///< of its shards, from the folder on
    std::size_t end = 0;            ///< of its weights; they begin where those of the group before end
};

struct Manifest {
    std::vector<Group> groups;
    std::vector<Weight> weights;
    std::map<std::string, std::string> metadata; ///< format, generatedBy, convertedBy
};

/// What the JSON text says; `path` only names the place in errors. It holds no shard twice.
Result<Manifest> parseManifest(std::string_view text, const std::string& path);

/// Bytes of a weight: in a shard, or in several that follow each other.
struct Piece {
    std::shared_ptr<MappedFile> file;
    std::uint64_t offset = 0, size = 0;
};

/// The tensor of what lies in these pieces.
TensorInfo derive(Weight weight, std::vector<Piece> pieces);

} // namespace tfjs

/// Of the first bytes of a text.
bool looksLikeTfjs(std::string_view head);

Result<std::shared_ptr<Model>> openTfjs(const std::string& path);

} // namespace qs
