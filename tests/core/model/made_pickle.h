// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Pickles built opcode by opcode, both as PyTorch writes them and faulty.

#include "core/model/pytorch/pickle.h"
#include "core/model/pytorch/pytorch_state.h"
#include "made_zip.h"

inline qs::Result<qs::Pickle> read(const QByteArray& bytes, const qs::PickleLimits& limits = {}) {
    return qs::Pickle::read(std::as_bytes(std::span(bytes.constData(), std::size_t(bytes.size()))), limits);
}
inline QByteArray textOp(const QByteArray& text) { return "X" + le(std::uint64_t(text.size()), 4) + text; }
inline QByteArray num(std::uint64_t n) {
    return n < 256 ? "K" + le(n, 1) : n < 65536 ? "M" + le(n, 2) : "\x8a\x08" + le(n, 8);
}
inline QByteArray classOp(const QByteArray& module, const QByteArray& name) {
    return "c" + module + "\n" + name + "\n";
}

inline QByteArray storage(const QByteArray& key, std::uint64_t elements, const QByteArray& kind = "FloatStorage") {
    return "(" + textOp("storage") + classOp("torch", kind) + textOp(key) + textOp("cpu") + num(elements) + "tQ";
}
inline QByteArray sizes(std::initializer_list<std::uint64_t> of) {
    QByteArray all = "(";
    for (const auto n : of) all += num(n);
    return all + "t";
}
inline QByteArray tensor(const QByteArray& store, const QByteArray& rest,
                         const QByteArray& function = "_rebuild_tensor_v2") {
    return classOp("torch._utils", function) + "(" + store + rest + "tR";
}
inline QByteArray plainTensor(const QByteArray& key = "0") {
    return tensor(storage(key, 6), num(0) + sizes({2, 3}) + sizes({3, 1}) + "\x89" + "N");
}
inline QByteArray dict(const QByteArray& pairs) { return "\x80\x02}(" + pairs + "u."; }

inline qs::Result<qs::TorchState> state(const QByteArray& bytes) {
    const auto pickle = read(bytes);
    if (!pickle) return tl::unexpected(pickle.error());
    return qs::readTorchState(*pickle, "stem");
}
inline QString notes(const qs::TorchState& state) {
    QStringList all;
    for (const auto& note : state.notes) all << text(note);
    return all.join(QLatin1Char('|'));
}
