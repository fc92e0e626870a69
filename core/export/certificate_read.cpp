// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a certificate without building a tree of it: it may have a million tensors.
#include "core/base/lists.h"
#include "core/base/strict_json.h"
#include "core/base/text.h"
#include "core/export/certificate.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"

#include <array>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace qs {
namespace {

enum class In { Certificate, Files, File, LeftOutFiles, LeftOut, Tensors, Tensor, Shape, Other };

/// What must be in each kind of object.
std::span<const char* const> needed(In place) {
    static constexpr std::array certificate = {"quantscope", "source", "source_format", "layout", "files", "tensors"};
    static constexpr std::array tensor = {"name",    "result",          "dtype",        "shape",
                                          "read_as", "bytes_predicted", "bytes_written"};
    static constexpr std::array file = {"name", "bytes", "sha256"};
    static constexpr std::array leftOut = {"name", "why"};
    switch (place) {
    case In::Certificate: return certificate;
    case In::Tensor: return tensor;
    case In::File: return file;
    case In::LeftOut: return leftOut;
    default: return {};
    }
}

class CertificateVisitor final : public JsonVisitor {
public:
    CertificateVisitor(ProofRows rows, std::uint64_t bytes) : rows_(rows), budget_(bytes) { all_.emplace_back(); }

    /// Valid after the text was read.
    Certificate take() {
        for (; all_.size() > 1; all_.pop_back())
            all_[all_.size() - 2].previous = std::make_shared<Certificate>(std::move(all_.back()));
        return std::move(all_.front());
    }
    bool isCertificate() const { return isObject_; }

    bool beginObject() override {
        if (places_.empty()) return isObject_ = true, enter(In::Certificate);
        switch (place()) {
        case In::Certificate:
            if (key() != "previous") return enter(In::Other);
            if (all_.size() > std::size_t(kMostPrevious)) return refuse("it has too many previous certificates");
            all_.emplace_back();
            return enter(In::Certificate);
        case In::Files: return file_ = {}, enter(In::File);
        case In::LeftOutFiles: return leftOut_ = {}, enter(In::LeftOut);
        case In::Tensors: return tensor_ = {}, enter(In::Tensor);
        default: return enter(In::Other);
        }
    }
    bool beginArray() override {
        if (places_.empty()) return refuse("it is no object");
        if (place() == In::Certificate)
            return enter(has("files")            ? In::Files
                         : has("files_left_out") ? In::LeftOutFiles
                         : has("tensors")        ? In::Tensors
                                                 : In::Other);
        return enter(place() == In::Tensor && has("shape") ? (sizes_.clear(), In::Shape) : In::Other);
    }
    bool endArray() override {
        if (place() == In::Shape) tensor_.shape = sizes_;
        return leave();
    }
    bool endObject() override {
        for (const char* name : needed(place()))
            if (!contains(places_.back().set, name))
                return refuse(fmt::format("it has no \"{}\" where one is needed", name));
        const In ended = place();
        level_ -= ended == In::Certificate;
        if (ended == In::File) now().files.push_back(std::move(file_));
        if (ended == In::LeftOut) now().leftOut.push_back(std::move(leftOut_));
        return ended == In::Tensor ? addTensor() && leave() : leave();
    }

    bool key(std::string& text) override {
        auto& seen = places_.back().seen;
        if (place() != In::Other) {
            if (contains(seen, text))
                return refuse(fmt::format("it has the key \"{}\" twice", escapeForPeople(text, 60)));
            if (seen.size() == kMostKeys) return refuse("one of its objects has too many keys");
            seen.push_back(text);
        }
        key_ = std::move(text);
        return true;
    }
    bool string(std::string& text) override {
        if (isList()) return refuse(kNoRow);
        std::string* into = nullptr;
        SharedText* shared = nullptr;
        switch (place()) {
        case In::Certificate:
            into = has("quantscope")      ? &now().version
                   : has("source")        ? &now().source
                   : has("source_format") ? &now().sourceFormat
                   : has("layout")        ? &now().layout
                   : has("missing")       ? &now().missing
                                          : nullptr;
            break;
        case In::File: into = has("name") ? &file_.name : has("sha256") ? &file_.sha256 : nullptr; break;
        case In::LeftOut: into = has("name") ? &leftOut_.name : has("why") ? &leftOut_.why : nullptr; break;
        case In::Tensor:
            if (has("result")) return setResult(text);
            into = has("name") ? &tensor_.name : has("reason") ? &tensor_.reason : nullptr;
            shared = has("spec")        ? &tensor_.spec
                     : has("spec_full") ? &tensor_.specFull
                     : has("dtype")     ? &tensor_.dtype
                     : has("read_as")   ? &tensor_.readAs
                                        : nullptr;
            break;
        default: break;
        }
        if (into) *into = text;
        if (shared) *shared = text;
        return into || shared ? isSet() : true;
    }
    bool count(std::uint64_t value) override {
        if (isList()) return refuse(kNoRow);
        if (place() == In::Shape) {
            if (value > INT64_MAX || sizes_.size() == kMostAxes) return refuse("it has a shape that is none");
            return sizes_.push_back(std::int64_t(value)), true;
        }
        std::uint64_t* into = nullptr;
        if (place() == In::Certificate && has("tensors_missing")) into = &now().missingTensors;
        if (place() == In::File && has("bytes")) into = &file_.bytes;
        if (place() == In::Tensor && has("bytes_predicted")) into = &tensor_.bytesPredicted;
        if (place() == In::Tensor && has("bytes_written")) into = &tensor_.bytesWritten;
        if (into) *into = value;
        return into ? isSet() : true;
    }
    bool other(const char* kind) override {
        if (isList()) return refuse(kNoRow);
        if (place() == In::Shape) return refuse("it has a shape that is none");
        return place() == In::Tensor && has("read_as") && std::string_view(kind) == "null" ? isSet() : true;
    }

private:
    static constexpr std::size_t kMostKeys = 64, kMostAxes = 64;
    static constexpr const char* kNoRow = "a row of a list is no object";
    struct Place {
        In in;
        std::vector<std::string> seen, set; ///< keys; those with a value of the right kind
    };
    bool isList() const { return place() == In::Files || place() == In::LeftOutFiles || place() == In::Tensors; }
    In place() const { return places_.empty() ? In::Other : places_.back().in; }
    const std::string& key() const { return key_; }
    bool has(std::string_view name) const { return key_ == name; }
    bool isSet() { return places_.back().set.push_back(key_), true; }
    bool enter(In in) {
        if (!places_.empty() && in != In::Other && in != In::File && in != In::LeftOut && in != In::Tensor) isSet();
        places_.push_back({in, {}, {}});
        level_ += in == In::Certificate;
        return true;
    }
    bool leave() { return places_.pop_back(), true; }
    Certificate& now() { return all_[level_ - 1]; }
    bool setResult(const std::string& text) {
        for (const auto result : {Comparison::Equal, Comparison::Copied, Comparison::NotCompared})
            if (text == idOf(result)) tensor_.result = result;
        return isSet();
    }
    bool addTensor() {
        tensor_.elements = 1;
        for (const auto dim : tensor_.shape) tensor_.elements *= std::uint64_t(dim);
        if (rows_ == ProofRows::Counted) return now().proof.count(tensor_), true;
        if (!budget_.take(sizeof tensor_ + ListBudget::of(tensor_.name) + ListBudget::of(tensor_.reason)))
            return refuse(budget_.why("its list of tensors"));
        return now().proof.add(std::move(tensor_)), true;
    }

    ProofRows rows_;
    ListBudget budget_;
    bool isObject_ = false;
    std::vector<Certificate> all_; ///< all_[i + 1] is the previous certificate of all_[i]
    std::size_t level_ = 0;        ///< level of the certificate that is read now, from 1
    std::vector<Place> places_;
    std::string key_;
    CertifiedFile file_;
    LeftOut leftOut_;
    TensorProof tensor_;
    std::vector<std::int64_t> sizes_;
};

} // namespace

Result<Certificate> parseCertificate(std::string_view text, const std::string& path, ProofRows rows,
                                     const std::function<void(std::uint64_t)>& passed) {
    const std::string said = escapeForPeople(path, 160) + " is not a certificate";
    CertificateVisitor visitor(rows, text.size());
    visitor.passed = passed;
    if (const auto read = readStrictJson(text, said, 0, visitor); !read) return fail(read.error().message, path);
    return visitor.isCertificate() ? Result<Certificate>(visitor.take()) : fail(said + ": it is no object.", path);
}

Result<Certificate> readCertificate(const std::string& path, ProofRows rows) {
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if ((*file)->size() > kMostCertificate)
        return fail(fmt::format("{} is longer than {} bytes.", shownPath(path), kMostCertificate), path);
    std::vector<std::byte> scratch;
    const auto bytes = (*file)->read(0, (*file)->size(), scratch);
    std::uint64_t dropped = 0;
    auto certificate = parseCertificate({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, rows,
                                        [&](std::uint64_t at) {
                                            if (at > dropped) (*file)->dropPages(dropped, at - dropped);
                                            dropped = at; // smaller than before when the text is passed once more
                                        });
    if (auto same = (*file)->unchanged(); !same) return tl::unexpected(same.error());
    return certificate;
}

} // namespace qs
