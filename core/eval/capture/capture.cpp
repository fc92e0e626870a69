// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/capture/capture.h"

#include "core/base/rows.h"
#include "core/base/text.h"
#include "core/eval/capture/writers.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr CaptureKind kKinds[] = {
    {"rows", "Inputs of every matrix: NAME, F32 [rows, inputs]", ".safetensors", true, writeRows},
    {"gram", "X^T X over all inputs: NAME.gram, F64 [inputs, inputs], and NAME.rows, I64 [1]", ".safetensors", false,
     writeGrams},
    {"imatrix", "Importance matrix of llama.cpp", ".gguf", false, writeImatrixGguf},
    {"imatrix-dat", "Importance matrix of llama.cpp before GGUF", ".dat", false, writeImatrixDat}};

} // namespace

std::span<const CaptureKind> captureKinds() { return kKinds; }

Result<const CaptureKind*> captureKindOf(std::string_view path, std::string_view id) {
    std::string ends;
    for (const CaptureKind& kind : kKinds) {
        if (path.ends_with(kind.extension) && (id.empty() || id == kind.id)) return &kind;
        if (ends.find(kind.extension) == ends.npos) ends += (ends.empty() ? "" : ", ") + std::string(kind.extension);
    }
    if (const CaptureKind* asked = rowOf(kKinds, id))
        return fail(fmt::format("{} is no file for {}, which is written to {}.",
                                escapeForPeople(std::string(path), 200), id, asked->extension));
    return fail(fmt::format("{} does not say what to capture: its name must end in {}.",
                            escapeForPeople(std::string(path), 200), ends));
}

} // namespace qs::eval
