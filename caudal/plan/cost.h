// What a node costs: multiplications and bytes of memory traffic, from its shapes.
//
// Multiplications are those of the definition, whatever algorithm runs: m n k of a matrix product, one for each tap,
// channel and pixel of a convolution. They are counted for products and convolutions only; everything else is bound by
// memory. A multiplication comes with an addition, so FLOP are twice as many. Thread safety: functions of values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "caudal/base/export.h"
#include "caudal/core/node_info.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {

struct NodeCost {
  std::int64_t multiplications = 0;
  std::int64_t bytes = 0;         // inputs read once and outputs written once
  std::int64_t output_bytes = 0;  // what it makes

  NodeCost& operator+=(const NodeCost& other) {
    multiplications += other.multiplications;
    bytes += other.bytes;
    output_bytes += other.output_bytes;
    return *this;
  }
};

// Of one run of a node; shapes that are not known count as nothing.
CAUDAL_API std::int64_t multiplications_of(const NodeInfo& node, std::span<const PartialShape> inputs,
                                           std::span<const PartialShape> outputs);

// By name of the node that stands for a step; the steps of a loop count as if it ran once.
CAUDAL_API std::map<std::string, NodeCost> costs_of(const Program& program);

}  // namespace caudal::inline v0
