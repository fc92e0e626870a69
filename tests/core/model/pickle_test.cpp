// SPDX-License-Identifier: GPL-3.0-or-later
// Pickles as data: which opcodes are read, and what is refused. pickle_state_test.cpp tests checkpoints.
#include "made_pickle.h"
#include "tests/support/test_program.h"

#include <deque>

using namespace qs;

class PickleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void values();
    void containersGrow();
    void laterProtocols();
    void opcodes_data();
    void opcodes();
    void everyOtherOpcode();
    void refuses_data();
    void refuses();
    void everyPrefix();
    void limits();
};

namespace {

using Kind = Pickle::Kind;

Pickle good(const QByteArray& bytes) {
    static std::deque<QByteArray> kept; // a Pickle refers to its bytes
    kept.push_back(bytes);
    auto pickle = read(kept.back());
    if (!pickle) qFatal("%s", pickle.error().message.c_str());
    return std::move(*pickle);
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
    // Two lists that grow in turn, a dictionary, a set, and an object with items, keys and a state.
    const Pickle p = good(QByteArray("\x80\x02(]q\x00]q\x01h\x00K\x01"
                                     "ah\x01K\x02"
                                     "ah\x00(K\x03K\x04"
                                     "e}K\x05K\x06s\x8f(K\x07\x90",
                                     38) +
                          classOp("a.b", "C") + ")\x81K\x08" + "aK\x09K\x0as}bt.");
    const auto items = p.items(p.root());
    // The lists are on the stack as often as they were fetched.
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

/// Every opcode of PyTorch's own restricted reader, and those of later protocols.
void PickleTest::opcodes_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<Kind>("kind");
    const auto row = [](const char* name, const QByteArray& bytes, Kind kind) { QTest::newRow(name) << bytes << kind; };
    const QByteArray zero(1, '\0'), one = le(1, 1), empty4(4, '\0'), empty8(8, '\0');
    row("PROTO, STOP", "\x80\x02N.", Kind::None);
    row("GLOBAL", "cm\nn\n.", Kind::Class);
    row("NEWOBJ", "cm\nn\n)\x81.", Kind::Object);
    row("REDUCE", "cm\nn\n)R.", Kind::Object);
    row("BUILD", "cm\nn\n)R}b.", Kind::Object);
    row("BINPERSID", "NQ.", Kind::Persistent);
    row("MARK, TUPLE", "(NNt.", Kind::Tuple);
    row("TUPLE1", "N\x85.", Kind::Tuple);
    row("TUPLE2", "NN\x86.", Kind::Tuple);
    row("TUPLE3", "NNN\x87.", Kind::Tuple);
    row("EMPTY_TUPLE", ").", Kind::Tuple);
    row("EMPTY_LIST", "].", Kind::List);
    row("EMPTY_DICT", "}.", Kind::Dict);
    row("EMPTY_SET", "\x8f.", Kind::Set);
    row("APPEND", "]Na.", Kind::List);
    row("APPENDS", "](NNe.", Kind::List);
    row("SETITEM", "}NNs.", Kind::Dict);
    row("SETITEMS", "}(NNNNu.", Kind::Dict);
    row("NONE", "N.", Kind::None);
    row("NEWTRUE", "\x88.", Kind::Bool);
    row("NEWFALSE", "\x89.", Kind::Bool);
    row("BININT", "J" + le(7, 4) + ".", Kind::Int);
    row("BININT1", "K" + one + ".", Kind::Int);
    row("BININT2", "M" + le(7, 2) + ".", Kind::Int);
    row("LONG1", "\x8a" + one + one + ".", Kind::Int);
    row("BINFLOAT", "G" + empty8 + ".", Kind::Float);
    row("BINUNICODE", "X" + empty4 + ".", Kind::Text);
    row("SHORT_BINSTRING", "U" + zero + ".", Kind::Bytes);
    row("BINPUT, BINGET", "Nq" + one + "h" + one + "\x86.", Kind::Tuple);
    row("LONG_BINPUT, LONG_BINGET", "Nr" + le(70'000, 4) + "j" + le(70'000, 4) + "\x86.", Kind::Tuple);
    row("FRAME", "\x95" + le(2, 8) + "N.", Kind::None);
    row("MEMOIZE", "N\x94h" + zero + "\x86.", Kind::Tuple);
    row("SHORT_BINUNICODE", "\x8c" + zero + ".", Kind::Text);
    row("BINUNICODE8", "\x8d" + empty8 + ".", Kind::Text);
    row("STACK_GLOBAL", "\x8c" + one + "m\x8c" + one + "n\x93.", Kind::Class);
    row("SHORT_BINBYTES", "C" + zero + ".", Kind::Bytes);
    row("BINBYTES", "B" + empty4 + ".", Kind::Bytes);
    row("BINBYTES8", "\x8e" + empty8 + ".", Kind::Bytes);
    row("ADDITEMS", "\x8f(NN\x90.", Kind::Set);
    row("FROZENSET", "(NN\x91.", Kind::Set);
    row("NEWOBJ_EX", "cm\nn\n)}\x92.", Kind::Object);
    row("BYTEARRAY8", "\x96" + empty8 + ".", Kind::Bytes);
}

void PickleTest::opcodes() {
    QFETCH(QByteArray, bytes);
    QFETCH(Kind, kind);
    const auto pickle = read(bytes);
    QVERIFY2(pickle, pickle ? "" : pickle.error().message.c_str());
    QCOMPARE(pickle->kind(pickle->root()), kind);
}

/// Of 256 bytes only those in the rows above are opcodes. All others are refused, whatever is on the stack.
void PickleTest::everyOtherOpcode() {
    const QByteArray known("\x80.c\x81Rb"
                           "Q(t\x85\x86\x87)]}\x8f"
                           "aesuN\x88\x89JKM\x8aGXUqhrj"
                           "\x95\x94\x8c\x8d\x93"
                           "CB\x8e\x90\x91\x92\x96");
    QCOMPARE(known.size(), 46);
    int refused = 0;
    for (int opcode = 0; opcode < 256; ++opcode) {
        if (known.contains(char(opcode))) continue;
        const QByteArray bytes = "N]}(NN" + QByteArray(1, char(opcode)) + zeros(300);
        const auto pickle = read(bytes);
        QVERIFY2(!pickle && text(pickle.error().message).contains(QStringLiteral("has the opcode 0x")),
                 QByteArray::number(opcode, 16).constData());
        ++refused;
    }
    QCOMPARE(refused, 256 - 46);
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
    row("APPEND to a tuple", ")Na.", "not a list or set");
    row("APPENDS to a number", "K\x01(Ne.", "not a list or set");
    row("ADDITEMS to a list", "](N\x90.", "not a list or set");
    row("SETITEM of a list", "]NNs.", "not a dictionary");
    row("SETITEMS of an odd number", "}(Nu.", "keys without values");
    row("SETITEM below a mark", "}(NNs.", "keys without values, or of nothing");
    row("BUILD of a number", "K\x01}b.", "gives a state to something that is not an object");
    row("BUILD of nothing", "}b.", "gives a state to nothing");
    row("REDUCE of a number", "K\x01)R.", "from something that is not a class");
    row("REDUCE with a list", "cos\nsystem\n]R.", "from something that is not a tuple");
    row("STACK_GLOBAL of numbers", "K\x01K\x02\x93.", "with something that is not a text");
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
    // The largest memo index costs no more than any other.
    const Pickle p = good("Nr\xff\xff\xff\xff"
                          "j\xff\xff\xff\xff\x86.");
    QCOMPARE(p.itemCount(p.root()), std::size_t(2));
}

QS_TEST(PickleTest)
#include "pickle_test.moc"
