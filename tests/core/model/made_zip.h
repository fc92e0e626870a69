// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// ZIP archives built record by record, so that each record can be wrong.

#include "made_file.h"

#include <vector>
#include <zlib.h>

inline QByteArray le(std::uint64_t value, int bytes) {
    QByteArray out;
    for (int i = 0; i < bytes; ++i) out.append(char(value >> (8 * i)));
    return out;
}

inline QByteArray deflated(const QByteArray& data) {
    QByteArray out(int(compressBound(uLong(data.size()))) + 64, '\0');
    z_stream z{};
    deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    z.avail_in = uInt(data.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = uInt(out.size());
    deflate(&z, Z_FINISH);
    out.resize(int(z.total_out));
    deflateEnd(&z);
    return out;
}

/// Values in the records of a member; -1 means the true value.
struct MadeMember {
    QByteArray name, data;
    bool deflate = false;
    QByteArray localName{};
    QByteArray packed{}; ///< replaces the packed data
    std::int64_t flags = 0, localFlags = -1, method = -1, localMethod = -1;
    std::int64_t crc = -1, localCrc = -1, bytes = -1, packedBytes = -1, localBytes = -1, localPacked = -1, offset = -1;
    std::int64_t disk = 0;
    QByteArray extra{}, localExtra{}, after{}; ///< `after`: bytes between its data and the next header
    bool hidden = false;                       ///< not in the directory
};

struct MadeZip {
    std::vector<MadeMember> members;
    QByteArray before, comment, after, beforeDirectory, inDirectory;
    std::int64_t entries = -1, here = -1, directoryBegin = -1, directorySize = -1, commentLength = -1, disk = 0;
    bool wide = false; ///< with a 64-bit end record
    std::int64_t wideEntries = -1;

    QByteArray bytes() const {
        const auto or_ = [](std::int64_t lie, std::uint64_t truth) { return lie >= 0 ? std::uint64_t(lie) : truth; };
        QByteArray out = before, directory;
        std::uint64_t count = 0;
        for (const auto& m : members) {
            const QByteArray packed = !m.packed.isNull() ? m.packed : m.deflate ? deflated(m.data) : m.data;
            const auto crc =
                or_(m.crc, ::crc32(0, reinterpret_cast<const Bytef*>(m.data.constData()), uInt(m.data.size())));
            const auto bytes = or_(m.bytes, std::uint64_t(m.data.size()));
            const auto size = or_(m.packedBytes, std::uint64_t(packed.size()));
            const auto method = or_(m.method, m.deflate ? 8 : 0);
            const auto begin = or_(m.offset, std::uint64_t(out.size()));
            const QByteArray localName = m.localName.isNull() ? m.name : m.localName;
            out += "PK\3\4" + le(20, 2) + le(or_(m.localFlags, std::uint64_t(m.flags)), 2) +
                   le(or_(m.localMethod, method), 2) + le(0, 4) + le(or_(m.localCrc, crc), 4) +
                   le(or_(m.localPacked, size), 4) + le(or_(m.localBytes, bytes), 4) +
                   le(std::uint64_t(localName.size()), 2) + le(std::uint64_t(m.localExtra.size()), 2) + localName +
                   m.localExtra + packed + m.after;
            if (m.hidden) continue;
            ++count;
            directory += "PK\1\2" + le(20, 2) + le(20, 2) + le(std::uint64_t(m.flags), 2) + le(method, 2) + le(0, 4) +
                         le(crc, 4) + le(size, 4) + le(bytes, 4) + le(std::uint64_t(m.name.size()), 2) +
                         le(std::uint64_t(m.extra.size()), 2) + le(0, 2) + le(std::uint64_t(m.disk), 2) + le(0, 6) +
                         le(begin, 4) + m.name + m.extra;
        }
        out += beforeDirectory;
        directory += inDirectory;
        const auto begin = or_(directoryBegin, std::uint64_t(out.size()));
        const auto size = or_(directorySize, std::uint64_t(directory.size()));
        out += directory;
        if (wide) {
            const auto record = std::uint64_t(out.size()), n = or_(wideEntries, count);
            out += "PK\6\6" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 8) + le(n, 8) + le(n, 8) + le(size, 8) +
                   le(begin, 8);
            out += "PK\6\7" + le(0, 4) + le(record, 8) + le(1, 4);
        }
        const auto n = or_(entries, count);
        return out + "PK\5\6" + le(std::uint64_t(disk), 4) + le(or_(here, n), 2) + le(n, 2) + le(size, 4) +
               le(begin, 4) + le(or_(commentLength, std::uint64_t(comment.size())), 2) + comment + after;
    }
};
