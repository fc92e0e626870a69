// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/foreign_file.h"

#include "core/base/text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <initializer_list>

namespace qs {
namespace {

constexpr const char* kOldGgml = "is a GGML file from before GGUF, which no current program reads; convert it anew";
constexpr const char* kTorchTar =
    "is a PyTorch checkpoint of before version 0.1.11 (a tar archive), which is not read; load it with torch.load and "
    "save it anew";

struct Magic {
    std::string_view bytes;
    std::size_t at;
    const char* is;
};

using namespace std::string_view_literals;
constexpr Magic kMagics[] = {
    {"GGUF"sv, 0, "is a GGUF file"},
    {"tjgg"sv, 0, kOldGgml},
    {"lmgg"sv, 0, kOldGgml},
    {"fmgg"sv, 0, kOldGgml},
    {"PK\3\4"sv, 0, "is a ZIP archive, and its first member is of no PyTorch checkpoint or .npz"},
    {"PK\5\6"sv, 0, "is an empty ZIP archive"},
    {"\x89HDF\r\n\x1a\n"sv, 0, "is an HDF5 file"},
    {"\x93NUMPY"sv, 0, "is a NumPy array (.npy)"},
    {"TFL3"sv, 4, "is a TensorFlow Lite model"},
    {"\x1f\x8b"sv, 0, "is compressed with gzip; decompress it first"},
    {"\x28\xb5\x2f\xfd"sv, 0, "is compressed with zstd; decompress it first"},
    {"BZh"sv, 0, "is compressed with bzip2; decompress it first"},
    {"\xfd"
     "7zXZ\0"sv,
     0, "is compressed with xz; decompress it first"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "is a 7-Zip archive; unpack it first"},
    {"sys_info\0"sv, 0, kTorchTar},
    {"sys_info\0"sv, 1024, kTorchTar}, // after the time stamps of the file in the archive
    {"ustar"sv, 257, "is a tar archive; unpack it first"},
};

bool isSpace(std::byte b) {
    return b == std::byte(' ') || b == std::byte('\n') || b == std::byte('\r') || b == std::byte('\t');
}

/// True if the header length fits the file and a JSON object follows. Needed because the length can look like a magic
/// number.
bool looksLikeSafetensors(std::span<const std::byte> head, std::uint64_t size) {
    if (head.size() < 10) return false;
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | std::uint64_t(head[std::size_t(i)]);
    return length >= 2 && length <= size - 8 && (head[8] == std::byte('{') || isSpace(head[8]));
}

std::string_view asText(std::span<const std::byte> head) {
    return {reinterpret_cast<const char*>(head.data()), head.size()};
}

/// Compares the first word. Ignores leading blanks, a byte order mark, and upper and lower case.
bool beginsWith(std::string_view head, std::initializer_list<std::string_view> words) {
    if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
    const auto begin = head.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return false;
    std::string word(head.substr(begin, 9));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return std::ranges::any_of(words, [&](std::string_view w) { return word.starts_with(w); });
}

} // namespace

std::string notWhole(std::uint64_t size, const std::string& path) {
    for (const std::string_view suffix : {".part", ".incomplete", ".crdownload", ".aria2"})
        if (path.ends_with(suffix)) return "is an unfinished download (" + std::string(suffix) + "); finish it first";
    // aria2 creates the file with its final name and size when the download starts.
    std::error_code ignored;
    if (std::filesystem::exists(path + ".aria2", ignored))
        return "is an unfinished download (an .aria2 file lies beside it); finish it first";
    if (size == 0) return "is empty (0 bytes)";
    return {};
}

Result<std::shared_ptr<MappedFile>> openWhole(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file) return file;
    if (const auto why = notWhole((*file)->size(), path); !why.empty())
        return fail(fmt::format("{} {}.", shownPath(path), why), path, 0);
    return file;
}

std::string foreignName(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr const char* savedModel =
        "is a TensorFlow SavedModel, which is not read: convert it to Keras (.keras or .h5), TensorFlow Lite or ONNX";
    constexpr const char* coreMl =
        "is a Core ML model, which is not read: open the checkpoint that it was made of, or an ONNX file of it";
    std::error_code failed;
    const fs::path whole(path);
    const std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
    if (fs::is_directory(whole, failed)) {
        if (fs::exists(whole / "saved_model.pb", failed) || fs::exists(whole / "saved_model.pbtxt", failed))
            return savedModel;
        const bool isPackage = fs::exists(whole / "Manifest.json", failed) &&
                               fs::is_directory(whole / "Data" / "com.apple.CoreML", failed);
        return isPackage || name.ends_with(".mlpackage") || name.ends_with(".mlmodelc") ? coreMl : "";
    }
    if (name == "saved_model.pb" || name == "saved_model.pbtxt") return savedModel;
    return name.ends_with(".mlmodel") ? coreMl : "";
}

std::string placeholder(std::span<const std::byte> head) {
    const std::string_view text = asText(head);
    if (text.starts_with("version https://git-lfs.github.com/spec"))
        return "is a Git LFS pointer, not the file itself; run \"git lfs pull\" in its repository";
    if (beginsWith(text, {"<!doctype", "<html"}))
        return "is a web page (HTML), not the file itself; the download went to a page";
    if (beginsWith(text, {"<?xml"}))
        return "is an XML document, not the file itself; the download may have got a server's refusal";
    return {};
}

std::string foreignFile(std::span<const std::byte> head) {
    const std::string_view text = asText(head);
    for (const auto& magic : kMagics)
        if (text.size() > magic.at && text.substr(magic.at).starts_with(magic.bytes)) return magic.is;
    if (auto instead = placeholder(head); !instead.empty()) return instead;
    if (text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
        return "is a Python pickle, but no PyTorch checkpoint; pickles of other programs are never loaded";
    if (!head.empty() && std::ranges::all_of(head, [](std::byte b) { return b == std::byte(0); }))
        return "begins with nothing but zero bytes; the download may not be finished";
    return {};
}

std::string notSafetensors(std::span<const std::byte> head, std::uint64_t size, const std::string& path) {
    if (auto why = notWhole(size, path); !why.empty()) return why;
    return looksLikeSafetensors(head, size) ? std::string() : foreignFile(head);
}

} // namespace qs
