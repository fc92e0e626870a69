// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/elf_exports.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace qs {
namespace {

constexpr int kLongestChain = 4096; ///< symbols of one bucket; a real library has a handful

/// Reads parts of the file; reads beyond its end fail.
class ElfFile {
public:
    explicit ElfFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        struct stat about {};
        if (fd_ >= 0 && fstat(fd_, &about) == 0 && S_ISREG(about.st_mode)) size_ = std::uint64_t(about.st_size);
    }
    ~ElfFile() {
        if (fd_ >= 0) close(fd_);
    }
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;

    bool bytes(std::uint64_t at, std::uint64_t count, void* out) const {
        if (at > size_ || count > size_ - at) return false;
        return pread(fd_, out, count, off_t(at)) == ssize_t(count);
    }
    template<class T> bool value(std::uint64_t at, T& out) const { return bytes(at, sizeof out, &out); }
    /// Entry `index` of a section.
    template<class T> bool entry(const Elf64_Shdr& section, std::uint64_t index, T& out) const {
        return index < section.sh_size / sizeof(T) && value(section.sh_offset + index * sizeof(T), out);
    }

private:
    int fd_ = -1;
    std::uint64_t size_ = 0;
};

/// The tables of dynamic symbols. sh_type 0: the file has none.
struct Tables {
    Elf64_Shdr symbols{}, strings{}, gnuHash{}, hash{};
};

bool findTables(const ElfFile& file, Tables& out) {
    Elf64_Ehdr header{};
    if (!file.value(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN ||
        header.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    const auto section = [&](std::uint64_t index, Elf64_Shdr& found) {
        return index < header.e_shnum && header.e_shoff < UINT64_MAX / 2 &&
               file.value(header.e_shoff + index * sizeof found, found) && found.sh_offset < UINT64_MAX / 2;
    };
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr one{};
        if (!section(i, one)) return false;
        if (one.sh_type == SHT_DYNSYM) out.symbols = one;
        if (one.sh_type == SHT_GNU_HASH) out.gnuHash = one;
        if (one.sh_type == SHT_HASH) out.hash = one;
    }
    return out.symbols.sh_type == SHT_DYNSYM && section(out.symbols.sh_link, out.strings);
}

bool isDefined(const ElfFile& file, const Tables& tables, std::uint32_t index, const std::string& name) {
    Elf64_Sym symbol{};
    if (!file.entry(tables.symbols, index, symbol) || symbol.st_shndx == SHN_UNDEF) return false;
    std::string found(name.size() + 1, '\1');
    return symbol.st_name <= tables.strings.sh_size && found.size() <= tables.strings.sh_size - symbol.st_name &&
           file.bytes(tables.strings.sh_offset + symbol.st_name, found.size(), found.data()) &&
           std::memcmp(found.data(), name.c_str(), found.size()) == 0;
}

/// GNU hash table: buckets, then chains in the order of symbols; the last hash of a chain has its lowest bit set. See
/// glibc's elf/dl-lookup.c.
bool inGnuHash(const ElfFile& file, const Tables& tables, const std::string& name) {
    std::uint32_t hash = 5381;
    for (const char c : name) hash = hash * 33 + std::uint8_t(c);
    std::uint32_t buckets = 0, first = 0, bloom = 0, at = 0;
    const auto word = [&](std::uint64_t i, std::uint32_t& out) { return file.entry(tables.gnuHash, i, out); };
    if (!word(0, buckets) || !word(1, first) || !word(2, bloom) || buckets == 0) return false;
    const std::uint64_t start = 4 + 2 * std::uint64_t(bloom), chains = start + buckets;
    if (!word(start + hash % buckets, at) || at < first) return false;
    for (int steps = 0; steps < kLongestChain; ++steps, ++at) {
        std::uint32_t link = 0;
        if (!word(chains + (at - first), link)) return false;
        if ((link | 1) == (hash | 1) && isDefined(file, tables, at, name)) return true;
        if (link & 1) return false;
    }
    return false;
}

/// The older hash table of the System V ABI: buckets, then for each symbol the next one.
bool inHash(const ElfFile& file, const Tables& tables, const std::string& name) {
    std::uint32_t hash = 0;
    for (const char c : name) {
        hash = (hash << 4) + std::uint8_t(c);
        const std::uint32_t high = hash & 0xf0000000;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    std::uint32_t buckets = 0, at = 0;
    const auto word = [&](std::uint64_t i, std::uint32_t& out) { return file.entry(tables.hash, i, out); };
    if (!word(0, buckets) || buckets == 0 || !word(2 + hash % buckets, at)) return false;
    for (int steps = 0; steps < kLongestChain && at != STN_UNDEF; ++steps) {
        if (isDefined(file, tables, at, name)) return true;
        if (!word(2 + std::uint64_t(buckets) + at, at)) return false;
    }
    return false;
}

} // namespace

bool elfDefines(const std::string& path, const std::string& symbol) {
    const ElfFile file(path);
    Tables tables;
    if (!findTables(file, tables)) return false;
    return tables.gnuHash.sh_type == SHT_GNU_HASH ? inGnuHash(file, tables, symbol)
           : tables.hash.sh_type == SHT_HASH      ? inHash(file, tables, symbol)
                                                  : false;
}

} // namespace qs
