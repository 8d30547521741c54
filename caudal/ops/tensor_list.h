// The value of a DT_VARIANT that holds a list of tensors ("tensorflow::TensorList"): what while loops keep the values
// of their turns in, and what TensorFlow's newer TensorArray is.
//
// Ownership: in a Variant, shared and then immutable; the list ops write into one that nobody else holds. Elements are
// shared with whoever else has them. Thread safety: as a value.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"
#include "caudal/tensor/variant.h"

namespace caudal::inline v0 {

class CAUDAL_API TensorList final : public VariantValue, public std::enable_shared_from_this<TensorList> {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::TensorList";

  std::string_view type_name() const override { return kTypeName; }
  // True if a single Variant holds this list.
  bool is_unique() const {
    if (weak_from_this().use_count() != 1) return false;
    std::atomic_thread_fence(std::memory_order_acquire);  // whoever held it before has finished reading
    return true;
  }

  DType dtype = DType::kInvalid;
  PartialShape element_shape;          // what is known of the shape of all elements
  std::int32_t max_num_elements = -1;  // of pushes; -1 for no limit
  std::vector<Tensor> tensors;         // an invalid one was never set: zeros, once its shape is known
};

// a + b of one type and shape, of numbers or variants; of an invalid one and another the other. Throws
// INVALID_ARGUMENT.
Tensor sum_of_tensors(const Tensor& a, const Tensor& b);

// A shape that comes as a tensor: -1 for one of unknown rank, else a vector with -1 for sizes that are not known.
// Throws INVALID_ARGUMENT.
PartialShape partial_shape_from(const Tensor& sizes);

}  // namespace caudal::inline v0
