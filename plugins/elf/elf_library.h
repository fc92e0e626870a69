// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads from the file of a shared library which symbols it exports and which libraries it needs. The library is not
// loaded and no code of it runs. core/bench uses this to list backends, and the pjrt backend to check a plugin.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace qs {

struct ElfLibrary {
    std::string problem;   ///< "" or what is wrong, to be put behind the file's name: "is a library for another ..."
    bool readable = false; ///< false if the file cannot be opened
    std::vector<std::vector<char>> strings; ///< memory of the names below; so this struct can be moved but not copied
    std::vector<std::string_view> needed;   ///< names of the libraries that it needs
    std::vector<std::string_view> defined;  ///< names of the symbols that it exports

    ElfLibrary() = default;
    ElfLibrary(ElfLibrary&&) = default;
    ElfLibrary& operator=(ElfLibrary&&) = default;
    bool defines(std::string_view name) const {
        return std::find(defined.begin(), defined.end(), name) != defined.end();
    }
};

/// Reads parts of a file. A read beyond the end fails.
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

    bool isOpen() const { return fd_ >= 0; }
    template<class T> bool read(std::uint64_t at, std::uint64_t count, std::vector<T>& out) const {
        constexpr std::uint64_t kLargestTable = 1u << 30; // bytes
        if (count > kLargestTable / sizeof(T) || at > size_ || count * sizeof(T) > size_ - at) return false;
        out.resize(count);
        return pread(fd_, out.data(), count * sizeof(T), off_t(at)) == ssize_t(count * sizeof(T));
    }
    template<class T> bool table(const Elf64_Shdr& section, std::vector<T>& out) const {
        return read(section.sh_offset, section.sh_size / sizeof(T), out);
    }

private:
    int fd_ = -1;
    std::uint64_t size_ = 0;
};

/// Fills in `needed` and `defined`. Returns what is wrong with the file, or null.
inline const char* readElfTables(const ElfFile& file, ElfLibrary& out) {
#if defined(__x86_64__)
    constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
    constexpr int kMachine = EM_AARCH64;
#else
    constexpr int kMachine = EM_NONE;
#endif
    std::vector<Elf64_Ehdr> headers;
    if (!file.read(0, 1, headers) || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0)
        return "is not a shared library (no ELF header)";
    const Elf64_Ehdr& header = headers[0];
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        (kMachine != EM_NONE && header.e_machine != kMachine))
        return "is a library for another kind of machine";
    if (header.e_type != ET_DYN) return "is an ELF file, but no shared library";
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0) return "has no section table to look into";
    std::vector<Elf64_Shdr> sections;
    if (!file.read(header.e_shoff, header.e_shnum, sections))
        return "is cut short (its section table lies beyond its end)";
    for (const auto& section : sections) {
        if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) continue;
        auto& strings = out.strings.emplace_back();
        if (section.sh_link >= sections.size() || !file.table(sections[section.sh_link], strings))
            return "is cut short (a string table lies beyond its end)";
        const auto textAt = [&](std::uint64_t at) {
            constexpr std::size_t kLongestName = 4096;
            if (at >= strings.size()) return std::string_view();
            return std::string_view(strings.data() + at,
                                    strnlen(strings.data() + at, std::min(kLongestName, strings.size() - at)));
        };
        std::vector<Elf64_Dyn> entries;
        std::vector<Elf64_Sym> symbols;
        if (section.sh_type == SHT_DYNAMIC && !file.table(section, entries))
            return "is cut short (its dynamic section lies beyond its end)";
        if (section.sh_type == SHT_DYNSYM && !file.table(section, symbols))
            return "is cut short (its symbol table lies beyond its end)";
        for (const auto& entry : entries)
            if (entry.d_tag == DT_NEEDED) out.needed.push_back(textAt(entry.d_un.d_val));
        for (const auto& symbol : symbols)
            if (symbol.st_shndx != SHN_UNDEF) out.defined.push_back(textAt(symbol.st_name));
    }
    return nullptr;
}

/// Reads the dynamic symbols only. Every offset is checked against the size of the file. For a damaged file both lists
/// are empty.
inline ElfLibrary readElfLibrary(const std::string& path) {
    ElfLibrary out;
    const ElfFile file(path);
    out.readable = file.isOpen();
    const char* problem = out.readable ? readElfTables(file, out) : "cannot be read";
    if (problem) out.problem = problem, out.needed.clear(), out.defined.clear();
    return out;
}

} // namespace qs
