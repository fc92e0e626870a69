// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// OCDBT databases, written from the format description in TensorStore's manual.

#include "core/model/ocdbt/body.h"
#include "made_zarr.h"

namespace made_ocdbt {

inline QByteArray varint(std::uint64_t value) {
    QByteArray out;
    for (; value > 127; value >>= 7) out += char(value | 128);
    return out + char(value);
}

/// A manifest or a node: header and checksum around its body.
inline QByteArray wrapped(ocdbt::Kind kind, const QByteArray& body, bool compress = false) {
    const QByteArray inner = QByteArray(1, '\0') + char(compress) + (compress ? zstd(body) : body);
    QByteArray out;
    for (int i = 3; i >= 0; --i) out += char(std::uint32_t(kind) >> (8 * i));
    out += le(std::uint64_t(12 + inner.size() + 4)) + inner;
    return out + sum(out);
}

struct DataFile {
    QByteArray path = "d/0";
    int base = 0;
};
inline QByteArray shared(const QByteArray& a, const QByteArray& b) {
    int n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
    return a.left(n);
}
inline QByteArray table(const QList<DataFile>& files) {
    QByteArray prefixes, suffixes, bases, text;
    for (int i = 0; i < files.size(); ++i) {
        const bool sameBase = i > 0 && files[i].base == files[i - 1].base;
        QByteArray both = i > 0 ? shared(files[i - 1].path, files[i].path) : QByteArray();
        if (!sameBase && i > 0) both = both.left(std::min(files[i].base, files[i - 1].base));
        if (i > 0) prefixes += varint(std::uint64_t(both.size()));
        suffixes += varint(std::uint64_t(files[i].path.size() - both.size()));
        bases += varint(std::uint64_t(files[i].base));
        text += files[i].path.mid(both.size());
    }
    return varint(std::uint64_t(files.size())) + prefixes + suffixes + bases + text;
}

struct Row {
    QByteArray key, value;
    int file = -1; ///< index of the data file, for a value outside the node or for a child
    std::uint64_t offset = 0, length = 0;
    int common = 0; ///< length of the common key prefix; only in inner nodes
};
inline QByteArray keys(const QList<Row>& rows, bool isLeaf) {
    QByteArray prefixes, suffixes, commons, text;
    for (int i = 0; i < rows.size(); ++i) {
        const auto both = i > 0 ? shared(rows[i - 1].key, rows[i].key).size() : 0;
        if (i > 0) prefixes += varint(std::uint64_t(both));
        suffixes += varint(std::uint64_t(rows[i].key.size() - both));
        if (!isLeaf) commons += varint(std::uint64_t(rows[i].common));
        text += rows[i].key.mid(both);
    }
    return prefixes + suffixes + commons + text;
}
inline QByteArray leaf(const QList<Row>& rows, const QList<DataFile>& files = {{}}) {
    QByteArray lengths, kinds, ids, offsets, values;
    for (const auto& row : rows) {
        lengths += varint(row.file < 0 ? std::uint64_t(row.value.size()) : row.length);
        kinds += char(row.file >= 0);
        if (row.file < 0)
            values += row.value;
        else
            ids += varint(std::uint64_t(row.file)), offsets += varint(row.offset);
    }
    return QByteArray(1, '\0') + table(files) + varint(std::uint64_t(rows.size())) + keys(rows, true) + lengths +
           kinds + ids + offsets + values;
}
inline QByteArray inner(int height, const QList<Row>& rows, const QList<DataFile>& files = {{}}) {
    QByteArray ids, offsets, lengths;
    for (const auto& row : rows) {
        ids += varint(std::uint64_t(row.file));
        offsets += varint(row.offset);
        lengths += varint(row.length);
    }
    return QByteArray(1, char(height)) + table(files) + varint(std::uint64_t(rows.size())) + keys(rows, false) + ids +
           offsets + lengths + QByteArray(3 * rows.size(), '\1');
}

struct Version {
    std::uint64_t generation = 1;
    int height = 0, file = 0;
    std::uint64_t offset = 0, length = 0;
};
/// Configuration of a manifest. `kind` 1: numbered manifests.
inline QByteArray configuration(int kind = 0, const QByteArray& id = QByteArray(16, 'i'), int arity = 4,
                                const QByteArray& compression = QByteArray("\1\0\0\0\0", 5)) {
    return id + char(kind) + varint(1024) + varint(100'000'000) + char(arity) + compression;
}
inline QByteArray versions(const QList<Version>& all, const QList<DataFile>& files = {{}}) {
    QByteArray columns[6];
    for (const auto& one : all) {
        columns[0] += varint(one.generation);
        columns[1] += char(one.height);
        columns[2] += varint(std::uint64_t(one.file));
        columns[3] += varint(one.offset);
        columns[4] += varint(one.length);
        columns[5] += QByteArray(3, '\1');
    }
    QByteArray out = table(files) + varint(std::uint64_t(all.size()));
    for (const auto& column : columns) out += column;
    return out + QByteArray(8 * all.size(), 't') + varint(0); // times; no nodes of older versions
}

/// A folder built node by node.
struct Database {
    QString folder;
    bool compress = false;
    QByteArray data; ///< content of d/0

    Row add(const QByteArray& body, const QByteArray& key = {}, int common = 0) {
        const QByteArray node = wrapped(ocdbt::Kind::Node, body, compress);
        Row row{key, {}, 0, std::uint64_t(data.size()), std::uint64_t(node.size()), common};
        data += node;
        return row;
    }
    Row value(const QByteArray& key, const QByteArray& bytes) {
        Row row{key, {}, 0, std::uint64_t(data.size()), std::uint64_t(bytes.size()), 0};
        data += bytes;
        return row;
    }
    void save(const Row& root, int height = 0) {
        put(folder, QStringLiteral("d/0"), data);
        manifest(configuration() + versions({{1, height, 0, root.offset, root.length}}));
    }
    void manifest(const QByteArray& body, const char* name = "manifest.ocdbt") {
        put(folder, QString::fromUtf8(name), wrapped(ocdbt::Kind::Manifest, body, compress));
    }
};

/// An array of four F32 values: its description and one chunk.
inline QList<Row> array(const QByteArray& name, const QByteArray& chunk = QByteArray(16, 'a')) {
    return {{name + "/.zarray", second("[4]", "[4]")}, {name + "/0", chunk}};
}

/// A folder, and the error when it is opened.
struct Refused {
    QTemporaryDir folder;
    Database database{folder.path(), false, {}};

    QString refusal() const {
        const auto model = openModel(folder.path().toStdString());
        if (model) return {};
        const QString why = text(model.error().message);
        if (!why.startsWith(folder.path()) || !why.endsWith(u'.') || why.contains(u'\n') || why.size() > 500)
            qFatal("not a sentence about the folder: %s", qPrintable(why));
        return why;
    }
};

} // namespace made_ocdbt

#define QS_REFUSED(made, says)                                                                                         \
    do {                                                                                                               \
        const QString why = (made).refusal();                                                                          \
        QVERIFY2(why.contains(says), qPrintable(why.isEmpty() ? QStringLiteral("it opens") : why));                    \
    } while (false)
