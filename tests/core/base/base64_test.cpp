// SPDX-License-Identifier: GPL-3.0-or-later
// Base64: the vectors of RFC 4648, all lengths, and invalid texts.
#include "core/base/base64.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <vector>

using namespace qs;

class Base64Test : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void vectors() {
        const std::pair<std::string, std::string> all[] = {{"", ""},
                                                           {"f", "Zg=="},
                                                           {"fo", "Zm8="},
                                                           {"foo", "Zm9v"},
                                                           {"foob", "Zm9vYg=="},
                                                           {"fooba", "Zm9vYmE="},
                                                           {"foobar", "Zm9vYmFy"}};
        for (const auto& [plain, text] : all) QCOMPARE(base64Of(std::as_bytes(std::span(plain))), text);
    }
    void everyByteAndLengthComesBack() {
        std::vector<std::byte> bytes;
        for (int i = 0; i < 300; ++i) {
            const auto text = base64Of(bytes);
            std::vector<std::byte> back(bytes.size(), std::byte(0xaa));
            QVERIFY(bytesOfBase64(text, back) && back == bytes);
            for (const std::size_t other : {bytes.size() + 1, bytes.size() + 3}) {
                std::vector<std::byte> longer(other);
                QVERIFY(!bytesOfBase64(text, longer));
            }
            bytes.push_back(std::byte(i * 7));
        }
    }
    void refused() {
        std::vector<std::byte> four(4);
        QVERIFY(bytesOfBase64("AAAAAA==", four));
        for (const char* text : {"AAAAAB==", "AAAAAA=A", "AAAAA===", "AAAAAA", "AAAA AA=",
                                 "AAA\xc3\xa9"
                                 "A==",
                                 "AAAA-A==", "========"})
            QVERIFY2(!bytesOfBase64(text, four), text);
    }
};

QS_TEST(Base64Test)
#include "base64_test.moc"
