// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/proof.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/export/compare_tensor.h"
#include "core/export/written_sizes.h"

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
        const bool widened = copy && dtype == DType::BF16 && copy->dtype == DType::F32; // NumPy has no bfloat16
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
    tensors.push_back(std::move(one));
}

Result<Proof> prove(const Model& original, const WrittenModel& what, const std::string& path, const Job& job,
                    ProofRows rows) {
    const auto written = openModel(path);
    if (!written) return fail("the proof failed: " + written.error().sentence());
    WrittenSizes sizes(**written);
    Proof proof;
    if (rows == ProofRows::Kept) proof.tensors.reserve(what.tensors.size());
    std::uint64_t total = 0, done = 0, index = 0, kept = 0;
    for (const WrittenTensor& record : what.tensors) total += record.bytes;
    for (const WrittenTensor& record : what.tensors) {
        if (job.cancelled()) return cancelledError();
        const TensorInfo& from = *record.original;
        job.progress(
            {double(done), double(total), "Proving " + escapeForPeople(from.name, 60), index++, what.tensors.size()});
        TensorProof one;
        one.name = from.name, one.dtype = from.typeId(), one.shape = from.shape, one.elements = from.elements;
        one.bytesPredicted = record.bytes;
        if (record.spec) one.spec = specText(*record.spec), one.specFull = canonicalText(*record.spec);
        TensorInLayout* source = nullptr;
        std::vector<std::string> fields{from.name};
        if (record.spec) {
            const auto made = what.fieldsOf(record);
            if (!made) return tl::unexpected(made.error());
            source = *made;
            fields.clear();
            for (const OutputField& field : source->fields.list) fields.push_back(field.name);
        }
        for (const std::string& field : fields) {
            const auto size = sizes.find(field);
            if (!size) return tl::unexpected(size.error());
            if (!*size)
                return fail(
                    fmt::format("the proof failed: tensor {} is not in what was written; nothing was left behind",
                                quotedName(field)));
            one.bytesWritten += **size;
        }
        if (one.bytesWritten != one.bytesPredicted)
            return fail(
                fmt::format("the proof failed: tensor {} takes {} bytes instead of the {} predicted; nothing was "
                            "left behind",
                            quotedName(one.name), one.bytesWritten, one.bytesPredicted));
        if (auto good = proveOne(original, record, *what.layout, source, **written, one, job); !good)
            return tl::unexpected(good.error());
        if (rows == ProofRows::Kept)
            proof.add(std::move(one));
        else
            proof.count(one);
        done += record.bytes;
        if ((kept += record.bytes) < kKeptPages) continue;
        kept = 0;
        dropPages(**written);
    }
    return proof;
}

} // namespace qs
