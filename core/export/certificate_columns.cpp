// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/certificate_columns.h"

#include "core/base/cell.h"
#include "core/base/text.h"

namespace qs {
namespace {

std::string resultText(const TensorProof& one) {
    return std::string(idOf(one.result)) + (one.result == Comparison::NotCompared ? ": " + one.reason : "");
}

constexpr auto kNone = Direction::None;

} // namespace

const Columns<TensorProof>& proofColumns() {
    using T = TensorProof;
    static const Columns<T> columns = {
        columnOf<T>({"tensor", "Tensor", "", Show::Name, 0, kNone, ""},
                    [](const T& t) { return escapeForPeople(t.name, 500); }),
        columnOf<T>({"result", "Read back", "", Show::Text, 0, kNone,
                     "equal: every value is what was analysed; copied: byte for byte what the source holds"},
                    resultText),
        columnOf<T>({"spec", "Spec", "", Show::Text, 0, kNone, ""},
                    [](const T& t) { return t.spec.empty() ? "as it was" : t.spec.text(); }),
        columnOf<T>({"read_as", "As", "", Show::Text, 0, kNone, "What the reader calls it"},
                    [](const T& t) { return t.readAs.text(); }),
        columnOf<T>({"shape", "Shape", "", Show::Text, 0, kNone, ""}, [](const T& t) { return shapeTimes(t.shape); }),
        columnOf<T>({"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, "8 x bytes written / elements"},
                    [](const T& t) { return t.elements ? Value{t.bitsPerWeight()} : Value{}; }),
        columnOf<T>({"bytes_predicted", "Predicted", "", Show::Bytes, 0, kNone, "Bytes that the layout promised"},
                    &T::bytesPredicted),
        columnOf<T>({"bytes_written", "Written", "", Show::Bytes, 0, kNone, "Bytes that are there"}, &T::bytesWritten)};
    return columns;
}

const Columns<CertifiedFile>& certifiedFileColumns() {
    using F = CertifiedFile;
    static const Columns<F> columns = {columnOf<F>({"name", "File", "", Show::Text, 0, kNone, ""},
                                                   [](const F& f) { return escapeForPeople(f.name, 200); }),
                                       columnOf<F>({"bytes", "Bytes", "", Show::Bytes, 0, kNone, ""}, &F::bytes),
                                       columnOf<F>({"sha256", "SHA-256", "", Show::Code, 0, kNone, ""}, &F::sha256)};
    return columns;
}

const Columns<CheckedFile>& checkedFileColumns() {
    using F = CheckedFile;
    static const Columns<F> columns = {
        columnOf<F>({"name", "File", "", Show::Text, 0, kNone, ""},
                    [](const F& f) { return escapeForPeople(f.certified.name, 200); }),
        columnOf<F>({"status", "Status", "", Show::Text, 0, kNone,
                     "as certified: size and SHA-256 are those of the certificate"},
                    [](const F& f) { return f.differs.empty() ? "as certified" : "differs"; }),
        columnOf<F>({"bytes", "Bytes", "", Show::Bytes, 0, kNone, "As certified"},
                    [](const F& f) { return f.certified.bytes; }),
        columnOf<F>({"sha256", "SHA-256", "", Show::Code, 0, kNone, "As certified"},
                    [](const F& f) { return f.certified.sha256; }),
        columnOf<F>({"reason", "Reason", "", Show::Text, 0, kNone, ""},
                    [](const F& f) { return escapeForPeople(f.differs, 200); })};
    return columns;
}

} // namespace qs
