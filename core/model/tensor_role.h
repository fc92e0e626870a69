// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a tensor is in its network. The role is decided once, when a model is opened (assignRoles): from the architecture
// in config.json or GGUF metadata, then from names, then from shapes. Every command, layout and page asks the role.

#include <cstdint>
#include <span>
#include <string_view>

namespace qs {

class Model;

enum class TensorRole : std::uint8_t {
    Unknown,     ///< nothing marks it as something else: a float matrix of an unknown network
    Linear,      ///< the matrix of a linear layer
    Experts,     ///< the matrices of several experts in one tensor
    Embedding,   ///< a table of token vectors
    Head,        ///< the output layer over the vocabulary
    Router,      ///< chooses the experts of a token
    Position,    ///< a table of positions, or of biases of attention by distance
    Convolution, ///< a kernel of a convolution
    State,       ///< a matrix of a state-space model that is no linear layer: A_log
    Norm,        ///< weights of a normalization
    Vector,      ///< biases and other tensors with one axis
    Part,        ///< a part of a quantized layer: scales, zero points, codes
};

/// The row of a role.
struct RoleRow {
    TensorRole role;
    const char* id;    ///< "router"
    const char* title; ///< "router"
    bool taken;        ///< a spec quantizes it without being told to
    const char* why;   ///< why it is not taken, as the end of a sentence; "" if it is taken
};
std::span<const RoleRow> tensorRoles();
const RoleRow& rowOf(TensorRole role);

/// The role that names give a matrix of the model, whether it is decoded yet or not.
TensorRole roleOfMatrix(const Model& model, std::string_view name);

/// Sets TensorInfo::role of every tensor that is not a Part yet.
void assignRoles(Model& model);

} // namespace qs
