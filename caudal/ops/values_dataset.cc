#include "caudal/ops/values_dataset.h"

#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0::ops {
namespace {

class ValuesIterator final : public IteratorOf<ValuesDataset> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration&, Element& out) override {
    if (i_ >= dataset().cardinality()) return false;
    out = {dataset().values()[static_cast<std::size_t>(i_++)]};
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("Values");
    archive.number(i_);
    if (i_ < 0) throw data_loss("the saved position is element ", i_);
  }

 private:
  std::int64_t i_ = 0;
};

}  // namespace

std::unique_ptr<DatasetIterator> ValuesDataset::make_iterator(const Iteration&) const {
  return std::make_unique<ValuesIterator>(*this);
}

std::string ValuesDataset::encode() const {
  StateArchive archive;
  auto type = static_cast<std::int64_t>(types()[0]);
  archive.number(type);
  bool has_rank = shapes()[0].has_rank();
  archive.flag(has_rank);
  std::vector<std::int64_t> dims = has_rank ? shapes()[0].dims() : std::vector<std::int64_t>();
  archive.numbers(dims);
  std::vector<Tensor> values = values_;
  archive.tensors(values);
  return archive.take();
}

DatasetPtr ValuesDataset::decode(std::string_view bytes) {
  StateArchive archive(bytes);
  std::int64_t type = 0;
  bool has_rank = false;
  std::vector<std::int64_t> dims;
  std::vector<Tensor> values;
  archive.number(type);
  archive.flag(has_rank);
  archive.numbers(dims);
  archive.tensors(values);
  archive.check_end();
  const auto dtype = static_cast<DType>(type);
  for (const Tensor& value : values) {
    if (value.dtype() != dtype) throw data_loss("a saved window has an element of another type");
  }
  for (const std::int64_t size : dims) {
    if (size < -1) throw data_loss("a saved window has a size of ", size);
  }
  return std::make_shared<ValuesDataset>(dtype, has_rank ? PartialShape(std::move(dims)) : PartialShape::unknown(),
                                         std::move(values));
}

}  // namespace caudal::inline v0::ops
