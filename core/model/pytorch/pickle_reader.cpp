// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pickle_reader.h"

#include "core/base/strict_json.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

constexpr std::size_t kMostLine = 1024; // longest name of a module or class
constexpr std::size_t kMostPickleBytes = std::numeric_limits<std::uint32_t>::max();

// Opcodes between two checks of the memory limit.
constexpr std::uint64_t kBetweenSums = 256;
constexpr Pickle::Ref kAbsent = std::numeric_limits<Pickle::Ref>::max();

} // namespace

PickleReader::PickleReader(std::span<const std::byte> bytes, const PickleLimits& limits) : limits_(limits) {
    out_.bytes_ = bytes;
    out_.nodes_.push_back({}); // Pickle::kNone
    make(Kind::Tuple, 0, 0, emptyTuple_);
    makeNumber(Kind::Bool, 0, false_);
    makeNumber(Kind::Bool, 1, true_);
}

Result<Pickle> PickleReader::read() {
    if (out_.bytes_.size() > kMostPickleBytes) return fail("its pickle is over the limit of 4 GiB");
    for (std::uint64_t n = 0; !isDone_; ++n) {
        const std::size_t begin = at_;
        bool ok = n < limits_.opcodes || wrong(fmt::format("its pickle has more than {} opcodes", limits_.opcodes));
        if (ok && n % kBetweenSums == 0 && out_.memory() + 4 * memo_.size() > limits_.memory)
            ok = wrong("its pickle has more values than a checkpoint of its size needs");
        if (ok) ok = at_ < out_.bytes_.size() ? step(std::uint8_t(out_.bytes_[at_++])) : cutOff();
        if (!ok) return fail(std::move(why_), {}, static_cast<long long>(begin));
    }
    out_.length_ = at_;
    return std::move(out_);
}

bool PickleReader::wrong(std::string what) {
    why_ = std::move(what);
    return false;
}

bool PickleReader::cutOff() {
    isCutOff_ = true;
    return wrong("its pickle ends too early");
}

bool PickleReader::take(std::size_t n, std::size_t& begin) {
    if (n > out_.bytes_.size() - at_) return cutOff();
    begin = at_;
    at_ += n;
    return true;
}

bool PickleReader::takeNumber(std::size_t bytes, std::uint64_t& value) {
    std::size_t begin = 0;
    if (!take(bytes, begin)) return false;
    value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::uint64_t(out_.bytes_[begin + i]);
    return true;
}

bool PickleReader::takeLine(Ref& text) {
    const auto left = out_.bytes_.subspan(at_);
    const auto most = left.first(std::min(left.size(), kMostLine));
    const auto end = std::find(most.begin(), most.end(), std::byte('\n'));
    if (end == most.end())
        return left.size() > kMostLine ? wrong(fmt::format("its pickle has a name of more than {} bytes", kMostLine))
                                       : cutOff();
    const auto length = std::size_t(end - most.begin());
    const std::string_view line(reinterpret_cast<const char*>(left.data()), length);
    if (invalidUtf8(line) != line.npos) return wrong("its pickle has a name that is not UTF-8");
    if (!make(Kind::Text, std::uint32_t(at_), std::uint32_t(length), text)) return false;
    at_ += length + 1;
    return true;
}

bool PickleReader::make(Kind kind, std::uint32_t a, std::uint32_t b, Ref& value) {
    if (out_.nodes_.size() >= limits_.values)
        return wrong(fmt::format("its pickle has more than {} values", limits_.values));
    value = Ref(out_.nodes_.size());
    out_.nodes_.push_back({kind, a, b});
    return true;
}

bool PickleReader::makeNumber(Kind kind, std::uint64_t bits, Ref& value) {
    return make(kind, std::uint32_t(bits), std::uint32_t(bits >> 32), value);
}

bool PickleReader::push(Ref value) {
    if (stack_.size() >= limits_.stack)
        return wrong(fmt::format("its pickle has more than {} values at a time", limits_.stack));
    stack_.push_back(value);
    return true;
}

bool PickleReader::pushNew(Kind kind, std::uint32_t a, std::uint32_t b) {
    Ref value = 0;
    return make(kind, a, b, value) && push(value);
}

bool PickleReader::pushContainer(Kind kind) {
    out_.chains_.push_back({});
    return pushNew(kind, std::uint32_t(out_.chains_.size() - 1));
}

bool PickleReader::pop(Ref& value) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) return wrong("its pickle takes a value from an empty stack");
    value = stack_.back();
    stack_.pop_back();
    return true;
}

bool PickleReader::popMark(std::size_t& begin) {
    if (marks_.empty()) return wrong("its pickle takes values up to a mark that is not there");
    begin = marks_.back();
    marks_.pop_back();
    return true;
}

bool PickleReader::pushText(std::size_t lengthBytes, Kind kind) {
    std::uint64_t length = 0;
    std::size_t begin = 0;
    if (!takeNumber(lengthBytes, length)) return false;
    if (length > kMostPickleBytes) return wrong(fmt::format("its pickle has a text of {} bytes", length));
    if (!take(std::size_t(length), begin)) return false;
    const std::string_view text(reinterpret_cast<const char*>(out_.bytes_.data()) + begin, std::size_t(length));
    if (kind == Kind::Text && invalidUtf8(text) != text.npos) return wrong("its pickle has a text that is not UTF-8");
    return pushNew(kind, std::uint32_t(begin), std::uint32_t(length));
}

bool PickleReader::pushNumber(std::size_t bytes, bool isSigned) {
    std::uint64_t value = 0;
    Ref made = 0;
    if (!takeNumber(bytes, value)) return false;
    if (isSigned) value = std::uint64_t(std::int64_t(std::int32_t(std::uint32_t(value))));
    return makeNumber(Kind::Int, value, made) && push(made);
}

/// Reads LONG1: a length byte, then as many bytes in two's complement, little-endian.
bool PickleReader::pushLong() {
    std::uint64_t length = 0, value = 0;
    std::size_t begin = 0;
    if (!takeNumber(1, length) || !take(std::size_t(length), begin)) return false;
    if (length > 8) return pushNew(Kind::BigInt, std::uint32_t(begin), std::uint32_t(length));
    for (std::size_t i = std::size_t(length); i-- > 0;) value = value << 8 | std::uint64_t(out_.bytes_[begin + i]);
    if (length > 0 && length < 8 && (value >> (8 * length - 1) & 1)) value |= ~std::uint64_t(0) << (8 * length);
    Ref made = 0;
    return makeNumber(Kind::Int, value, made) && push(made);
}

bool PickleReader::pushFloat() {
    std::size_t begin = 0;
    std::uint64_t bits = 0;
    Ref made = 0;
    if (!take(8, begin)) return false;
    // The only big-endian number in pickles.
    for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | std::uint64_t(out_.bytes_[begin + i]);
    return makeNumber(Kind::Float, bits, made) && push(made);
}

bool PickleReader::pushClass() {
    Ref module = 0, name = 0;
    return takeLine(module) && takeLine(name) && pushNew(Kind::Class, module, name);
}

bool PickleReader::pushClassOfStack() {
    Ref module = 0, name = 0;
    if (!pop(name) || !pop(module)) return false;
    if (out_.kind(module) != Kind::Text || out_.kind(name) != Kind::Text)
        return wrong("its pickle names a class with something that is not a text");
    if (out_.text(module).size() > kMostLine || out_.text(name).size() > kMostLine)
        return wrong(fmt::format("its pickle has a name of more than {} bytes", kMostLine));
    return pushNew(Kind::Class, module, name);
}

bool PickleReader::pushTuple(std::size_t begin) {
    if (begin == stack_.size()) return push(emptyTuple_);
    const auto first = std::uint32_t(out_.pool_.size()), count = std::uint32_t(stack_.size() - begin);
    out_.pool_.insert(out_.pool_.end(), stack_.begin() + std::ptrdiff_t(begin), stack_.end());
    stack_.resize(begin);
    return pushNew(Kind::Tuple, first, count);
}

bool PickleReader::pushObject(Ref callable, Ref args) {
    if (out_.kind(args) != Kind::Tuple) return wrong("its pickle makes an object from something that is not a tuple");
    const auto kind = out_.kind(callable);
    if (kind != Kind::Class && kind != Kind::Persistent && kind != Kind::Object)
        return wrong("its pickle makes an object from something that is not a class");
    out_.objects_.push_back({{callable, args, Pickle::kNone}, {}, {}});
    return pushNew(Kind::Object, std::uint32_t(out_.objects_.size() - 1));
}

/// Removes stack_[begin, end).
void PickleReader::link(Pickle::Chain& chain, std::size_t begin) {
    const auto count = std::uint32_t(stack_.size() - begin), first = std::uint32_t(out_.pool_.size());
    if (count == 0) return;
    out_.pool_.insert(out_.pool_.end(), stack_.begin() + std::ptrdiff_t(begin), stack_.end());
    stack_.resize(begin);
    auto* last = chain.last ? &out_.segments_[chain.last - 1] : nullptr;
    if (last && last->begin + last->count == first) { // they follow the last segment directly: extend it
        last->count += count;
        return;
    }
    out_.segments_.push_back({first, count, 0});
    const auto number = std::uint32_t(out_.segments_.size());
    if (last)
        out_.segments_[chain.last - 1].next = number;
    else
        chain.first = number;
    chain.last = number;
}

bool PickleReader::append(std::size_t begin, Kind kind) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (begin <= floor || begin > stack_.size()) return wrong("its pickle appends to nothing");
    const auto& node = out_.nodes_[stack_[begin - 1]];
    if (node.kind == kind)
        link(out_.chains_[node.a], begin);
    else if (node.kind == Kind::Object)
        link(out_.objects_[node.a].items, begin);
    else
        return wrong("its pickle appends to something that is not a list or set");
    return true;
}

bool PickleReader::setItems(std::size_t begin) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (begin <= floor || begin > stack_.size() || (stack_.size() - begin) % 2 != 0)
        return wrong("its pickle sets keys without values, or of nothing");
    const auto& node = out_.nodes_[stack_[begin - 1]];
    if (node.kind == Kind::Dict)
        link(out_.chains_[node.a], begin);
    else if (node.kind == Kind::Object)
        link(out_.objects_[node.a].pairs, begin);
    else
        return wrong("its pickle sets keys of something that is not a dictionary");
    return true;
}

bool PickleReader::put(std::uint64_t at) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) return wrong("its pickle remembers a value where there is none");
    const Ref value = stack_.back();
    if (at < memo_.size())
        memo_[std::size_t(at)] = value;
    else if (at <= memo_.size() + 1) { // Python 2 starts with number 1
        memo_.resize(std::size_t(at), kAbsent);
        memo_.push_back(value);
    } else {
        far_[std::uint32_t(at)] = value;
        if (far_.size() > limits_.farMemo)
            return wrong(fmt::format("its pickle remembers more than {} values out of turn", limits_.farMemo));
    }
    return true;
}

bool PickleReader::get(std::uint64_t at) {
    if (at < memo_.size() && memo_[std::size_t(at)] != kAbsent) return push(memo_[std::size_t(at)]);
    const auto found = far_.find(std::uint32_t(at));
    return found != far_.end() ? push(found->second)
                               : wrong(fmt::format("its pickle asks for value {}, which it never gave", at));
}

bool PickleReader::step(std::uint8_t opcode) {
    std::uint64_t n = 0;
    std::size_t begin = 0;
    Ref x = 0, y = 0;
    switch (opcode) {
    case 0x80: // PROTO
        return takeNumber(1, n) && (n <= 5 || wrong(fmt::format("its pickle has protocol {}: there are 0 to 5", n)));
    case '.': // STOP
        if (!pop(out_.root_)) return false;
        isDone_ = true;
        return (stack_.empty() && marks_.empty()) || wrong("its pickle ends with values that belong to nothing");
    case 'c': return pushClass(); // GLOBAL
    case '(':                     // MARK
        if (marks_.size() >= limits_.stack)
            return wrong(fmt::format("its pickle has more than {} marks", limits_.stack));
        marks_.push_back(stack_.size());
        return true;
    case 't': return popMark(begin) && pushTuple(begin); // TUPLE
    case ')': return push(emptyTuple_);
    case 0x85: // TUPLE1 to TUPLE3
    case 0x86:
    case 0x87: {
        const std::size_t count = opcode - 0x84u, floor = marks_.empty() ? 0 : marks_.back();
        if (stack_.size() < floor + count) return wrong("its pickle takes a value from an empty stack");
        return pushTuple(stack_.size() - count);
    }
    case ']': return pushContainer(Kind::List);
    case '}': return pushContainer(Kind::Dict);
    case 0x8f: return pushContainer(Kind::Set);
    case 'a': return append(stack_.empty() ? 0 : stack_.size() - 1, Kind::List); // APPEND
    case 'e': return popMark(begin) && append(begin, Kind::List);                // APPENDS
    case 's': return setItems(stack_.size() < 2 ? 0 : stack_.size() - 2);        // SETITEM
    case 'u': return popMark(begin) && setItems(begin);                          // SETITEMS
    case 'R':                                                                    // REDUCE
    case 0x81:                                                                   // NEWOBJ
        return pop(y) && pop(x) && pushObject(x, y);
    case 'b': { // BUILD
        const std::size_t floor = marks_.empty() ? 0 : marks_.back();
        if (!pop(y) || stack_.size() <= floor)
            return why_.empty() ? wrong("its pickle gives a state to nothing") : false;
        const auto& node = out_.nodes_[stack_.back()];
        if (node.kind != Kind::Object) return wrong("its pickle gives a state to something that is not an object");
        out_.objects_[node.a].object.state = y;
        return true;
    }
    case 'Q': return pop(x) && pushNew(Kind::Persistent, x); // BINPERSID
    case 'N': return push(Pickle::kNone);
    case 0x88: return push(true_);
    case 0x89: return push(false_);
    case 'J': return pushNumber(4, true);      // BININT
    case 'K': return pushNumber(1, false);     // BININT1
    case 'M': return pushNumber(2, false);     // BININT2
    case 0x8a: return pushLong();              // LONG1
    case 'G': return pushFloat();              // BINFLOAT
    case 'X': return pushText(4, Kind::Text);  // BINUNICODE
    case 'U': return pushText(1, Kind::Bytes); // SHORT_BINSTRING: bytes, or a text of Python 2
    case 'h': return takeNumber(1, n) && get(n);
    case 'j': return takeNumber(4, n) && get(n);
    case 'q': return takeNumber(1, n) && put(n);
    case 'r': return takeNumber(4, n) && put(n);
    default: return stepLater(opcode);
    }
}

/// Opcodes of protocols 4 and 5.
bool PickleReader::stepLater(std::uint8_t opcode) {
    std::uint64_t n = 0;
    std::size_t begin = 0;
    Ref x = 0, y = 0, z = 0;
    switch (opcode) {
    case 0x95: // FRAME
        if (!takeNumber(8, n)) return false;
        return n <= out_.bytes_.size() - at_ || cutOff();
    case 0x94: return put(memo_.size()); // MEMOIZE
    case 0x8c: return pushText(1, Kind::Text);
    case 0x8d: return pushText(8, Kind::Text);
    case 0x93: return pushClassOfStack(); // STACK_GLOBAL
    case 'C': return pushText(1, Kind::Bytes);
    case 'B': return pushText(4, Kind::Bytes);
    case 0x8e: // BINBYTES8
    case 0x96: // BYTEARRAY8
        return pushText(8, Kind::Bytes);
    case 0x90: return popMark(begin) && append(begin, Kind::Set); // ADDITEMS
    case 0x91:                                                    // FROZENSET
        if (!popMark(begin)) return false;
        out_.chains_.push_back({});
        link(out_.chains_.back(), begin);
        return pushNew(Kind::Set, std::uint32_t(out_.chains_.size() - 1));
    case 0x92: // NEWOBJ_EX
        return pop(z) && pop(y) && pop(x) && pushObject(x, y);
    default: return wrong(fmt::format("its pickle has the opcode 0x{:02x}, which no checkpoint needs", opcode));
    }
}

} // namespace qs
