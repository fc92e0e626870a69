// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the nodes of an ONNX model that read quantized weights, wherever they are: in the graph, in graphs inside of
// nodes, which may read tensors of the graphs around them, and in local functions, which read what each call gives them.

#include "core/model/onnx/graph.h"

namespace qs::onnx {

/// A graph or a local function.
struct Body {
    Range range;                 ///< of its message in the file
    std::string prefix;          ///< of the names of its tensors
    const Body* outer = nullptr; ///< the graph around it
};
struct Bodies {
    std::deque<Body> graphs;               ///< pointers to them stay valid
    std::map<std::string, Body> functions; ///< by functionKey()
};
std::string functionKey(const std::string& domain, const std::string& name, const std::string& overload);

/// Sets `dequantized`, `packed`, `scales` and `outputLast` of a file whose tensors are complete. `bodies` are valid
/// messages. False if the lists take more memory than `budget` has.
bool findQuantizedNodes(const ReadBytes& read, const Bodies& bodies, ListBudget& budget, File& file);

} // namespace qs::onnx
