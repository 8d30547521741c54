// A dataset of tensors at hand, one to an element: the content of a window. Unlike other datasets it can be part of a
// saved position. Internal to ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/ops/dataset.h"

namespace caudal::inline v0::ops {

class ValuesDataset final : public Dataset {
 public:
  ValuesDataset(DType dtype, PartialShape shape, std::vector<Tensor> values)
      : Dataset({{dtype}, {std::move(shape)}, "Window"}), values_(std::move(values)) {}
  const std::vector<Tensor>& values() const { return values_; }
  std::int64_t cardinality() const override { return std::ssize(values_); }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

  std::string encode() const;
  // Throws DATA_LOSS for bytes that encode() did not make.
  static DatasetPtr decode(std::string_view bytes);

 private:
  const std::vector<Tensor> values_;
};

}  // namespace caudal::inline v0::ops
