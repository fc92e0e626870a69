// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens TensorFlow.js models: model.json (a layers model or a graph model), or weights_manifest.json from before
// version 1, and their shards in the same folder. The weights of a group are stored one after another across its
// shards.
// Source: tfjs:`tfjs-core/src/io/{types,io_utils}.ts`.

#include "core/model/model.h"

#include <span>
#include <string_view>

namespace qs {

namespace tfjs {

enum class Coding {
    Plain,  ///< elements of the dtype
    Affine, ///< codes: value = float(code * scale + min), computed in double as JavaScript does
    Text,   ///< strings, each after its length
};

struct Weight {
    TensorInfo info; ///< as stored: name, dtype of the codes, shape, size in bytes (0 for strings)
    Coding coding = Coding::Plain;
    double scale = 0, min = 0;
    bool isRounded = false; ///< codes of an int32 weight: they are shown as codes
};

/// Shards and the weights in them.
struct Group {
    std::vector<std::string> paths; ///< of the shards, relative to the folder
    std::size_t end = 0; ///< index after the last weight; the first weight follows the last one of the group before
};

struct Manifest {
    std::vector<Group> groups;
    std::vector<Weight> weights;
    std::map<std::string, std::string> metadata; ///< format, generatedBy, convertedBy
};

/// Parses the JSON text. `path` is used only in messages. Fails if a shard is named twice.
Result<Manifest> parseManifest(std::string_view text, const std::string& path);

/// A part of a weight's bytes, in one shard. A weight has several if it crosses the end of a shard.
struct Piece {
    std::shared_ptr<MappedFile> file;
    std::uint64_t offset = 0, size = 0;
};

/// The tensor whose bytes are in these pieces; dequantized to F32 if its coding is Affine.
TensorInfo derive(Weight weight, std::vector<Piece> pieces);

} // namespace tfjs

/// True if the start of a text file looks like a model. `head`: the first bytes, up to 4096.
bool looksLikeTfjs(std::string_view head);

Result<std::shared_ptr<Model>> openTfjs(const std::string& path);

} // namespace qs
