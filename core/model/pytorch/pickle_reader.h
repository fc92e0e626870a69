// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The stack machine that executes pickle opcodes. It only creates values.

#include "core/model/pytorch/pickle.h"

#include <deque>
#include <map>

namespace qs {

class PickleReader {
public:
    PickleReader(std::span<const std::byte> bytes, const PickleLimits& limits);
    /// Reads up to STOP. See Pickle::read.
    Result<Pickle> read();
    bool isCutOff() const { return isCutOff_; }

private:
    using Ref = Pickle::Ref;
    using Kind = Pickle::Kind;
    bool step(std::uint8_t opcode);
    bool stepLater(std::uint8_t opcode);
    bool wrong(std::string what);
    bool cutOff();

    /// The take...() functions read from the pickle; the push...() functions read a value and push it.
    bool take(std::size_t n, std::size_t& begin);
    bool takeNumber(std::size_t bytes, std::uint64_t& value); ///< little-endian
    bool takeLine(Ref& text);
    bool pushText(std::size_t lengthBytes, Kind kind);
    bool pushNumber(std::size_t bytes, bool isSigned);
    bool pushLong();
    bool pushFloat();
    bool pushClass();
    bool pushClassOfStack();

    bool make(Kind kind, std::uint32_t a, std::uint32_t b, Ref& value);
    bool makeNumber(Kind kind, std::uint64_t bits, Ref& value);
    bool push(Ref value);
    bool pushNew(Kind kind, std::uint32_t a = 0, std::uint32_t b = 0);
    bool pushContainer(Kind kind);
    bool pop(Ref& value);
    bool popMark(std::size_t& begin); ///< the values since the mark are stack_[begin, end)
    bool pushTuple(std::size_t begin);
    bool pushObject(Ref callable, Ref args);
    bool append(std::size_t begin, Kind kind); ///< appends stack_[begin, end) to the container below them
    bool setItems(std::size_t begin);
    /// Moves stack_[begin, end) to the end of a chain.
    void link(Pickle::Chain& chain, std::size_t begin);
    /// Stores the top of the stack in the memo, and pushes a value from the memo.
    bool put(std::uint64_t at);
    bool get(std::uint64_t at);

    const PickleLimits& limits_;
    Pickle out_;
    std::size_t at_ = 0;
    std::deque<Ref> stack_; // deques, because they need no second copy to grow
    std::deque<std::size_t> marks_;
    std::deque<Ref> memo_;             ///< memo entries with consecutive numbers, as writers produce them
    std::map<std::uint32_t, Ref> far_; ///< memo entries with other numbers
    Ref emptyTuple_ = 0, false_ = 0, true_ = 0;
    bool isDone_ = false, isCutOff_ = false;
    std::string why_;
};

} // namespace qs
