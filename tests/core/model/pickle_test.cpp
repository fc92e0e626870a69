// SPDX-License-Identifier: GPL-3.0-or-later
// Pickles as data: what is read, and what hostile ones try. None of their calls may happen; that nothing here can call is
// by construction, so each is asked for what it became.
#include "core/model/pickle.h"
#include "core/model/pytorch_state.h"
#include "made_zip.h"

#include <deque>

using namespace qs;

class PickleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void values();
    void containersGrow();
    void laterProtocols();
    void calls_data();
    void calls();
    void refuses_data();
    void refuses();
    void everyPrefix();
    void limits();
    void cyclesAndSharing();
    void sharedContainersAreNotMultiplied();
    void deepNesting();
    void states();
    void brokenTensors_data();
    void brokenTensors();
};

namespace {

using Kind = Pickle::Kind;

Result<Pickle> read(const QByteArray& bytes, const PickleLimits& limits = {}) {
    return Pickle::read(std::as_bytes(std::span(bytes.constData(), std::size_t(bytes.size()))), limits);
}
Pickle good(const QByteArray& bytes) {
    static std::deque<QByteArray> kept; // a Pickle looks into its bytes
    kept.push_back(bytes);
    auto pickle = read(kept.back());
    if (!pickle) qFatal("%s", pickle.error().message.c_str());
    return std::move(*pickle);
}
QByteArray textOp(const QByteArray& text) { return "X" + le(std::uint64_t(text.size()), 4) + text; }
QByteArray num(std::uint64_t n) {
    return n < 256 ? "K" + le(n, 1) : n < 65536 ? "M" + le(n, 2) : "\x8a\x08" + le(n, 8);
}
QByteArray classOp(const QByteArray& module, const QByteArray& name) { return "c" + module + "\n" + name + "\n"; }

QByteArray storage(const QByteArray& key, std::uint64_t elements, const QByteArray& kind = "FloatStorage") {
    return "(" + textOp("storage") + classOp("torch", kind) + textOp(key) + textOp("cpu") + num(elements) + "tQ";
}
QByteArray sizes(std::initializer_list<std::uint64_t> of) {
    QByteArray all = "(";
    for (const auto n : of) all += num(n);
    return all + "t";
}
QByteArray tensor(const QByteArray& store, const QByteArray& rest, const QByteArray& function = "_rebuild_tensor_v2") {
    return classOp("torch._utils", function) + "(" + store + rest + "tR";
}
QByteArray plainTensor(const QByteArray& key = "0") {
    return tensor(storage(key, 6), num(0) + sizes({2, 3}) + sizes({3, 1}) + "\x89" + "N");
}
QByteArray dict(const QByteArray& pairs) { return "\x80\x02}(" + pairs + "u."; }

Result<TorchState> state(const QByteArray& bytes) {
    const auto pickle = read(bytes);
    if (!pickle) return tl::unexpected(pickle.error());
    return readTorchState(*pickle, "stem");
}
QString notes(const TorchState& state) {
    QStringList all;
    for (const auto& note : state.notes) all << text(note);
    return all.join(QLatin1Char('|'));
}

} // namespace

void PickleTest::values() {
    const QByteArray bytes =
        QByteArray("\x80\x02(N\x88\x89K\x07M\x01\x02J\xff\xff\xff\xff\x8a\x00\x8a\x01\x80\x8a\x0a", 23) +
        QByteArray(10, '\x11') + QByteArray("G\xbf\xf8\0\0\0\0\0\0", 9) + textOp("w\xc3\xa4") + "U\x01\xff" + ")t.";
    const Pickle p = good(bytes);
    const auto items = p.items(p.root());
    QCOMPARE(int(items.size()), 13);
    QVERIFY(p.kind(items[0]) == Kind::None && p.kind(items[8]) == Kind::BigInt && p.kind(items[11]) == Kind::Bytes);
    const std::int64_t numbers[] = {1, 0, 7, 513, -1, 0, -128};
    for (std::size_t i = 0; i < 7; ++i) QCOMPARE(p.number(items[i + 1]), numbers[i]);
    QCOMPARE(p.real(items[9]), -1.5);
    QCOMPARE(p.text(items[10]), std::string_view("w\xc3\xa4"));
    QCOMPARE(p.itemCount(items[12]), std::size_t(0));
    QCOMPARE(p.length(), std::size_t(bytes.size()));
}

void PickleTest::containersGrow() {
    // Two lists that grow in turns, a dictionary, a set, an object that gets items, keys and a state.
    const Pickle p = good(QByteArray("\x80\x02(]q\x00]q\x01h\x00K\x01"
                                     "ah\x01K\x02"
                                     "ah\x00(K\x03K\x04"
                                     "e}K\x05K\x06s\x8f(K\x07\x90",
                                     38) +
                          classOp("a.b", "C") + ")\x81K\x08" + "aK\x09K\x0as}bt.");
    const auto items = p.items(p.root());
    // The lists lie on the stack as often as they were fetched.
    const auto numbersOf = [&](Pickle::Ref list) {
        QString all;
        for (const auto item : p.items(list)) all += QString::number(p.number(item)) + QLatin1Char(' ');
        return all;
    };
    QCOMPARE(int(items.size()), 8);
    QCOMPARE(items[0], items[2]);
    QCOMPARE(numbersOf(items[0]), QStringLiteral("1 3 4 "));
    QCOMPARE(numbersOf(items[1]), QStringLiteral("2 "));
    QCOMPARE(p.pairs(items[5]).size(), std::size_t(2));
    QCOMPARE(numbersOf(items[6]), QStringLiteral("7 "));
    QVERIFY(p.kind(items[7]) == Kind::Object);
    QCOMPARE(p.className(p.object(items[7]).callable), std::string("a.b.C"));
    QCOMPARE(numbersOf(items[7]), QStringLiteral("8 "));
    QCOMPARE(p.pairs(items[7]).size(), std::size_t(2));
    QVERIFY(p.kind(p.object(items[7]).state) == Kind::Dict);
}

void PickleTest::laterProtocols() {
    const Pickle p =
        good(QByteArray("\x80\x05\x95\x05\0\0\0\0\0\0\0(\x8c\x01m\x94\x8c\x01n\x94\x93h\x00\x8d\x02\0\0\0\0\0\0\0zz"
                        "C\x01"
                        "a",
                        37) +
             "B" + le(1, 4) + "b" + "\x8e" + le(1, 8) + "c" + "\x96" + le(1, 8) + "d" + "(K\x01\x91" +
             classOp("m", "n") + ")}\x92t.");
    const auto items = p.items(p.root());
    QCOMPARE(int(items.size()), 9);
    QCOMPARE(p.className(items[0]), std::string("m.n"));
    QCOMPARE(p.text(items[1]), std::string_view("m"));
    QCOMPARE(p.text(items[2]), std::string_view("zz"));
    for (int i = 0; i < 4; ++i)
        QCOMPARE(p.text(items[std::size_t(3 + i)]), std::string_view("abcd").substr(std::size_t(i), 1));
    QVERIFY(p.kind(items[7]) == Kind::Set && p.kind(items[8]) == Kind::Object);
}

void PickleTest::calls_data() {
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

/// The tensors beside it are shown, and it is listed by its name.
void PickleTest::calls() {
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, name);
    const auto read = state(dict(textOp("w") + plainTensor() + textOp("bad") + value));
    QVERIFY2(read, read ? "" : read.error().message.c_str());
    QCOMPARE(int(read->tensors.size()), 1);
    QCOMPARE(read->tensors[0].name, std::string("w"));
    QVERIFY2(notes(*read).contains(QStringLiteral("\"bad\" is an object of class \"%1\"").arg(QString::fromUtf8(name))),
             qPrintable(notes(*read)));
}

void PickleTest::refuses_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QByteArray(says);
    };
    row("empty", "", "ends too early");
    row("no STOP", "\x80\x02N", "ends too early");
    row("STOP alone", ".", "from an empty stack");
    row("two values at the end", "NN.", "belong to nothing");
    row("a mark at the end", "(N.", "belong to nothing");
    row("protocol 6", "\x80\x06N.", "protocol 6");
    const std::pair<const char*, const char*> opcodes[] = {{"POP", "0"},
                                                           {"POP_MARK", "1"},
                                                           {"DUP", "2"},
                                                           {"FLOAT", "F"},
                                                           {"INT", "I"},
                                                           {"LONG", "L"},
                                                           {"STRING", "S"},
                                                           {"UNICODE", "V"},
                                                           {"PERSID", "P"},
                                                           {"INST", "i"},
                                                           {"OBJ", "o"},
                                                           {"GET", "g"},
                                                           {"PUT", "p"},
                                                           {"DICT", "d"},
                                                           {"LIST", "l"},
                                                           {"BINSTRING", "T"},
                                                           {"EXT1", "\x82"},
                                                           {"EXT2", "\x83"},
                                                           {"EXT4", "\x84"},
                                                           {"LONG4", "\x8b"},
                                                           {"NEXT_BUFFER", "\x97"},
                                                           {"READONLY_BUFFER", "\x98"},
                                                           {"0xff", "\xff"}};
    for (const auto& [name, opcode] : opcodes) row(name, "\x80\x02" + QByteArray(opcode), "has the opcode 0x");
    row("value never given", "h\x05.", "asks for value 5, which it never gave");
    row("value far away never given", "j\xff\xff\xff\xff.", "asks for value 4294967295");
    row("remembers nothing", "q\x01.", "remembers a value where there is none");
    row("remembers below a mark", "N(q\x01", "remembers a value where there is none");
    row("no mark", "Nt.", "a mark that is not there");
    row("takes from below a mark", "N(R", "from an empty stack");
    row("TUPLE3 of two", "NN\x87.", "from an empty stack");
    row("TUPLE2 below a mark", "N(N\x86", "from an empty stack");
    row("APPEND to nothing", "Na.", "appends to nothing");
    row("APPEND to a tuple", ")Na.", "no list or set");
    row("APPENDS to a number", "K\x01(Ne.", "no list or set");
    row("ADDITEMS to a list", "](N\x90.", "no list or set");
    row("SETITEM of a list", "]NNs.", "no dictionary");
    row("SETITEMS of an odd number", "}(Nu.", "keys without values");
    row("SETITEM below a mark", "}(NNs.", "keys without values, or of nothing");
    row("BUILD of a number", "K\x01}b.", "gives a state to what is no object");
    row("BUILD of nothing", "}b.", "gives a state to nothing");
    row("REDUCE of a number", "K\x01)R.", "of what is no class");
    row("REDUCE with a list", "cos\nsystem\n]R.", "of what is no tuple");
    row("STACK_GLOBAL of numbers", "K\x01K\x02\x93.", "by what is no text");
    row("text beyond the end", "X" + le(100, 4) + "a.", "ends too early");
    row("text of 2^32-1 bytes",
        "X\xff\xff\xff\xff"
        "a.",
        "ends too early");
    row("text of 2^63 bytes", "\x8d" + le(std::uint64_t(1) << 63, 8) + "a.", "has a text of 9223372036854775808 bytes");
    row("bytes of 2^64-1", "\x8e" + QByteArray(8, '\xff') + ".", "has a text of 18446744073709551615 bytes");
    row("frame beyond the end", "\x95" + le(100, 8) + "N.", "ends too early");
    row("text in no UTF-8", "X" + le(1, 4) + "\xff.", "not UTF-8");
    row("class name in no UTF-8", "c\xff\nx\n.", "not UTF-8");
    row("class name without an end", "c" + QByteArray(5000, 'a'), "a name of more than 1024 bytes");
    row("long class name by STACK_GLOBAL", textOp(QByteArray(2000, 'a')) + textOp("b") + "\x93.",
        "a name of more than 1024 bytes");
    row("nothing but marks", QByteArray(1'100'000, '('), "more than 1000000 marks");
}

void PickleTest::refuses() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    const auto pickle = read(bytes);
    QVERIFY(!pickle);
    const auto message = QByteArray::fromStdString(pickle.error().message);
    QVERIFY2(message.contains(says) && message.startsWith("its pickle") && pickle.error().offset >= 0, message);
}

void PickleTest::everyPrefix() {
    const QByteArray whole =
        dict(textOp("w") + plainTensor() + textOp("n") + num(1) + textOp("o") + classOp("a", "b") + ")R}b");
    for (int n = 0; n < whole.size(); ++n) {
        bool isCutOff = false;
        const QByteArray part = whole.left(n);
        QVERIFY(!Pickle::read(std::as_bytes(std::span(part.constData(), std::size_t(n))), {}, &isCutOff) && isCutOff);
    }
    QVERIFY(read(whole));
}

void PickleTest::limits() {
    const auto refusal = [](const QByteArray& bytes, const PickleLimits& limits) {
        const auto pickle = read(bytes, limits);
        return pickle ? QString() : text(pickle.error().message);
    };
    PickleLimits few;
    few.opcodes = 100, few.values = 50, few.stack = 20, few.farMemo = 10;
    QVERIFY(refusal("](" + QByteArray("N").repeated(200) + "e.", few)
                .contains(QStringLiteral("more than 20 values at a time")));
    QVERIFY(refusal("]" + QByteArray("Na").repeated(200) + ".", few).contains(QStringLiteral("more than 100 opcodes")));
    QVERIFY(refusal("]" + QByteArray("}a").repeated(48) + ".", few).contains(QStringLiteral("more than 50 values")));
    QVERIFY(refusal(QByteArray("(").repeated(30), few).contains(QStringLiteral("more than 20 marks")));
    QByteArray far = "N";
    for (unsigned i = 0; i < 20; ++i) far += "r" + le(0xffffffff - i, 4);
    QVERIFY(refusal(far + ".", few).contains(QStringLiteral("more than 10 values out of turn")));
    // The largest number costs no more than any other.
    const Pickle p = good("Nr\xff\xff\xff\xff"
                          "j\xff\xff\xff\xff\x86.");
    QCOMPARE(p.itemCount(p.root()), std::size_t(2));
}

void PickleTest::cyclesAndSharing() {
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
    // A tensor under two names, as tied weights may be: both are shown.
    const auto tied = state(dict(textOp("a") + plainTensor() + "q\x01" + textOp("b") + "h\x01"));
    QVERIFY2(tied, tied ? "" : tied.error().message.c_str());
    QCOMPARE(int(tied->tensors.size()), 2);
    QVERIFY2(tied->notes.empty(), qPrintable(notes(*tied)));
}

void PickleTest::sharedContainersAreNotMultiplied() {
    // Each list holds the one before twice: 2^100 ways to the tensor.
    QByteArray laughs = "\x80\x02]" + plainTensor() + QByteArray("aq\x00", 3);
    for (int i = 0; i < 100; ++i)
        laughs += "]h" + le(std::uint64_t(i), 1) + "ah" + le(std::uint64_t(i), 1) + "aq" + le(std::uint64_t(i + 1), 1) +
                  "\x86";
    const auto read = state(laughs + ".");
    QVERIFY2(read, read ? "" : read.error().message.c_str());
    QCOMPARE(int(read->tensors.size()), 1);
    QVERIFY2(notes(*read).contains(QStringLiteral("parts are shown under other names")), qPrintable(notes(*read)));
}

void PickleTest::deepNesting() {
    const auto nested = [](int depth) {
        return QByteArray("]").repeated(depth) + QByteArray("a").repeated(depth - 1) + ".";
    };
    QVERIFY(state(nested(150)));
    const auto deep = state(nested(400'000));
    QVERIFY(!deep && text(deep.error().message).contains(QStringLiteral("nested deeper than 200")));
}

void PickleTest::states() {
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
    // As Python 2 wrote them: made of a list of pairs, with texts that are bytes.
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
    // A module: its state leaves the three attributes out of the names.
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
    QVERIFY(notShown && notShown->tensors.empty());
    QCOMPARE(notes(*notShown),
             QStringLiteral(
                 "1 tensors are not shown; the first is \"c\", of \"torch.ComplexDoubleStorage\"|\"raw\" is a storage "
                 "without a shape and not shown|\"epoch\" is a plain value and not shown"));
    QCOMPARE(notShown->storages.at("0").bytes, std::uint64_t(16));
}

void PickleTest::brokenTensors_data() {
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QByteArray& value, const char* says) {
        QTest::newRow(name) << value << QByteArray(says);
    };
    const char* broken = "\"w\" is not made as tensors are";
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
    // Names that add up: a key of 60,000 bytes at 100 levels of 20 tensors.
    QByteArray many = "}(";
    for (int i = 0; i < 20; ++i) many += num(std::uint64_t(i)) + plainTensor();
    many += "u";
    for (int i = 0; i < 100; ++i)
        many = QByteArray("}") +
               (i == 0 ? textOp(QByteArray(60'000, 'k')) + "r" + le(0, 4) : textOp(QByteArray(60'000, 'k'))) + many +
               "s";
    row("names that add up", many, "the names of its tensors have more than");
}

void PickleTest::brokenTensors() {
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, says);
    const auto read = state(dict(textOp("w") + value));
    QVERIFY(!read);
    QVERIFY2(QByteArray::fromStdString(read.error().message).contains(says), read.error().message.c_str());
}

QTEST_GUILESS_MAIN(PickleTest)
#include "pickle_test.moc"
