// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/ptx.h"

#include "kernels/cuda/tiles.h"

#include <string_view>

namespace qs::cuda {

std::string ptxOf(const std::vector<const char*>& texts, const std::string& part) {
    constexpr std::string_view word = ".entry ";
    for (const std::string_view text : texts)
        for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
            const auto name = text.substr(at + word.size(), text.find('(', at) - at - word.size());
            if (name.find(part) == name.npos) continue;
            const auto line = text.rfind('\n', at) + 1, end = text.find("\n}", at);
            if (end == text.npos) return {};
            std::string out;
            for (const std::string_view directive : {".version", ".target", ".address_size"})
                if (const auto from = text.find(directive); from < at)
                    out += std::string(text.substr(from, text.find('\n', from) - from)) + '\n';
            return out + '\n' + std::string(text.substr(line, end + 3 - line));
        }
    return {};
}

namespace {
/// The mangled name of the first template argument of a product, its Part.
std::string partOf(int bits, bool affine) {
    return affine ? "INS0_7Affine2E" : "INS0_4PartILi" + std::to_string(bits) + "EEE";
}
std::string scalesOf(int bits, bool affine, int mode, std::int64_t block) {
    return "ELNS0_9ScaleModeE" + std::to_string(mode) + "ELi" +
           std::to_string(compiledSteps(bits, affine, ScaleMode(mode), block)) + 'E';
}
} // namespace
std::string skinnyName(int bits, int columns, int scaleMode, std::int64_t block, bool affine) {
    const int rows = columns == 32 && (scaleMode != int(ScaleMode::EachK) || block % 32 == 0) ? 2 : 1;
    return "6skinny" + partOf(bits, affine) + "Li" + std::to_string(rows) + "ELi" + std::to_string(columns / 8) +
           scalesOf(bits, affine, scaleMode, block);
}
std::string stagedName(int bits, int columns, int scaleMode, std::int64_t block, bool affine) {
    return "6staged" + partOf(bits, affine) + "Li" + std::to_string(columns / 8) +
           scalesOf(bits, affine, scaleMode, block);
}
std::string largeName(int bits, int scaleMode, bool affine) {
    return "5large" + partOf(bits, affine) + "LNS0_9ScaleModeE" + std::to_string(scaleMode) + 'E';
}
std::string quantizerName(Quantizer quantizer, bool measures, bool kept) {
    const std::string flag = measures ? "Lb1E" : "Lb0E", whole = kept ? "Li8E" : "Li0E";
    switch (quantizer) {
    case Quantizer::Int8: return "8Int8CodeE" + flag + whole; // an argument of byteGroups
    case Quantizer::E4m3: return "8E4m3CodeE" + flag + whole;
    case Quantizer::Nf4: return "9nf4BlocksI" + flag;
    case Quantizer::Nf4Whole64: return "11nf4Blocks64I" + flag;
    case Quantizer::BySearch: break;
    }
    return "10codeGroupsI" + flag;
}
std::string decodeRunName(int bits, bool highFirst, bool toBf16) {
    return "9decodeRunILi" + std::to_string(bits) + (highFirst ? "ELb1E" : "ELb0E") +
           (toBf16 ? "13__nv_bfloat16E" : "fE");
}
std::string decodeName(bool toBf16) { return toBf16 ? "6decodeI13__nv_bfloat16E" : "6decodeIfE"; }

} // namespace qs::cuda
