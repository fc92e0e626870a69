// SPDX-License-Identifier: GPL-3.0-or-later
#include "worst_files.h"

#include "tests/core/model/made_gguf.h"
#include "tests/core/model/made_ocdbt.h"
#include "tests/core/model/made_protobuf.h"

#include <QDir>
#include <map>
#include <tflite_schema_generated.h>

namespace clitest {

QByteArray header(int tensors, const QByteArray& shape, const QByteArray& prefix, int from) {
    QByteArray text = "{";
    for (int i = from; i < from + tensors; ++i)
        text += (i > from ? "," : "") + entry(prefix + number(i), "U8", shape, "[0,0]");
    return text + "}";
}

namespace {

QByteArray metadata(int entries) {
    QByteArray text = "{\"__metadata__\":{";
    for (int i = 0; i < entries; ++i) text += (i ? ",\"" : "\"") + number(i) + "\":\"\"";
    return text + "}}";
}
QByteArray index(int entries, const QByteArray& shard) {
    QByteArray text = "{\"weight_map\":{";
    for (int i = 0; i < entries; ++i) text += (i ? ",\"" : "\"") + number(i) + "\":\"" + shard + "\"";
    return text + "}}";
}
/// A pickle of `tensors` that differ only in name. With `wrapped` they are attributes of an object.
QByteArray pickle(int tensors) {
    QByteArray text = "\x80\x02}(\x8c\x01"
                      "0ctorch._utils\n_rebuild_tensor_v2\nq";
    text += '\0';
    text += "((\x8c\x07storagectorch\nFloatStorage\n\x8c\x01"
            "0\x8c\x03"
            "cpuK\x06tQK";
    text += '\0';
    text += "K\x02K\x03\x86K\x01K\x02\x86\x89Ntq\x01R"; // a transposed tensor
    for (int i = 1; i < tensors; ++i) {
        const auto key = number(i);
        text += '\x8c' + QByteArray(1, char(key.size())) + key + 'h';
        text += '\0';
        text += "h\x01R";
    }
    return text + "u.";
}
QByteArray checkpoint(const QByteArray& state, bool deflate = false) {
    MadeZip zip;
    zip.members = {{"a/data.pkl", state, deflate}, {"a/data/0", QByteArray(24, '\0')}};
    return zip.bytes();
}
QByteArray onnx(int tensors, const QByteArray& prefix) {
    QByteArray graph;
    graph.reserve(tensors * (prefix.size() + 24));
    for (int i = 0; i < tensors; ++i)
        graph += pb::initializer(pb::tensor(prefix + number(i), 3, pb::dims({1}), pb::number(5, 1)));
    return pb::model(graph);
}
QByteArray tflite(int tensors) {
    namespace wire = qs::tflite::wire;
    flatbuffers::FlatBufferBuilder b;
    const std::vector<flatbuffers::Offset<wire::Buffer>> buffers{
        wire::CreateBuffer(b), wire::CreateBuffer(b, b.CreateVector(std::vector<std::uint8_t>{1, 2}))};
    const auto quantization =
        wire::CreateQuantization(b, b.CreateVector(std::vector<float>{1, 2}),
                                 b.CreateVector(std::vector<std::int64_t>{3, 4}), wire::Details_NONE, 0);
    const auto one = wire::CreateTensor(b, b.CreateVector(std::vector<int>{2}), std::int8_t(9), 1u,
                                        b.CreateString("a tensor of many"), quantization, 0);
    const std::vector<flatbuffers::Offset<wire::Tensor>> list(std::size_t(tensors), one);
    const auto graph = wire::CreateSubGraph(b, b.CreateVector(list), 0);
    b.Finish(wire::CreateModel(b, 3, b.CreateVector(&graph, 1), b.CreateString("made"), b.CreateVector(buffers)),
             "TFL3");
    return {reinterpret_cast<const char*>(b.GetBufferPointer()), int(b.GetSize())};
}
/// TensorFlow.js weights of one byte each. `more` is added to the description of each.
QByteArray tfjs(int weights, const QByteArray& more) {
    QByteArray text = "[{\"paths\":[\"b\"],\"weights\":[";
    for (int i = 0; i < weights; ++i)
        text += (i ? ",{\"name\":\"" : "{\"name\":\"") + number(i) + "\",\"shape\":[]," + more + "}";
    return text + "]}]";
}
QByteArray npyHeader() {
    const QByteArray text = "{'descr':'<f4','fortran_order':True,'shape':(0,2),}\n";
    return "\x93NUMPY" + QByteArray("\x01\0", 2) + le(std::uint64_t(text.size()), 2) + text;
}
QByteArray npz(int arrays, bool deflate) {
    MadeZip zip;
    for (int i = 0; i < arrays; ++i) zip.members.push_back({number(i) + ".npy", npyHeader(), deflate});
    return zip.bytes();
}
QByteArray imatrix(int entries) {
    QByteArray bytes = u32(std::uint32_t(entries));
    for (int i = 0; i < entries; ++i) {
        const QByteArray key = "b." + number(i);
        bytes += u32(std::uint32_t(key.size())) + key + u32(1) + u32(1) + u32(0);
    }
    return bytes;
}

Worst file(const char* format, const char* what, bool opens, const char* called,
           const std::function<QByteArray()>& bytes) {
    return {format, what, opens, [=](const QString& folder) { return Made{put(folder, name(called), bytes()), 0}; }};
}

/// An OCDBT database with a single compressed leaf node.
Made database(const QString& folder, int arrays, bool withChunks) {
    QList<made_ocdbt::Row> rows;
    for (int i = 0; i < arrays; ++i) {
        const QByteArray key = QByteArray::number(1'000'000 + i);
        rows.append({key + "/.zarray", second("[1]", "[1]")});
        if (withChunks) rows.append({key + "/0", QByteArray(4, 'c')});
    }
    made_ocdbt::Database made{folder, true, {}};
    const QByteArray body = made_ocdbt::leaf(rows);
    made.save(made.add(body));
    return Made{folder, body.size()};
}

} // namespace

std::vector<Worst> worsts() {
    const auto gguf = [](int tensors, int keys) {
        MadeGguf made;
        made.tensors.resize(std::size_t(tensors), {"", {0, 0, 0, 0}});
        for (int i = 0; i < tensors; ++i) made.tensors[std::size_t(i)].name = number(i);
        for (int i = 0; i < keys; ++i) made.keys.push_back(kv(number(i), U8, QByteArray(1, 'x')));
        return made.bytes();
    };
    const auto hdf5 = [](const QString& folder) { // three cases use the same file
        static const QTemporaryDir made;
        if (!QFile::exists(made.filePath(name("many.h5"))) &&
            QProcess::execute(name(QS_BIN_DIR "/make_hdf5"), {made.path(), name("many")}) != 0)
            qFatal("make_hdf5 failed");
        for (const auto& file : QDir(made.path()).entryList(QDir::Files))
            if (!QFile::copy(made.filePath(file), folder + u'/' + file)) qFatal("cannot copy %s", qPrintable(file));
        return folder + name("/many.h5");
    };
    const QByteArray quantized = "\"dtype\":\"float32\",\"quantization\":{\"dtype\":\"uint8\",\"scale\":1,\"min\":0}";
    return {
        file("safetensors", "tensors without elements", true, "a.safetensors", [] { return madeFile(header(30'000)); }),
        file("safetensors", "more dimensions than bytes", true, "a.safetensors",
             [] { return madeFile(header(8'000, "[" + QByteArray("0,").repeated(63) + "0]")); }),
        file("safetensors", "metadata", false, "a.safetensors", [] { return madeFile(metadata(500'000)); }),
        file("safetensors", "long names", true, "a.safetensors",
             [] { return madeFile(header(4, "[0]", QByteArray("\\u0001").repeated(300'000))); }),
        file("safetensors", "a text of 20 MB", false, "a.safetensors",
             [] { return madeFile(header(1, "[0]", QByteArray(20'000'000, 'a'))); }),
        {"safetensors-index", "names of missing files", false,
         [](const QString& folder) {
             return Made{put(folder, name("a.safetensors.index.json"), index(300'000, "b")), 0};
         }},
        {"safetensors-index", "names", true,
         [](const QString& folder) {
             put(folder, name("b"), madeFile(header(25'000)));
             return Made{put(folder, name("a.safetensors.index.json"), index(25'000, "b")), 0};
         }},
        {"huggingface", "shards", true,
         [](const QString& folder) {
             for (int i = 0; i < 100; ++i)
                 put(folder, name("m-%1.safetensors").arg(i), madeFile(header(500, "[0]", {}, 500 * i)));
             return Made{folder, 0};
         }},
        file("gguf", "tensors without elements", true, "a.gguf", [=] { return gguf(30'000, 0); }),
        file("gguf", "tensors and keys", true, "a.gguf", [=] { return gguf(100'000, 30'000); }),
        file("npy", "one array", true, "a.npy", [] { return npyHeader(); }),
        file("npz", "arrays of their own order", true, "a.npz", [] { return npz(15'000, false); }),
        {"npz", "arrays that are packed", true,
         [](const QString& folder) {
             return Made{put(folder, name("a.npz"), npz(30'000, true)), 30'000 * npyHeader().size()};
         }},
        {"hdf5", "small tensors", true,
         [=](const QString& folder) {
             return Made{hdf5(folder), 0};
         }},
        {"keras-shards", "small tensors", true,
         [=](const QString& folder) {
             hdf5(folder);
             return Made{put(folder, name("a.weights.index.json"),
                             "{\"weight_map\":{\"/0\":[\"many.weights.h5\",\"many.h5\"]}}"),
                         0};
         }},
        {"keras", "small tensors", true,
         [=](const QString& folder) {
             MadeZip zip;
             zip.members = {
                 {"metadata.json", "{}"}, {"config.json", "{}"}, {"model.weights.h5", bytesOf(hdf5(folder))}};
             return Made{put(folder, name("a.keras"), zip.bytes()), 0};
         }},
        file("pytorch", "tensors that share their bytes", true, "a.pt", [] { return checkpoint(pickle(25'000)); }),
        file("pytorch", "more of them", false, "a.pt", [] { return checkpoint(pickle(200'000)); }),
        file("pytorch", "a list of lists", false, "a.pt",
             [] { return checkpoint("\x80\x02](" + QByteArray(999'000, ']') + "e."); }),
        {"pytorch", "lists that are packed", false,
         [](const QString& folder) {
             const QByteArray state = "\x80\x02](" + QByteArray(999'000, ']') + "e.";
             return Made{put(folder, name("a.pt"), checkpoint(state, true)), state.size()};
         }},
        file("onnx", "tensors of one number", true, "a.onnx", [] { return onnx(30'000, {}); }),
        file("onnx", "tensors with long names", true, "a.onnx", [] { return onnx(30'000, QByteArray(60, 'a')); }),
        file("tflite", "one quantized tensor, often", true, "a.tflite", [] { return tflite(16'000); }),
        file("tflite", "more of them", false, "a.tflite", [] { return tflite(32'000); }),
        {"tfjs", "weights of one byte", true,
         [](const QString& folder) {
             put(folder, name("b"), zeros(30'000));
             return Made{put(folder, name("m.json"), tfjs(30'000, "\"dtype\":\"bool\"")), 0};
         }},
        {"tfjs", "quantized weights of one byte", true,
         [=](const QString& folder) {
             put(folder, name("b"), zeros(18'000));
             return Made{put(folder, name("m.json"), tfjs(18'000, quantized)), 0};
         }},
        file("tfjs", "more of them", false, "m.json", [=] { return tfjs(60'000, quantized); }),
        file("imatrix", "entries of one number", true, "a.dat", [] { return imatrix(30'000); }),
        file("imatrix", "more of them", false, "a.dat", [] { return imatrix(262'144); }),
        {"zarr", "arrays without files", true,
         [](const QString& folder) {
             const QByteArray about =
                 "{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"<f4\",\"compressor\":"
                 "null,\"fill_value\":0,\"order\":\"C\",\"filters\":null}";
             for (int i = 0; i < 3'000; ++i) put(folder, name("%1/.zarray").arg(i), about);
             put(folder, name(".zgroup"), "{\"zarr_format\":2}");
             return Made{folder, 0};
         }},
        {"zarr", "a database of arrays without chunks", true,
         [](const QString& folder) { return database(folder, 30'000, false); }},
        {"zarr", "a database of arrays with chunks inside", true,
         [](const QString& folder) { return database(folder, 30'000, true); }},
        {"zarr", "more of them", false, [](const QString& folder) { return database(folder, 200'000, true); }},
    };
}

} // namespace clitest
