// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files of records as somebody would change them who wants a program to fall: values in records, whose checksums are made
// right.

#include "core/model/crc32c.h"
#include "tests/support/files.h"

#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace qs::test {

struct RecordsFile {
    struct Record {
        QByteArray hash, bytes;
    };
    QByteArray head;
    std::vector<Record> records;

    static RecordsFile read(const QString& path) {
        const QByteArray all = bytesOf(path);
        RecordsFile out;
        qsizetype at = 16 + qsizetype(number(all, 8));
        out.head = all.left(at);
        for (; at + 44 <= all.size(); at += 44 + out.records.back().bytes.size())
            out.records.push_back({all.mid(at, 32), all.mid(at + 44, qsizetype(number(all, at + 32)))});
        return out;
    }
    void write(const QString& path) const { put(path, whole()); }
    QByteArray whole() const {
        QByteArray all = head;
        for (const auto& [hash, bytes] : records) {
            const auto size = std::uint64_t(bytes.size());
            const QByteArray summed = QByteArray(reinterpret_cast<const char*>(&size), sizeof size) + bytes;
            const std::uint32_t sum = crc32c(std::as_bytes(std::span(summed.constData(), std::size_t(summed.size()))));
            all += hash + summed.left(8) + QByteArray(reinterpret_cast<const char*>(&sum), sizeof sum) + bytes;
        }
        return all;
    }
    static std::uint64_t number(const QByteArray& bytes, qsizetype at) {
        std::uint64_t out = 0;
        std::memcpy(&out, bytes.constData() + at, sizeof out);
        return out;
    }
};

/// Puts a number over some bytes.
template<class Number> void overwrite(QByteArray& bytes, qsizetype at, Number number) {
    if (at + qsizetype(sizeof number) <= bytes.size()) std::memcpy(bytes.data() + at, &number, sizeof number);
}

inline void changeRecord(QByteArray& bytes, std::mt19937& random) {
    constexpr std::uint64_t numbers[] = {0,
                                         1,
                                         2,
                                         8,
                                         255,
                                         1u << 16,
                                         1u << 31,
                                         ~std::uint32_t(0),
                                         std::uint64_t(1) << 40,
                                         std::uint64_t(1) << 63,
                                         ~std::uint64_t(0)};
    constexpr double doubles[] = {-1, 1e300, std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()};
    if (bytes.isEmpty()) return;
    const auto at = qsizetype(random() % std::size_t(bytes.size()));
    switch (random() % 5) {
    case 0: overwrite(bytes, at, numbers[random() % std::size(numbers)]); break;
    case 1: overwrite(bytes, at, std::uint32_t(numbers[random() % std::size(numbers)])); break;
    case 2: overwrite(bytes, at, doubles[random() % std::size(doubles)]); break;
    case 3: overwrite(bytes, at, std::uint8_t(bytes[at] + (random() % 2 ? 1 : -1))); break;
    case 4: bytes.insert(at, bytes.mid(at, qsizetype(random() % 16))); break;
    }
}

/// Changes a value in about a third of the records of all files in a folder.
inline void changeRecords(const QString& folder, std::mt19937& random) {
    for (const QString& name : QDir(folder).entryList({QStringLiteral("*.records")})) {
        auto file = RecordsFile::read(folder + QLatin1Char('/') + name);
        for (auto& record : file.records)
            if (random() % 3 == 0) changeRecord(record.bytes, random);
        file.write(folder + QLatin1Char('/') + name);
    }
}

/// Puts copies of the files in a folder into another one, in place of what is there.
inline void copyFiles(const QString& from, const QString& to) {
    for (const QString& name : QDir(from).entryList(QDir::Files)) {
        QFile::remove(to + QLatin1Char('/') + name);
        put(to, name, bytesOf(from + QLatin1Char('/') + name));
    }
}

} // namespace qs::test
