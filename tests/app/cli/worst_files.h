// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Hostile files for memory_test: as many tiny tensors, names, dimensions and metadata as the bytes allow.

#include "tests/core/model/made_zip.h"

#include <functional>

namespace clitest {

struct Made {
    QString path;
    std::int64_t unpacked = 0;
};
struct Worst {
    const char *format, *what;
    bool opens;
    std::function<Made(const QString& folder)> make;
};

std::vector<Worst> worsts();

inline QByteArray number(int i) { return QByteArray::number(i, 36); }
inline QString name(const char* text) { return QString::fromLatin1(text); }
/// The header of a safetensors file.
QByteArray header(int tensors, const QByteArray& shape = "[0]", const QByteArray& prefix = {}, int from = 0);

} // namespace clitest
