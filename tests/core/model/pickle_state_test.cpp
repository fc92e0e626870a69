// SPDX-License-Identifier: GPL-3.0-or-later
// How checkpoints use pickles: their tensors, and hostile contents. The reader never calls anything, so each test
// checks what a call has become.
#include "made_pickle.h"
#include "tests/support/test_program.h"

#include <memory>

using namespace qs;

class PickleStateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void calls_data();
    void calls();
    void namesThatMeanSomething_data();
    void namesThatMeanSomething();
    void cyclesAndSharing();
    void sharedContainersAreNotMultiplied();
    void deepNesting();
    void states();
    void brokenTensors_data();
    void brokenTensors();
};

void PickleStateTest::calls_data() {
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("name");
    const auto row = [](const char* tag, const QByteArray& value, const char* name) {
        QTest::newRow(tag) << value << QByteArray(name);
    };
    row("os.system", classOp("os", "system") + textOp("touch /tmp/pickled") + "\x85R", "os.system");
    row("posix.system", classOp("posix", "system") + textOp("id") + "\x85R", "posix.system");
    row("eval", classOp("builtins", "eval") + textOp("1/0") + "\x85R", "builtins.eval");
    row("exec of Python 2", classOp("__builtin__", "exec") + textOp("1/0") + "\x85R", "__builtin__.exec");
    row("getattr", classOp("builtins", "getattr") + classOp("os", "path") + textOp("join") + "\x86R",
        "builtins.getattr");
    row("subprocess", classOp("subprocess", "Popen") + "(" + textOp("sh") + "tR", "subprocess.Popen");
    row("webbrowser", classOp("webbrowser", "open") + textOp("http://x") + "\x85R", "webbrowser.open");
    row("runpy", classOp("runpy", "_run_code") + textOp("x") + "\x85R", "runpy._run_code");
    row("torch.load in a pickle", classOp("torch", "load") + textOp("x") + "\x85R", "torch.load");
    row("torch.hub", classOp("torch.hub", "load") + textOp("x") + "\x85R", "torch.hub.load");
    row("numpy", classOp("numpy.core.multiarray", "_reconstruct") + ")R", "numpy.core.multiarray._reconstruct");
    row("dill", classOp("dill._dill", "_create_type") + ")R", "dill._dill._create_type");
    row("pandas", classOp("pandas.core.frame", "DataFrame") + ")\x81", "pandas.core.frame.DataFrame");
    row("by STACK_GLOBAL", textOp("os") + textOp("system") + "\x93" + textOp("id") + "\x85R", "os.system");
    row("by NEWOBJ", classOp("os", "system") + textOp("id") + "\x85\x81", "os.system");
    row("by NEWOBJ_EX", classOp("os", "system") + textOp("id") + "\x85}\x92", "os.system");
    row("by BUILD", classOp("evil", "E") + ")\x81}" + textOp("__setstate__") + classOp("os", "system") + "sb",
        "evil.E");
    row("the class alone", classOp("os", "system"), "os.system");
    row("a rebuild that is not known", tensor(storage("0", 6), num(0), "_rebuild_sparse_tensor"),
        "torch._utils._rebuild_sparse_tensor");
    row("a class that only looks like torch's", classOp("torch._utils ", "_rebuild_tensor_v2") + ")R",
        "torch._utils ._rebuild_tensor_v2");
}

/// The other tensors are shown, and the refused value is listed by name.
void PickleStateTest::calls() {
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, name);
    const auto read = state(dict(textOp("w") + plainTensor() + textOp("bad") + value));
    QVERIFY2(read, read ? "" : read.error().message.c_str());
    QCOMPARE(int(read->tensors.size()), 1);
    QCOMPARE(read->tensors[0].name, std::string("w"));
    QVERIFY2(notes(*read).contains(QStringLiteral("\"bad\" is an object of class \"%1\"").arg(QString::fromUtf8(name))),
             qPrintable(notes(*read)));
}

/// Every name that PyTorch's own restricted reader allows, used in {"w": value}, and the result.
void PickleStateTest::namesThatMeanSomething_data() {
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QString>("becomes"); // the dtype of a tensor, or a part of the notes
    const auto row = [](const char* name, const QByteArray& value, const char* becomes) {
        QTest::newRow(name) << value << QString::fromUtf8(becomes);
    };
    const QByteArray rest = num(0) + sizes({2, 3}) + sizes({3, 1}), no = "\x89", hooks = "N";
    const char* plain = "\"w\" is a plain value and not shown";
    row("torch._utils._rebuild_tensor", tensor(storage("0", 6), rest, "_rebuild_tensor"), "F32");
    row("torch._utils._rebuild_tensor_v2", tensor(storage("0", 6), rest + no + hooks), "F32");
    row("torch._utils._rebuild_tensor_v2 with metadata", tensor(storage("0", 6), rest + no + hooks + "}"), "F32");
    row("torch._utils._rebuild_tensor_v3",
        tensor(storage("0", 12, "UntypedStorage"), rest + no + hooks + classOp("torch", "float16"),
               "_rebuild_tensor_v3"),
        "F16");
    row("torch._utils._rebuild_parameter",
        classOp("torch._utils", "_rebuild_parameter") + "(" + plainTensor() + "\x88)tR", "F32");
    row("torch._utils._rebuild_parameter_with_state",
        classOp("torch._utils", "_rebuild_parameter_with_state") + "(" + plainTensor() + "\x88)}tR", "F32");
    row("torch._utils._rebuild_qtensor",
        tensor(storage("0", 6, "QInt8Storage"), rest + "(" + classOp("torch", "per_tensor_affine") + "t" + no + hooks,
               "_rebuild_qtensor"),
        "I8");
    row("torch._tensor._rebuild_from_type_v2",
        classOp("torch._tensor", "_rebuild_from_type_v2") + "(" + classOp("torch._utils", "_rebuild_tensor_v2") +
            classOp("torch.nn.parameter", "Parameter") + "(" + storage("0", 6) + rest + no + hooks + "t}tR",
        "F32");
    row("torch.nn.parameter.Parameter", classOp("torch.nn.parameter", "Parameter") + plainTensor() + "\x85R", "F32");
    for (const auto& [kind, dtype] : {std::pair("FloatStorage", "F32"),
                                      {"DoubleStorage", "F64"},
                                      {"HalfStorage", "F16"},
                                      {"BFloat16Storage", "BF16"},
                                      {"LongStorage", "I64"},
                                      {"IntStorage", "I32"},
                                      {"ShortStorage", "I16"},
                                      {"CharStorage", "I8"},
                                      {"ByteStorage", "U8"},
                                      {"BoolStorage", "BOOL"},
                                      {"ComplexFloatStorage", "C64"},
                                      {"QInt8Storage", "I8"},
                                      {"QUInt8Storage", "U8"},
                                      {"QInt32Storage", "I32"},
                                      {"UntypedStorage", "U8"}})
        row(QByteArray("torch.").append(kind).constData(), tensor(storage("0", 6, kind), rest), dtype);
    row("torch.storage.UntypedStorage",
        tensor("(" + textOp("storage") + classOp("torch.storage", "UntypedStorage") + textOp("0") + textOp("cpu") +
                   num(6) + "tQ",
               rest),
        "U8");
    row("torch.storage.TypedStorage", classOp("torch.storage", "TypedStorage") + ")R",
        "\"w\" is an object of class \"torch.storage.TypedStorage\", which is not loaded");
    row("torch.Size", classOp("torch", "Size") + sizes({2, 3}) + "\x85R", plain);
    row("torch.Size of a tensor",
        tensor(storage("0", 6),
               num(0) + classOp("torch", "Size") + sizes({2, 3}) + "\x85R" + sizes({3, 1}) + no + hooks),
        "F32");
    row("torch.device", classOp("torch", "device") + textOp("cpu") + "\x85R", plain);
    row("torch.float32", classOp("torch", "float32"), "");
    row("collections.OrderedDict", classOp("collections", "OrderedDict") + ")R" + textOp("in") + plainTensor() + "s",
        "F32");
    row("collections.Counter", classOp("collections", "Counter") + "}" + textOp("in") + plainTensor() + "s\x85R",
        "F32");
    row("collections.defaultdict",
        classOp("collections", "defaultdict") + classOp("builtins", "list") + "\x85R" + textOp("in") + plainTensor() +
            "s",
        "F32");
    row("_codecs.encode", classOp("_codecs", "encode") + textOp("x") + textOp("latin1") + "\x86R", plain);
    row("builtins.set", classOp("builtins", "set") + "]\x85R", plain);
    row("builtins.complex", classOp("builtins", "complex") + num(1) + num(2) + "\x86R", plain);
    row("builtins.bytearray", classOp("builtins", "bytearray") + textOp("x") + "\x85R", plain);
}

void PickleStateTest::namesThatMeanSomething() {
    QFETCH(QByteArray, value);
    QFETCH(QString, becomes);
    const auto read = state(dict(textOp("w") + value));
    QVERIFY2(read, read ? "" : read.error().message.c_str());
    if (read->tensors.empty()) {
        QVERIFY2(becomes.isEmpty() ? read->notes.empty() : notes(*read).contains(becomes), qPrintable(notes(*read)));
        return;
    }
    QCOMPARE(int(read->tensors.size()), 1);
    const auto& tensor = read->tensors[0];
    QVERIFY(tensor.name == "w" || tensor.name == "w.in");
    QCOMPARE(QString::fromUtf8(info(tensor.dtype).id), becomes);
    QCOMPARE(tensor.shape, (std::vector<std::int64_t>{2, 3}));
}

void PickleStateTest::cyclesAndSharing() {
    // A list in itself, a dictionary in itself, an object whose state is itself, a parameter of itself.
    for (const QByteArray& bytes :
         {QByteArray("]q\x00h\x00"
                     "a.",
                     7),
          QByteArray("}q\x00", 3) + textOp("self") + QByteArray("h\x00s.", 4),
          classOp("a", "b") + QByteArray(")Rq\x00h\x00"
                                         "b.",
                                         8),
          classOp("a", "b") + QByteArray(")Rq\x00}", 5) + textOp("x") + QByteArray("h\x00sb.", 5)}) {
        const auto read = state(bytes);
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        QVERIFY(read->tensors.empty());
    }
    // A tensor under two names, as with tied weights: both are shown.
    const auto tied = state(dict(textOp("a") + plainTensor() + "q\x01" + textOp("b") + "h\x01"));
    QVERIFY2(tied, tied ? "" : tied.error().message.c_str());
    QCOMPARE(int(tied->tensors.size()), 2);
    QVERIFY2(tied->notes.empty(), qPrintable(notes(*tied)));
}

void PickleStateTest::sharedContainersAreNotMultiplied() {
    // Each list contains the one before twice: 2^100 paths to the tensor.
    QByteArray laughs = "\x80\x02]" + plainTensor() + QByteArray("aq\x00", 3);
    for (int i = 0; i < 100; ++i)
        laughs += "]h" + le(std::uint64_t(i), 1) + "ah" + le(std::uint64_t(i), 1) + "aq" + le(std::uint64_t(i + 1), 1) +
                  "\x86";
    const auto read = state(laughs + ".");
    QVERIFY2(read, read ? "" : read.error().message.c_str());
    QCOMPARE(int(read->tensors.size()), 1);
    QVERIFY2(notes(*read).contains(QStringLiteral("parts are shown under other names")), qPrintable(notes(*read)));
}

void PickleStateTest::deepNesting() {
    const auto nested = [](int depth) {
        return QByteArray("]").repeated(depth) + QByteArray("a").repeated(depth - 1) + ".";
    };
    QVERIFY(state(nested(150)));
    const auto deep = state(nested(400'000));
    QVERIFY(!deep && text(deep.error().message).contains(QStringLiteral("nested deeper than 200")));
}

void PickleStateTest::states() {
    const auto names = [](const QByteArray& bytes) {
        const auto read = state(bytes);
        if (!read) return text(read.error().message);
        QStringList all;
        for (const auto& t : read->tensors) all << text(t.name);
        all.sort();
        return all.join(QLatin1Char(' '));
    };
    QCOMPARE(names("\x80\x02" + plainTensor() + "."), QStringLiteral("stem"));
    QCOMPARE(names("](" + plainTensor() + plainTensor() + "e."), QStringLiteral("0 1"));
    const QByteArray ordered = classOp("collections", "OrderedDict");
    QCOMPARE(names(ordered + ")R" + textOp("a") + plainTensor() + "s}" + textOp("_metadata") + "Nsb."),
             QStringLiteral("a"));
    // As Python 2 wrote it: a list of pairs, with texts that are bytes.
    QCOMPARE(names(ordered +
                   "](U\x01"
                   "a" +
                   plainTensor() +
                   "\x86U\x01"
                   "b" +
                   plainTensor() + "\x86" + "e\x85R."),
             QStringLiteral("a b"));
    QCOMPARE(names(classOp("collections", "defaultdict") + classOp("builtins", "list") + "\x85R" + num(5) +
                   plainTensor() + "s."),
             QStringLiteral("5"));
    const QByteArray parameter = classOp("torch._utils", "_rebuild_parameter") + "(" + plainTensor() + "\x88)tR";
    QCOMPARE(names(dict(textOp("m") + dict(textOp("w") + parameter).mid(2).chopped(1))), QStringLiteral("m.w"));
    QCOMPARE(names(dict(textOp("w") + classOp("torch._tensor", "_rebuild_from_type_v2") + "(" +
                        classOp("torch._utils", "_rebuild_tensor_v2") + classOp("my", "Tensor") + "(" +
                        storage("0", 6) + num(0) + sizes({6}) + sizes({1}) + "\x89Nt}tR")),
             QStringLiteral("w"));
    // A module: the three attributes of its state are not part of the names.
    const QByteArray module = classOp("my", "Net") + ")\x81}(" + textOp("_modules") + "}" + textOp("fc") +
                              classOp("torch.nn", "Linear") + ")\x81}" + textOp("_parameters") + "}" +
                              textOp("weight") + plainTensor() + "ssbs" + textOp("training") + "\x88ub.";
    QCOMPARE(names(module), QStringLiteral("fc.weight"));
    const auto quantized = state(dict(
        textOp("q") + tensor(storage("0", 6, "QInt8Storage"),
                             num(0) + sizes({6}) + sizes({1}) + "(" + classOp("torch", "per_tensor_affine") + "t\x89N",
                             "_rebuild_qtensor")));
    QVERIFY(quantized && quantized->tensors.at(0).dtype == DType::I8);
    QCOMPARE(notes(*quantized), QStringLiteral("\"q\" is quantized; its integers are shown"));
    const auto notShown =
        state(dict(textOp("c") + tensor(storage("0", 1, "ComplexDoubleStorage"), num(0) + sizes({1}) + sizes({1})) +
                   textOp("epoch") + num(3) + textOp("raw") + storage("1", 4) + textOp("none") + "N"));
    QVERIFY(notShown && notShown->tensors.size() == 1);
    QCOMPARE(notShown->tensors.front().unread, std::string("it is of \"torch.ComplexDoubleStorage\""));
    QCOMPARE(notes(*notShown), QStringLiteral("\"raw\" is a storage without a shape and not shown|\"epoch\" is a plain "
                                              "value and not shown"));
    QCOMPARE(notShown->storages.at("0").bytes, std::uint64_t(16));
}

void PickleStateTest::brokenTensors_data() {
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QByteArray& value, const char* says) {
        QTest::newRow(name) << value << QByteArray(says);
    };
    const char* broken = "it is not made as tensors are"; // listed as a tensor that cannot be read
    const QByteArray minus = "J\xff\xff\xff\xff";
    row("no arguments", tensor("", ""), broken);
    row("no storage", tensor("N", num(0) + sizes({6}) + sizes({1})), broken);
    row("negative offset", tensor(storage("0", 6), minus + sizes({6}) + sizes({1})), broken);
    row("negative size", tensor(storage("0", 6), num(0) + "(" + minus + "t" + sizes({1})), broken);
    row("negative stride", tensor(storage("0", 6), num(0) + sizes({6}) + "(" + minus + "t"), broken);
    row("size that is a fraction", tensor(storage("0", 6), num(0) + "(G" + QByteArray(8, '\x3f') + "t" + sizes({1})),
        broken);
    row("65 dimensions", tensor(storage("0", 6), num(0) + "(" + QByteArray("K\x01").repeated(65) + "t(t"), broken);
    row("v3 without its dtype", tensor(storage("0", 6), num(0) + sizes({6}) + sizes({1}), "_rebuild_tensor_v3"),
        broken);
    const auto store = [](const QByteArray& elements, const QByteArray& kind = "FloatStorage",
                          const QByteArray& key = textOp("0")) {
        return "(" + textOp("storage") + classOp("torch", kind) + key + textOp("cpu") + elements + "tQ";
    };
    const QByteArray rest = num(0) + sizes({1}) + sizes({1});
    row("storage of -1 elements", tensor(store(minus), rest), "without a key or a size");
    row("storage of 2^62 elements", tensor(store(num(std::uint64_t(1) << 62)), rest),
        "has 4611686018427387904 elements");
    row("storage without a key", tensor(store(num(1), "FloatStorage", "N"), rest), "without a key or a size");
    row("storage of no known kind", tensor(store(num(1), "StrangeStorage"), rest),
        "\"torch.StrangeStorage\", whose size is not known");
    row("storage that is os.system",
        tensor("(" + textOp("storage") + classOp("os", "system") + textOp("0") + textOp("cpu") + num(1) + "tQ", rest),
        "\"os.system\", whose size is not known");
    row("one key, two sizes", tensor(storage("0", 6), rest) + textOp("x") + tensor(storage("0", 7), rest),
        "has two kinds or sizes");
    row("one key, two kinds", tensor(storage("0", 6), rest) + textOp("x") + tensor(storage("0", 6, "IntStorage"), rest),
        "has two kinds or sizes");
    // Total length of names: a key of 60,000 bytes at 100 levels, with 20 tensors.
    QByteArray many = "}(";
    for (int i = 0; i < 20; ++i) many += num(std::uint64_t(i)) + plainTensor();
    many += "u";
    for (int i = 0; i < 100; ++i)
        many = QByteArray("}") +
               (i == 0 ? textOp(QByteArray(60'000, 'k')) + "r" + le(0, 4) : textOp(QByteArray(60'000, 'k'))) + many +
               "s";
    row("names that add up", many, "the names of its tensors have more than");
}

void PickleStateTest::brokenTensors() {
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, says);
    const auto read = state(dict(textOp("w") + value));
    const std::string why = read ? read->tensors.at(0).unread : read.error().message;
    QVERIFY2(QByteArray::fromStdString(why).contains(says), why.c_str());
}

QS_TEST(PickleStateTest)

#include "pickle_state_test.moc"
