// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/certificate_columns.h"

#include "core/base/text.h"

namespace qs {
namespace {

std::string resultText(const TensorProof& one) {
    switch (one.result) {
    case Comparison::Equal: return "equal";
    case Comparison::Copied: return "copied";
    case Comparison::NotCompared: break;
    }
    return "not compared: " + one.reason;
}

template<class Row> Column<Row> text(const char* id, const char* title, const char* tip, Value (*value)(const Row&)) {
    return {{id, title, "", Show::Text, 0, Direction::None, tip}, value};
}
template<class Row> Column<Row> bytes(const char* id, const char* title, const char* tip, Value (*value)(const Row&)) {
    return {{id, title, "", Show::Bytes, 0, Direction::None, tip}, value};
}

} // namespace

const Columns<TensorProof>& proofColumns() {
    using T = TensorProof;
    static const Columns<T> columns = {
        {{"tensor", "Tensor", "", Show::Name, 0, Direction::None, ""},
         [](const T& t) -> Value { return escapeForPeople(t.name, 500); }},
        text<T>("result", "Read back",
                "equal: every value is what was analysed; copied: byte for byte what the source holds",
                [](const T& t) -> Value { return resultText(t); }),
        text<T>("spec", "Spec", "", [](const T& t) -> Value { return t.spec.empty() ? "as it was" : t.spec.text(); }),
        text<T>("read_as", "As", "What the reader calls it", [](const T& t) -> Value { return t.readAs.text(); }),
        text<T>("shape", "Shape", "", [](const T& t) -> Value { return shapeTimes(t.shape); }),
        {{"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, "8 x bytes written / elements"},
         [](const T& t) -> Value { return t.elements ? Value{t.bitsPerWeight()} : Value{}; }},
        bytes<T>("bytes_predicted", "Predicted", "Bytes that the layout promised",
                 [](const T& t) -> Value { return std::int64_t(t.bytesPredicted); }),
        bytes<T>("bytes_written", "Written", "Bytes that are there",
                 [](const T& t) -> Value { return std::int64_t(t.bytesWritten); })};
    return columns;
}

const Columns<CertifiedFile>& certifiedFileColumns() {
    using F = CertifiedFile;
    static const Columns<F> columns = {
        text<F>("name", "File", "", [](const F& f) -> Value { return escapeForPeople(f.name, 200); }),
        bytes<F>("bytes", "Bytes", "", [](const F& f) -> Value { return std::int64_t(f.bytes); }),
        {{"sha256", "SHA-256", "", Show::Code, 0, Direction::None, ""}, [](const F& f) -> Value { return f.sha256; }}};
    return columns;
}

const Columns<CheckedFile>& checkedFileColumns() {
    using F = CheckedFile;
    static const Columns<F> columns = {
        text<F>("name", "File", "", [](const F& f) -> Value { return escapeForPeople(f.certified.name, 200); }),
        text<F>("status", "Status", "as certified: size and SHA-256 are those of the certificate",
                [](const F& f) -> Value { return f.differs.empty() ? "as certified" : "differs"; }),
        bytes<F>("bytes", "Bytes", "As certified", [](const F& f) -> Value { return std::int64_t(f.certified.bytes); }),
        {{"sha256", "SHA-256", "", Show::Code, 0, Direction::None, "As certified"},
         [](const F& f) -> Value { return f.certified.sha256; }},
        text<F>("reason", "Reason", "", [](const F& f) -> Value { return escapeForPeople(f.differs, 200); })};
    return columns;
}

} // namespace qs
