// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/proof.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/export/compare_tensor.h"
#include "core/export/written_sizes.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/stored.h"
#include "core/model/computed_type.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kKeptPages = std::uint64_t(16) << 20; ///< bytes of the written files that may stay in memory

Result<void> proveOne(const Model& original, const WrittenTensor& record, const Layout& layout, TensorInLayout* source,
                      const Model& written, TensorProof& proof, const Job& job) {
    auto reading = readingOf(written, proof.name);
    if (!reading) return tl::unexpected(reading.error());
    const auto view = original.view(*record.original);
    if (!view) return tl::unexpected(view.error());
    if (!source) {
        const TensorInfo* copy = written.find(proof.name);
        const DType dtype = record.original->dtype;
        // NumPy has neither bfloat16 nor floats of 8 bits.
        const bool widened = copy && computedType(dtype) == DType::BF16 && copy->dtype == DType::F32;
        if (!copy || (copy->dtype != dtype && !widened) || copy->shape != proof.shape)
            return fail(fmt::format("the proof failed: tensor {} is not there as it was; nothing was written",
                                    quotedName(proof.name)));
        const auto there = written.view(*copy);
        if (!there) return tl::unexpected(there.error());
        proof.readAs = copy->typeId(), proof.result = Comparison::Copied;
        const bool decoded = widened || (record.original->packed && !copy->packed);
        if (!decoded && view->info->bytes != there->info->bytes)
            return fail(fmt::format("the proof failed: tensor {} takes {} bytes instead of {}; nothing was written",
                                    quotedName(proof.name), there->info->bytes, view->info->bytes));
        return compareCopies(*view, *there, decoded, written, job, proof.name);
    }
    if (!*reading) {
        proof.reason = "no reader here decodes this layout";
        return {};
    }
    const Reading& there = **reading;
    if (there.shape != proof.shape)
        return fail(fmt::format("the proof failed: tensor {} reads back as {} instead of {}; nothing was written",
                                quotedName(proof.name), shapeText(there.shape), shapeText(proof.shape)));
    proof.readAs = there.type, proof.result = Comparison::Equal;
    return compareValues(*source, layout, there, written, proof.name);
}

} // namespace

void Proof::count(const TensorProof& one) {
    bytesPredicted += one.bytesPredicted, bytesWritten += one.bytesWritten, elements += one.elements;
    equal += one.result == Comparison::Equal, copied += one.result == Comparison::Copied;
    notCompared += one.result == Comparison::NotCompared;
    if (!one.spec.empty()) ++quantized, quantizedElements += one.elements, quantizedBytes += one.bytesWritten;
    if (one.result == Comparison::NotCompared && notCompared == 1) whyNotCompared = one.reason;
}

void Proof::add(TensorProof one) {
    count(one);
    tensors.add(std::move(one));
}

namespace {

/// Proves the tensors of a model one after another.
class Proving {
public:
    Proving(const Model& original, const WrittenModel& what, const std::string& path, const Job& job, ProofRows rows)
        : original_(original), what_(what), path_(path), job_(job), rows_(rows) {}

    Result<Proof> run(std::size_t atOnce) {
        const std::size_t all = what_.tensors.count;
        for (std::size_t i = 0; i < all; ++i) total_ += what_.tensors.at(i).bytes;
        if (all <= atOnce) {
            const auto written = openModel(path_);
            if (!written) return fail("the proof failed: " + written.error().sentence());
            if (auto done = range(**written, 0, all); !done) return tl::unexpected(done.error());
            return std::move(proof_);
        }
        for (std::size_t first = 0; first < all; first += atOnce) {
            const std::size_t last = std::min(first + atOnce, all);
            const auto names = namesOf(first, last);
            if (!names) return tl::unexpected(names.error());
            const ModelPart part{[&](std::string_view name) { return names->has(name); },
                                 [&](std::string_view key) {
                                     return !key.starts_with(kStoredPrefix) ||
                                            names->has(key.substr(kStoredPrefix.size()));
                                 }};
            const auto written = openModel(path_, {.part = &part});
            if (!written) return fail("the proof failed: " + written.error().sentence());
            if (auto done = range(**written, first, last); !done) return tl::unexpected(done.error());
        }
        return std::move(proof_);
    }

private:
    /// The names under which a tensor was written. `source`: its fields, if it was quantized.
    static std::vector<std::string> fieldsOf(const WrittenTensor& record, const TensorInLayout* source) {
        std::vector<std::string> names;
        if (source)
            for (const OutputField& field : source->fields.list) names.push_back(field.name);
        else
            names.push_back(record.original->name);
        return names;
    }
    Result<TensorInLayout*> sourceOf(const WrittenTensor& record) const {
        return record.spec ? what_.fieldsOf(record) : Result<TensorInLayout*>(nullptr);
    }

    Result<NameSet> namesOf(std::size_t first, std::size_t last) const {
        NameSet names;
        for (std::size_t i = first; i < last; ++i) {
            if (job_.cancelled()) return cancelledError();
            const WrittenTensor record = what_.tensors.at(i);
            const auto source = sourceOf(record);
            if (!source) return tl::unexpected(source.error());
            names.add(record.original->name);
            for (const std::string& name : fieldsOf(record, *source)) names.add(name);
        }
        names.sort();
        return names;
    }

    Result<void> range(const Model& written, std::size_t first, std::size_t last) {
        WrittenSizes sizes(written);
        std::uint64_t kept = 0;
        for (std::size_t i = first; i < last; ++i) {
            if (job_.cancelled()) return cancelledError();
            const WrittenTensor record = what_.tensors.at(i);
            job_.progress({double(done_), double(total_), "Proving " + escapeForPeople(record.original->name, 60), i,
                           what_.tensors.count});
            if (auto good = one(written, sizes, record); !good) return good;
            done_ += record.bytes;
            if ((kept += record.bytes) < kKeptPages) continue;
            kept = 0;
            dropPages(written);
        }
        return {};
    }

    Result<void> one(const Model& written, WrittenSizes& sizes, const WrittenTensor& record) {
        const TensorInfo& from = *record.original;
        TensorProof row;
        row.name = from.name, row.dtype = from.typeId(), row.shape = from.shape, row.elements = from.elements;
        row.bytesPredicted = record.bytes;
        if (record.spec) row.spec = specText(*record.spec), row.specFull = canonicalText(*record.spec);
        const auto source = sourceOf(record);
        if (!source) return tl::unexpected(source.error());
        for (const std::string& field : fieldsOf(record, *source)) {
            const auto size = sizes.find(field);
            if (!size) return tl::unexpected(size.error());
            if (!*size)
                return fail(
                    fmt::format("the proof failed: tensor {} is not in what was written; nothing was left behind",
                                quotedName(field)));
            row.bytesWritten += **size;
        }
        if (row.bytesWritten != row.bytesPredicted)
            return fail(
                fmt::format("the proof failed: tensor {} takes {} bytes instead of the {} predicted; nothing was "
                            "left behind",
                            quotedName(row.name), row.bytesWritten, row.bytesPredicted));
        if (auto good = proveOne(original_, record, *what_.layout, *source, written, row, job_); !good) return good;
        if (rows_ == ProofRows::Kept)
            proof_.add(std::move(row));
        else
            proof_.count(row);
        return {};
    }

    const Model& original_;
    const WrittenModel& what_;
    const std::string& path_;
    const Job& job_;
    ProofRows rows_;
    Proof proof_;
    std::uint64_t total_ = 0, done_ = 0; ///< bytes
};

} // namespace

Result<Proof> prove(const Model& original, const WrittenModel& what, const std::string& path, const Job& job,
                    ProofRows rows, std::size_t atOnce) {
    return Proving(original, what, path, job, rows).run(atOnce);
}

} // namespace qs
