// SPDX-License-Identifier: GPL-3.0-or-later
// The codecs of all block formats. A format is a struct with these members:
// - elements, bytes: size of a block; group: elements per scale; first: the level of code 0;
// - offset: whether values have an offset;
// - encode: encodes one block, or encodeMany: encodes several;
// - unpack: the codes of a block; scales: the scales and offsets of a block.

/// Level tables of formats whose levels are not consecutive integers. A zero is +0, as in ggml's integer tables. The
/// levels of E2M1 are doubled, and their scales are halved.
alignas(64) constexpr float kE2m1[16] = {-12, -8, -6, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 6, 8, 12};
enum class Table { None, Iq4, E2m1 };
template<class Format> constexpr Table kTable = Table::None;
template<> constexpr Table kTable<Iq4Nl> = Table::Iq4;
template<> constexpr Table kTable<Iq4Xs> = Table::Iq4;
template<> constexpr Table kTable<Mx4> = Table::E2m1;
template<> constexpr Table kTable<Nv4> = Table::E2m1;

/// The levels of kLanes codes.
template<class Format> QS_INLINE Floats levels(const std::uint8_t* codes) {
    if constexpr (kTable<Format> == Table::None)
        return floatsOf(loadCodes(codes)) + float(Format::first);
    else
        return lookUp<16>(kTable<Format> == Table::Iq4 ? kIq4Levels.data() : kE2m1, loadCodes(codes));
}

/// The registry entry of a format, built from its struct.
template<class Format> struct Codec {
    static constexpr std::size_t elements = Format::elements, bytes = Format::bytes, group = Format::group;

    static void encode(const float* x, std::size_t blocks, std::uint8_t* out) {
        if constexpr (requires { Format::encodeMany(x, blocks, out); })
            Format::encodeMany(x, blocks, out);
        else
            for (std::size_t b = 0; b < blocks; ++b) Format::encode(x + b * elements, out + b * bytes);
    }
    static void decode(const std::uint8_t* in, std::size_t blocks, float* out) {
        std::uint8_t codes[elements];
        float scale[elements / group], offset[elements / group];
        for (std::size_t b = 0; b < blocks; ++b, in += bytes, out += elements) {
            Format::unpack(in, codes);
            Format::scales(in, scale, offset);
            for (std::size_t i = 0; i < elements; i += kLanes) {
                Floats v = levels<Format>(codes + i) * scale[i / group];
                if constexpr (Format::offset) v += offset[i / group];
                store(out + i, v);
            }
        }
    }
    static void codes(const std::uint8_t* in, std::size_t blocks, std::uint8_t* out) {
        for (std::size_t b = 0; b < blocks; ++b) Format::unpack(in + b * bytes, out + b * elements);
    }
    static void scales(const std::uint8_t* in, std::size_t blocks, float* out) {
        float offset[elements / group];
        constexpr bool halved = kTable<Format> == Table::E2m1;
        for (std::size_t b = 0; b < blocks; ++b, out += elements / group) {
            Format::scales(in + b * bytes, out, offset);
            for (std::size_t s = 0; halved && s < elements / group; ++s) out[s] *= 2;
        }
    }
    static constexpr BlockCodec row = {elements, bytes, encode, decode, codes, scales};
};

constexpr std::array<BlockCodec, kBlockFormats> kCodecs = {
    Codec<Symmetric<4>>::row, Codec<Affine<4>>::row, Codec<Symmetric<5>>::row, Codec<Affine<5>>::row,
    Codec<Q8>::row,           Codec<Q2K>::row,       Codec<Q3K>::row,          Codec<Q45K<4>>::row,
    Codec<Q45K<5>>::row,      Codec<Q6K>::row,       Codec<Iq4Nl>::row,        Codec<Iq4Xs>::row,
    Codec<Tq1>::row,          Codec<Tq2>::row,       Codec<Mx4>::row,          Codec<Nv4>::row};
