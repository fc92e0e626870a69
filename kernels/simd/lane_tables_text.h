// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of LaneKernels, indexed by LaneCodes. This code runs on every processor. Include it at the end of a source
// file.

template<template<LaneCodes> class P, bool sets, LaneCodes... codes>
constexpr void fillGemv(GemvKernel (&into)[kLaneCodes]) {
    ((into[int(codes)] = gemvRows<P<codes>, sets>), ...);
}
template<LaneProducts products, LaneCodes... codes> constexpr void fillDecode(DecodeKernel (&into)[kLaneCodes]) {
    ((into[int(codes)] = decodePanel<codes, products>), ...);
}

inline LaneKernels singles(const MicroKernels& micro) {
    using enum LaneCodes;
    LaneKernels k{};
    fillGemv<Singles, false, Table4, Table2, Table1, Int8, E4, E5, Bf16, F16, F32>(k.gemv);
    fillGemv<Singles, true, Table4, Table2, Table1, Int8, E4, E5, Bf16, F16, F32>(k.gemvSets);
    fillGemv<Lookups, false, Table2, Table1>(k.gemvLookups);
    k.lookupTables[int(Table2)] = lookupTables<Table2>, k.lookupTables[int(Table1)] = lookupTables<Table1>;
    fillDecode<LaneProducts::F32, Table4, Table2, Table1, Int8, E4, E5, Bf16, F16, F32>(k.decode);
    k.multiplied[int(F32)] = true;
    k.micro = k.microInt8 = micro.f32;
    k.microRows = micro.rows, k.microWidth = micro.width;
    k.finish = finishLanes;
    k.fold = foldSingles;
    return k;
}
#ifdef QS_PAIRS
inline LaneKernels pairs(const MicroKernels& micro) {
    using enum LaneCodes;
    LaneKernels k{};
    fillGemv<Pairs, false, Table4, Table2, Table1, Bf16>(k.gemv);
    fillGemv<Pairs, true, Table4, Table2, Table1, Bf16>(k.gemvSets);
    fillDecode<LaneProducts::Bf16, Table4, Table2, Table1, Int8, E4, E5, Bf16, F16>(k.decode);
    k.multiplied[int(Bf16)] = true;
    k.micro = k.microInt8 = micro.bf16;
    k.microRows = micro.rows, k.microWidth = micro.width;
    k.finish = finishLanes;
    k.fold = foldPairs;
    return k;
}
#endif
#ifdef QS_FIXED
inline LaneKernels fixedPoint() {
    using enum LaneCodes;
    LaneKernels k{};
    k.gemv[int(Table4)] = gemvFixedRows<Table4, false>, k.gemvSets[int(Table4)] = gemvFixedRows<Table4, true>;
    k.gemv[int(Table2)] = gemvFixedRows<Table2, false>, k.gemvSets[int(Table2)] = gemvFixedRows<Table2, true>;
    k.foldFixed[int(Table4)] = foldFixed<Table4>, k.foldFixed[int(Table2)] = foldFixed<Table2>;
    k.finish = finishLanes;
    return k;
}
#endif
inline LaneKernels quads(const MicroKernels& micro) {
    using enum LaneCodes;
    LaneKernels k{};
    fillGemv<Quads, false, Table4, Table2, Table1, Int8>(k.gemv);
    fillDecode<LaneProducts::I8, Table4, Table2, Table1, Int8>(k.decode);
    k.multiplied[int(Int8)] = true;
    k.micro = micro.i8, k.microInt8 = micro.i8OfInt8;
    k.microRows = micro.rows, k.microWidth = micro.width;
    k.finish = finishLanes;
    k.int8Bias = kInt8Bias, k.sumBytes = sumBytes;
    return k;
}
