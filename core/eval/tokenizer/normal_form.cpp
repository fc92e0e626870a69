// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/normal_form.h"

#include "core/base/wide_text.h"
#include "core/eval/tokenizer/unicode.h"

#include <QString>

namespace qs::eval {
namespace {

QString::NormalizationForm formOf(NormalForm form) {
    switch (form) {
    case NormalForm::C: return QString::NormalizationForm_C;
    case NormalForm::D: return QString::NormalizationForm_D;
    case NormalForm::KC: return QString::NormalizationForm_KC;
    case NormalForm::KD: return QString::NormalizationForm_KD;
    }
    return QString::NormalizationForm_C;
}

/// Characters below stay as they are, unless one at or above it follows.
char32_t firstThatMayChange(NormalForm form) { return form == NormalForm::C ? 0x300 : 0x80; }

/// Pairs above U+FFFF whose second character has combining class 0: QString does not compose them.
void composeRarePairs(std::u32string& text) {
    static constexpr char32_t kPairs[][3] = {
        {0x11131, 0x11127, 0x1112E}, {0x11132, 0x11127, 0x1112F}, {0x11347, 0x1133E, 0x1134B},
        {0x11347, 0x11357, 0x1134C}, {0x114B9, 0x114BA, 0x114BB}, {0x114B9, 0x114B0, 0x114BC},
        {0x114B9, 0x114BD, 0x114BE}, {0x115B8, 0x115AF, 0x115BA}, {0x115B9, 0x115AF, 0x115BB}};
    for (std::size_t i = 0; i + 1 < text.size(); ++i)
        for (const auto& [first, second, both] : kPairs)
            if (text[i] == first && text[i + 1] == second) {
                text[i] = both;
                text.erase(i + 1, 1);
                break;
            }
}

std::string normalOf(NormalForm form, std::string_view part) {
    const QString normal =
        wideText(part).normalized(formOf(form), QChar::Unicode_9_0);
    const bool composes = form == NormalForm::C || form == NormalForm::KC;
    if (!composes || part.find("\xF0\x91") == std::string_view::npos)
        return normal.toStdString(); // these characters lie in U+11000 to U+11FFF
    std::u32string characters = normal.toStdU32String();
    composeRarePairs(characters);
    std::string out;
    for (const char32_t c : characters) appendUtf8(c, out);
    return out;
}

/// The shortest part that can be normalized alone. It ends before a character that never changes.
void rewritePart(NormalForm form, std::string_view text, std::size_t begin, std::size_t end, Rewriter& into) {
    const std::string_view part = text.substr(begin, end - begin);
    const std::string changed = normalOf(form, part);
    if (changed == part)
        into.keep(begin, end);
    else
        into.put(changed, begin, end);
}

} // namespace

void toNormalForm(NormalForm form, std::string_view text, Rewriter& into) {
    const char32_t least = firstThatMayChange(form);
    std::size_t kept = 0, last = 0; // `last`: where the last character begins that stays
    for (std::size_t at = 0; at < text.size();) {
        const Character c = characterAt(text, at);
        if (c.value < least) {
            last = at;
            at += c.bytes;
            continue;
        }
        std::size_t begin = last < at && last >= kept ? last : at;
        if (begin < kept) begin = kept;
        std::size_t end = at;
        for (Character next = c; next.bytes && next.value >= least; next = characterAt(text, end)) end += next.bytes;
        into.keep(kept, begin);
        rewritePart(form, text, begin, end, into);
        kept = at = end;
        last = end;
    }
    into.keep(kept, text.size());
}

} // namespace qs::eval
