// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes small ONNX models, for tests.

#include "made_protobuf.h"
#include "tests/support/files.h"

namespace qs::test {

inline QByteArray one(const QByteArray& tensor) { return pb::model(pb::initializer(tensor)); }

inline QByteArray raw(const QByteArray& name, int type, const QByteArray& shape, const QByteArray& bytes) {
    return one(pb::tensor(name, type, shape, pb::raw(bytes)));
}

inline QByteArray initializer(const QByteArray& name, int type, const QByteArray& shape, const QByteArray& bytes) {
    return pb::initializer(pb::tensor(name, type, shape, pb::raw(bytes)));
}

} // namespace qs::test
