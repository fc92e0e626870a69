// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The fields of a quantized tensor: the tensors of an output file that hold it. A layout lists them; one writer here
// makes their bytes, all in one pass over the values or each by itself.

#include "core/layouts/slabs.h"

namespace qs {

struct BlockCodec;

/// Takes bytes of a field, at an offset in it.
using PutBytes = ProducedTogether::Place;

struct OutputField {
    std::string name;
    DType dtype = DType::F32;
    TensorShape shape;
    /// One of these two functions makes the bytes. This one makes them from the values: codes, or facts that were
    /// measured over the whole tensor.
    std::function<Result<void>(MeasuredTensor&, SlabScales&, const PutBytes&)> fromValues = {};
    /// This one makes them only from the scales. It returns a function that takes the scales in order.
    std::function<TakeScales(MeasuredTensor&, const PutBytes&)> fromScales = {};
    bool inOrder = true;                ///< true: bytes are made in the order of the file
    const PackedType* packed = nullptr; ///< set if the field consists of blocks: see TensorToWrite
};

/// Computes values from codes as a reader of the file does, if it rounds between its steps. `group` is codes per scale.
using ReadAs = std::function<void(std::span<const std::uint8_t> codes, std::span<const float> scales,
                                  std::span<const float> zeros, std::size_t group, float* values)>;

struct OutputFields {
    std::vector<OutputField> list = {};
    ReadAs readAs = {};                 ///< null: readers compute the values that analysis decodes
    std::optional<DType> readType = {}; ///< in which readers give the values; none: that of the source
};

/// Writes the fields whose place is not null. One pass over the values makes codes and scales, unless the scales depend
/// on the whole tensor.
Result<void> writeFields(MeasuredTensor& tensor, std::span<const OutputField> fields, std::span<const PutBytes> places);
/// Writes one field, in the order of the file.
Result<void> writeField(MeasuredTensor& tensor, const OutputField& field, const TensorToWrite::Sink& sink);
/// Whether the file writer should make all fields in one pass: for large tensors with fields made of scales.
bool areWrittenTogether(const MeasuredTensor& tensor, const OutputFields& fields);
/// Converts fields for the writers of files. All of them share the tensor.
std::vector<TensorToWrite> tensorsToWrite(const std::shared_ptr<MeasuredTensor>& tensor, OutputFields fields);

/// A sink that puts bytes one after another.
TensorToWrite::Sink oneAfterAnother(const PutBytes& put);
/// Fails where a value is not finite in its type.
Result<void> putFloats(const MeasuredTensor& tensor, const PutBytes& put, DType dtype, std::span<const float> values);

// Fields that several layouts have. `name` is the whole name.

OutputField codeField(std::string name, DType dtype, TensorShape shape, SlabCoder coder);
/// One number for each group, computed by `of`.
OutputField floatsOfScales(std::string name, DType dtype, TensorShape shape, float (*of)(const GroupParams&));
/// The scales in the spec's scale type.
OutputField scaleField(const MeasuredTensor& tensor, std::string name);
/// Zero points in their type: see storedZeroType().
OutputField zeroField(const MeasuredTensor& tensor, std::string name);
/// Biases in the type of the scales.
OutputField biasField(const MeasuredTensor& tensor, std::string name);
/// Some numbers that are known once the tensor is measured.
OutputField measuredField(std::string name, std::int64_t count,
                          std::function<std::vector<float>(const TensorPass&)> of);
/// The factor by which the stored scales were multiplied.
OutputField tensorScaleField(std::string name);
/// The second-level scales of 8-bit scales: the maximum of every kNestedBlock of them.
OutputField nestedScaleField(const MeasuredTensor& tensor, std::string name);
OutputField constantField(std::string name, DType dtype, TensorShape shape, std::vector<std::byte> bytes);
OutputField constantFloats(std::string name, std::vector<float> values);
/// Writes each code as one byte: an integer, or the bits of an 8-bit float.
SlabCoder byteCoder(const QuantSpec& spec);
/// Writes decoded values in a float dtype.
SlabCoder valueCoder(const MeasuredTensor& tensor, DType dtype);
/// Writes blocks, for a format whose blocks contain the scales.
SlabCoder blockCoder(const BlockCodec& codec);

} // namespace qs
