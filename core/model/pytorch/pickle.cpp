// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pickle.h"

#include "core/model/pytorch/pickle_reader.h"

#include <bit>

namespace qs {

Result<Pickle> Pickle::read(std::span<const std::byte> bytes, const PickleLimits& limits, bool* isCutOff) {
    PickleReader reader(bytes, limits);
    auto result = reader.read();
    if (isCutOff) *isCutOff = reader.isCutOff();
    return result;
}

std::uint64_t Pickle::memory() const {
    return nodes_.size() * sizeof(Node) + pool_.size() * sizeof(Ref) + segments_.size() * sizeof(Segment) +
           objects_.size() * sizeof(Stored) + chains_.size() * sizeof(Chain);
}

std::int64_t Pickle::number(Ref value) const {
    const auto& node = nodes_[value];
    return std::bit_cast<std::int64_t>(std::uint64_t(node.b) << 32 | node.a);
}

double Pickle::real(Ref value) const { return std::bit_cast<double>(number(value)); }

std::string_view Pickle::text(Ref value) const {
    const auto& node = nodes_[value];
    if (node.kind != Kind::Text && node.kind != Kind::Bytes) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + node.a, node.b};
}

std::vector<Pickle::Ref> Pickle::collect(Chain chain) const {
    std::vector<Ref> all;
    for (auto s = chain.first; s != 0; s = segments_[s - 1].next)
        for (std::uint32_t i = 0; i < segments_[s - 1].count; ++i) all.push_back(pool_[segments_[s - 1].begin + i]);
    return all;
}

std::vector<Pickle::Ref> Pickle::items(Ref value) const {
    const auto& node = nodes_[value];
    switch (node.kind) {
    case Kind::Tuple: {
        std::vector<Ref> all;
        for (std::uint32_t i = 0; i < node.b; ++i) all.push_back(pool_[node.a + i]);
        return all;
    }
    case Kind::List:
    case Kind::Set: return collect(chains_[node.a]);
    case Kind::Object: return collect(objects_[node.a].items);
    default: return {};
    }
}

std::vector<Pickle::Ref> Pickle::pairs(Ref value) const {
    const auto& node = nodes_[value];
    if (node.kind == Kind::Dict) return collect(chains_[node.a]);
    if (node.kind == Kind::Object) return collect(objects_[node.a].pairs);
    return {};
}

std::size_t Pickle::itemCountAtMost(Ref value, std::size_t most) const {
    const auto& node = nodes_[value];
    if (node.kind == Kind::Tuple) return node.b;
    std::size_t count = 0;
    if (node.kind == Kind::List)
        for (auto s = chains_[node.a].first; s != 0 && count <= most; s = segments_[s - 1].next)
            count += segments_[s - 1].count;
    return count;
}

bool Pickle::hasPairs(Ref value) const {
    const auto& node = nodes_[value];
    if (node.kind == Kind::Dict) return chains_[node.a].first != 0;
    return node.kind == Kind::Object && objects_[node.a].pairs.first != 0;
}

std::string Pickle::className(Ref value) const {
    const auto& node = nodes_[value];
    if (node.kind != Kind::Class) return {};
    return std::string(text(node.a)) + "." + std::string(text(node.b));
}

} // namespace qs
