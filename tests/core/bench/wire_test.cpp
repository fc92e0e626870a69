// SPDX-License-Identifier: GPL-3.0-or-later
// Message frames between program and worker process: complete frames arrive, all others are refused. Also the shared
// memory passed with them.
#include "core/bench/backend/wire_values.h"
#include "core/process/frame.h"
#include "core/process/shared_buffer.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace qs;
using namespace qs::test;
using nlohmann::json;

namespace {

std::array<Descriptor, 2> sockets() {
    int pair[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) pair[0] = pair[1] = -1;
    return {Descriptor(pair[0]), Descriptor(pair[1])};
}

std::string header(std::uint32_t length, std::uint32_t magic = 0x32575351, std::uint32_t descriptors = 0,
                   std::uint32_t zero = 0) {
    const std::uint32_t words[] = {magic, length, descriptors, zero};
    return {reinterpret_cast<const char*>(words), sizeof words};
}
std::string framed(const std::string& text) { return header(std::uint32_t(text.size())) + text; }

/// The error of a channel that receives these bytes, after which the sender closes.
std::string faultOf(const std::string& bytes) {
    auto [ours, theirs] = sockets();
    Channel channel(std::move(ours));
    if (write(theirs.get(), bytes.data(), bytes.size()) != ssize_t(bytes.size())) return "not written";
    theirs = Descriptor();
    const auto got = channel.receive();
    if (got) return *got ? "whole" : "incomplete";
    return got.error().closed ? "closed" : got.error().what;
}

} // namespace

class TestWire : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void frames_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("fault");
        const auto row = [](const char* name, const std::string& bytes, const char* fault) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << QString::fromLatin1(fault);
        };
        row("whole", framed("{\"id\":1}"), "whole");
        row("nothing", "", "closed");
        row("half a header", header(8).substr(0, 7), "closed");
        row("half a body", header(8) + "{\"i", "closed");
        row("text", "this is no frame, not at all", "bytes that are no frame");
        row("reserved word", header(2, 0x32575351, 0, 1) + "{}", "bytes that are no frame");
        row("length of a gigabyte", header(1u << 30), "a frame of 1073741824 bytes");
        row("descriptors that do not come", header(2, 0x32575351, 3) + "{}", "0 descriptors instead of 3");
        row("empty", framed(""), "text that is no JSON object");
        row("array", framed("[1]"), "text that is no JSON object");
        row("two objects", framed("{}{}"), "text that is no JSON object");
        row("broken", framed("{\"a\":"), "text that is no JSON object");
        row("key twice", framed("{\"a\":1,\"b\":{\"c\":1,\"c\":2}}"), "JSON with a key twice");
        row("deep", framed("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"),
            "JSON nested more than 8 deep");
        row("not UTF-8", framed("{\"a\":\"\xff\"}"), "text that is not valid UTF-8");
    }
    void frames() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, fault);
        QCOMPARE(q(faultOf(bytes.toStdString())), fault);
    }
    void byteByByte() {
        auto [ours, theirs] = sockets();
        Channel channel(std::move(ours));
        const std::string bytes = framed("{\"id\":7}") + framed("{\"id\":8}");
        int seen = 0;
        for (const char c : bytes) {
            QCOMPARE(write(theirs.get(), &c, 1), ssize_t(1));
            const auto got = channel.receive();
            QVERIFY(got);
            if (*got) QCOMPARE((*got)->body["id"].get<int>(), 7 + seen++);
        }
        QCOMPARE(seen, 2);
    }
    void longFrameAndReaderThatIsBehind() {
        auto [ours, theirs] = sockets();
        Channel from(std::move(theirs)), to(std::move(ours));
        const std::string text(5'000'000, 'x');
        std::thread sender([&] { QVERIFY(from.send({{"text", text}}, {}, 20)); });
        std::optional<Frame> frame;
        while (!frame) {
            auto got = to.receive();
            QVERIFY(got);
            frame = std::move(*got);
        }
        sender.join();
        QCOMPARE(frame->body["text"].get<std::string>().size(), text.size());
        const auto stuck = from.send({{"text", text}}, {}, 0.1);
        QVERIFY(!stuck && !stuck.error().closed);
        QVERIFY(!from.send({{"text", std::string(kLongestFrame, 'x')}}));
    }
    void memoryTravels() {
        auto [ours, theirs] = sockets();
        Channel from(std::move(theirs)), to(std::move(ours));
        const auto buffer = SharedBuffer::create(100);
        QVERIFY(buffer);
        const int descriptor = (*buffer)->descriptor();
        QVERIFY(from.send({{"id", 1}}, {&descriptor, 1}));
        auto got = to.receive();
        QVERIFY(got && *got);
        QCOMPARE((*got)->descriptors.size(), std::size_t(1));
        const auto other = SharedBuffer::adopt(std::move((*got)->descriptors[0]), 100);
        QVERIFY(other);
        (*other)->as<float>()[3] = 2.5f;
        QCOMPARE((*buffer)->as<float>()[3], 2.5f);
        QCOMPARE((*buffer)->as<float>()[4], 0.0f);
        QVERIFY(ftruncate((*other)->descriptor(), 0) != 0); // the other process cannot remove the pages
    }
    void buffersThatAreRefused() {
        QVERIFY(!SharedBuffer::create(std::uint64_t(1) << 60));
        const auto empty = SharedBuffer::create(0);
        QVERIFY(empty && (*empty)->size() == 0);
        const auto small = SharedBuffer::create(10);
        QVERIFY(small);
        QVERIFY(!SharedBuffer::adopt(Descriptor(fcntl((*small)->descriptor(), F_DUPFD_CLOEXEC, 0)), 1 << 20));
        int ends[2];
        QVERIFY(pipe2(ends, O_CLOEXEC) == 0);
        QVERIFY(!SharedBuffer::adopt(Descriptor(ends[0]), 1)); // takes it over, and closes it
        close(ends[1]);
        const int unsealed = memfd_create("unsealed", MFD_CLOEXEC);
        QVERIFY(ftruncate(unsealed, 4096) == 0);
        QVERIFY(!SharedBuffer::adopt(Descriptor(unsealed), 4096)); // could shrink under the reader
    }
    void valuesReturn() {
        Problem problem;
        problem.m = 5;
        problem.n = 7;
        problem.k = 1LL << 40;
        problem.wIsKn = problem.bias = true;
        problem.compute = "bf16";
        problem.weight =
            OperandFormat{"nf4", "pair_hi_first", "f32", "none", 4, 1, 1, -1, 0, 64, 64, {-1.0f, 0.1f, 1.0f / 3}};
        const json sent = wireOf(problem);
        const auto parsed = strictObject(sent.dump());
        QVERIFY(parsed);
        Fields fields(*parsed);
        const Problem back = valueFrom<Problem>(fields);
        QVERIFY2(!fields.problem(), fields.problem() ? fields.problem()->c_str() : "");
        QVERIFY(back == problem);
        PreparedKernel kernel{3, {}};
        kernel.info.flops = 1e15;
        kernel.info.tempBytes = 0;
        const json wired = wireOf(kernel);
        Fields told(wired);
        const auto read = valueFrom<PreparedKernel>(told);
        QVERIFY(!told.problem());
        QCOMPARE(read.info.flops.value_or(0), 1e15);
        QCOMPARE(read.info.tempBytes.value_or(-1), std::int64_t(0));
        QVERIFY(!read.info.argBytes);
    }
    void valuesThatLie_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("missing") << QByteArray("{\"clock\":1,\"timing_valid\":true}");
        QTest::newRow("negative") << QByteArray("{\"ns\":[-5],\"clock\":1,\"timing_valid\":true}");
        QTest::newRow("text") << QByteArray("{\"ns\":[\"5\"],\"clock\":1,\"timing_valid\":true}");
        QTest::newRow("fraction") << QByteArray("{\"ns\":[1.5],\"clock\":1,\"timing_valid\":true}");
        QTest::newRow("number as flag") << QByteArray("{\"ns\":[5],\"clock\":1,\"timing_valid\":1}");
        QTest::newRow("large clock") << QByteArray("{\"ns\":[5],\"clock\":18446744073709551615,\"timing_valid\":true}");
        QTest::newRow("object") << QByteArray("{\"ns\":{},\"clock\":1,\"timing_valid\":true}");
    }
    void valuesThatLie() {
        QFETCH(QByteArray, text);
        const auto parsed = strictObject(text.toStdString());
        QVERIFY(parsed);
        Fields fields(*parsed);
        (void)valueFrom<RunSamples>(fields);
        QVERIFY(fields.problem());
    }
    void statesThatNoWorkerReports() {
        for (const char* state : {"hung", "ok", "available", "", "nonsense"}) {
            const json told = {{"state", state}, {"reason", "because"}, {"hint", ""}};
            Fields fields(told);
            (void)valueFrom<Failure>(fields);
            QVERIFY2(fields.problem(), state);
        }
    }
};

QS_TEST(TestWire)
#include "wire_test.moc"
