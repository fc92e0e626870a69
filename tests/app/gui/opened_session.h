// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A session with an open model, and functions that write models for tests.

#include "app/gui/session.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QSignalSpy>
#include <QTest>
#include <QWidget>
#include <QtEndian>

#include <cmath>
#include <vector>

inline QString samplePath() { return QStringLiteral(QS_SOURCE_DIR "/resources/samples/tiny-llama"); }

/// A model with `layers` layers of seven projections [rows, 64] in BF16. The spread of values differs between tensors.
inline QString writeLayeredModel(const QString& path, int layers, int rows) {
    const char* roles[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                           "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
    QByteArray header = "{", data;
    quint32 random = 1;
    for (int layer = 0; layer < layers; ++layer)
        for (const char* role : roles) {
            const auto begin = data.size();
            for (int i = 0; i < rows * 64; ++i) {
                random = random * 1664525u + 1013904223u;
                // Later layers have more of the rare outliers, so that tensors differ.
                const float x = (float(random >> 8) / 8388608.f - 1) * (int(random >> 8) % 997 < layer ? 8.f : 1.f);
                quint32 bits;
                memcpy(&bits, &x, 4);
                const quint16 half = qToLittleEndian(quint16(bits >> 16));
                data.append(reinterpret_cast<const char*>(&half), 2);
            }
            header += (header.size() > 1 ? "," : "") + QByteArray("\"model.layers.") + QByteArray::number(layer) + '.' +
                      role + ".weight\":{\"dtype\":\"BF16\",\"shape\":[" + QByteArray::number(rows) +
                      ",64],\"data_offsets\":[" + QByteArray::number(begin) + ',' + QByteArray::number(data.size()) +
                      "]}";
        }
    header += '}';
    while (header.size() % 8) header += ' ';
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return {};
    const quint64 length = qToLittleEndian(quint64(header.size()));
    file.write(reinterpret_cast<const char*>(&length), 8);
    file.write(header);
    file.write(data);
    return path;
}

/// Shows the window and waits until it takes keys.
inline bool inFront(QWidget& window) {
    window.show();
    window.activateWindow();
    return QTest::qWaitForWindowActive(&window, qs::test::kWait);
}

inline bool openModel(qs::gui::Session& session, const QString& path) {
    QSignalSpy changed(&session, &qs::gui::Session::modelChanged);
    session.open(path);
    return (changed.size() > 0 || changed.wait(60'000)) && session.model();
}

inline bool everythingMeasured(qs::gui::Session& session, const qs::QuantSpec& spec) {
    return QTest::qWaitFor([&] { return session.modelRows(spec).size() == qsizetype(session.weights().size()); },
                           60'000);
}

inline bool tensorMeasured(qs::gui::Session& session) {
    return QTest::qWaitFor(
        [&] { return session.current() && !session.currentIsStale() && (!session.comparing() || session.currentB()); },
        60'000);
}
