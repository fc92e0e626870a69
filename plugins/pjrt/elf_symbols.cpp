// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/elf_symbols.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <string_view>

namespace qs::pjrt {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
constexpr int kMachine = EM_NONE;
#endif
constexpr std::uint64_t kLargestTable = 1u << 30;

class ElfFile {
public:
    explicit ElfFile(const std::string& path) : in_(path, std::ios::binary) {
        if (in_.seekg(0, std::ios::end)) size_ = std::uint64_t(in_.tellg());
    }
    bool opened() const { return bool(in_) || size_ > 0; }
    bool read(std::uint64_t at, std::uint64_t bytes, void* out) {
        if (at > size_ || bytes > size_ - at) return false;
        in_.clear();
        in_.seekg(std::streamoff(at));
        return bool(in_.read(static_cast<char*>(out), std::streamsize(bytes)));
    }
    template<class T> bool table(const Elf64_Shdr& section, std::vector<T>& out) {
        if (section.sh_size > kLargestTable) return false;
        out.resize(section.sh_size / sizeof(T));
        return read(section.sh_offset, out.size() * sizeof(T), out.data());
    }

private:
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

std::string_view textAt(const std::vector<char>& strings, std::uint64_t at) {
    if (at >= strings.size()) return {};
    return {strings.data() + at, strnlen(strings.data() + at, strings.size() - at)};
}

} // namespace

ElfSymbols readElfSymbols(const std::string& path) {
    ElfSymbols result;
    const auto say = [&](const char* problem) {
        result.problem = problem;
        return result;
    };
    ElfFile file(path);
    result.readable = file.opened();
    if (!result.readable) return say("cannot be read");
    Elf64_Ehdr header{};
    if (!file.read(0, sizeof header, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return say("is not a shared library (no ELF header)");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        (kMachine != EM_NONE && header.e_machine != kMachine))
        return say("is a library for another kind of machine");
    if (header.e_type != ET_DYN) return say("is an ELF file, but no shared library");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
        return say("has no section table to look into");
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (!file.read(header.e_shoff, sections.size() * sizeof(Elf64_Shdr), sections.data()))
        return say("is cut short (its section table lies beyond its end)");
    for (const auto& section : sections) {
        if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) continue;
        std::vector<char> strings;
        if (section.sh_link >= sections.size() || !file.table(sections[section.sh_link], strings))
            return say("is cut short (a string table lies beyond its end)");
        if (section.sh_type == SHT_DYNAMIC) {
            std::vector<Elf64_Dyn> entries;
            if (!file.table(section, entries)) return say("is cut short (its dynamic section lies beyond its end)");
            for (const auto& entry : entries)
                if (entry.d_tag == DT_NEEDED) result.needed.emplace_back(textAt(strings, entry.d_un.d_val));
            continue;
        }
        std::vector<Elf64_Sym> symbols;
        if (!file.table(section, symbols)) return say("is cut short (its symbol table lies beyond its end)");
        for (const auto& symbol : symbols) {
            if (symbol.st_shndx == SHN_UNDEF) continue;
            const auto name = textAt(strings, symbol.st_name);
            if (name == "GetPjrtApi") result.exportsPjrt = true;
            if (name == "GetLibtpuSdkApi" || name.starts_with("TpuDriver_")) result.exportsLibtpu = true;
        }
    }
    return result;
}

} // namespace qs::pjrt
