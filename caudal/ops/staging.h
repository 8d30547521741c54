// What staging areas of both kinds share: how full they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/core/node_info.h"
#include "caudal/ops/operand_list.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::internal {

// The limits of an area and what is in it. Not locked: part of an area that locks.
class StagingRoom {
 public:
  explicit StagingRoom(const NodeInfo& node)
      : capacity_(node.attr<std::int64_t>("capacity")), memory_limit_(node.attr<std::int64_t>("memory_limit")) {}

  // Throws RESOURCE_EXHAUSTED for a tuple that never fits.
  void check(std::int64_t bytes) const {
    if (memory_limit_ > 0 && bytes > memory_limit_) {
      throw resource_exhausted("Attempted to insert tensors with combined size of '", bytes,
                               "' bytes into Staging Area with a memory limit of '", memory_limit_, "'.");
    }
  }
  bool has_memory(std::int64_t bytes) const { return memory_limit_ == 0 || bytes_ + bytes <= memory_limit_; }
  bool has_place(std::int64_t tuples) const { return capacity_ == 0 || tuples < capacity_; }
  void add(std::int64_t bytes) { bytes_ += bytes; }
  void remove(std::int64_t bytes) { bytes_ -= bytes; }
  void clear() { bytes_ = 0; }

 private:
  std::int64_t capacity_, memory_limit_;  // 0: none
  std::int64_t bytes_ = 0;
};

inline std::int64_t bytes_of(const std::vector<Tensor>& tuple) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tuple) bytes += static_cast<std::int64_t>(tensor.byte_size());
  return bytes;
}

// Container and name of an area: the shared name or the node's own.
inline std::string area_name(const NodeInfo& node) {
  const auto& shared = node.attr<std::string>("shared_name");
  return shared.empty() ? node.name : shared;
}

// The values as outputs, checked against an area's types and shapes. `indices`: which components they are.
std::vector<Output> staged_values(const std::string& area, const OperandList& values, const std::vector<int>& indices,
                                  const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes);

}  // namespace caudal::inline v0::internal
