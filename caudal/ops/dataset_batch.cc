// Datasets whose elements are several of the input's, stacked; and the way back.
#include <algorithm>
#include <cstring>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/core/device.h"
#include "caudal/ops/dataset_batch.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

std::int64_t batch_count(std::int64_t elements, std::int64_t batch_size, bool drop_remainder) {
  if (elements < 0) return elements;
  return elements / batch_size + (drop_remainder || elements % batch_size == 0 ? 0 : 1);
}

std::int64_t batch_size_input(const RunContext& c, int i) {
  const std::int64_t size = int_input(c, i, "batch_size");
  if (size <= 0) throw invalid_argument("Batch size must be greater than zero.");
  return size;
}

// The next elements, at most `most`; none at the end.
std::vector<Element> take_elements(const Iteration& c, DatasetIterator& input, std::int64_t most) {
  std::vector<Element> elements;
  ElementCharge charge(c);
  Element element;
  while (std::ssize(elements) < most && input.next(c, element)) {
    charge.add(element);
    elements.push_back(std::move(element));
    element.clear();
    c.check();
  }
  return elements;
}

// Components of all, stacked.
Element stack(const Iteration& c, const std::vector<Element>& elements) {
  Element batch;
  for (std::size_t k = 0; k < elements[0].size(); ++k) {
    const Tensor& first = elements[0][k];
    Tensor stacked(first.dtype(), stacked_shape(std::ssize(elements), first.shape()), c.step->device->allocator());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Tensor& row = elements[i][k];
      if (row.dtype() != first.dtype()) {
        throw invalid_argument("Cannot batch tensors with different types in component ", k,
                               ". First element had type ", first.dtype(), " and element ", i, " had type ",
                               row.dtype(), ".");
      }
      if (row.shape() != first.shape()) {
        throw invalid_argument("Cannot batch tensors with different shapes in component ", k,
                               ". First element had shape ", first.shape(), " and element ", i, " had shape ",
                               row.shape(), ".")
            .hint("Bring them to one shape in a map, or use padded_batch.");
      }
      put_row(row, stacked, static_cast<std::int64_t>(i));
    }
    batch.push_back(std::move(stacked));
  }
  return batch;
}

// ---- BatchDataset

class BatchDataset final : public UnaryDataset {
 public:
  BatchDataset(Spec spec, DatasetPtr input, std::int64_t batch_size, bool drop_remainder)
      : UnaryDataset(std::move(spec), std::move(input)), batch_size_(batch_size), drop_remainder_(drop_remainder) {}
  std::int64_t batch_size() const { return batch_size_; }
  bool drops_remainder() const { return drop_remainder_; }
  std::int64_t cardinality() const override { return batch_count(input().cardinality(), batch_size_, drop_remainder_); }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t batch_size_;
  const bool drop_remainder_;
};

class BatchIterator final : public UnaryIterator<BatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    const auto elements = take_elements(c, input(), dataset().batch_size());
    if (elements.empty() || (dataset().drops_remainder() && std::ssize(elements) < dataset().batch_size()))
      return false;
    out = stack(c, elements);
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Batch");
    transfer_input(c, archive);
  }
};

std::unique_ptr<DatasetIterator> BatchDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<BatchIterator>(*this, c);
}

// BatchDataset, V2 and ParallelBatchDataset, whose last input tells of the remainder.
DatasetPtr make_batch(RunContext& c) {
  const bool drop = c.num_inputs() > 2 && bool_input(c, c.num_inputs() - 1, "drop_remainder");
  return std::make_shared<BatchDataset>(dataset_spec(c.node()), dataset_input(c, 0), batch_size_input(c, 1), drop);
}

// ---- PaddedBatchDataset

class PaddedBatchDataset final : public UnaryDataset {
 public:
  struct Padding {
    PartialShape shape;  // -1: as long as the longest of the batch
    Tensor value;        // scalar
  };
  PaddedBatchDataset(Spec spec, DatasetPtr input, std::int64_t batch_size, std::vector<Padding> paddings,
                     bool drop_remainder)
      : UnaryDataset(std::move(spec), std::move(input)),
        batch_size_(batch_size),
        paddings_(std::move(paddings)),
        drop_remainder_(drop_remainder) {}
  std::int64_t batch_size() const { return batch_size_; }
  const std::vector<Padding>& paddings() const { return paddings_; }
  bool drops_remainder() const { return drop_remainder_; }
  std::int64_t cardinality() const override { return batch_count(input().cardinality(), batch_size_, drop_remainder_); }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t batch_size_;
  const std::vector<Padding> paddings_;
  const bool drop_remainder_;
};

class PaddedBatchIterator final : public UnaryIterator<PaddedBatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    const auto elements = take_elements(c, input(), dataset().batch_size());
    if (elements.empty() || (dataset().drops_remainder() && std::ssize(elements) < dataset().batch_size()))
      return false;
    out.clear();
    for (std::size_t k = 0; k < elements[0].size(); ++k) {
      std::vector<const Tensor*> rows;
      for (const Element& element : elements) rows.push_back(&element[k]);
      const auto& padding = dataset().paddings()[k];
      out.push_back(
          padded_stack(rows, padded_shape(rows, padding.shape, k), padding.value, c.step->device->allocator()));
    }
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("PaddedBatch");
    transfer_input(c, archive);
  }

 private:
  static Shape padded_shape(const std::vector<const Tensor*>& rows, const PartialShape& wanted, std::size_t k) {
    std::vector<std::int64_t> dims = wanted.dims();
    for (const Tensor* row : rows) {
      if (row->rank() != wanted.rank()) {
        throw invalid_argument("All elements in a batch must have the same rank as the padded shape for component ", k,
                               ": expected rank ", wanted.rank(), " but got element with rank ", row->rank());
      }
      for (int d = 0; d < wanted.rank(); ++d) {
        auto& size = dims[static_cast<std::size_t>(d)];
        if (wanted[d] < 0) {
          size = std::max(size, row->dim(d));
        } else if (row->dim(d) > wanted[d]) {
          throw data_loss("Attempted to pad to a smaller size than the input element.")
              .hint(
                  internal::concat("Component ", k, " has shape ", row->shape(), ", padded_shapes says ", wanted, "."));
        }
      }
    }
    return Shape(dims);
  }
};

std::unique_ptr<DatasetIterator> PaddedBatchDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<PaddedBatchIterator>(*this, c);
}

DatasetPtr make_padded_batch(RunContext& c) {
  const DatasetPtr input = dataset_input(c, 0);
  const auto& inputs = c.node().op->def.inputs;
  const ArgRange shapes = arg_range(inputs, c.node().attrs, "padded_shapes");
  const ArgRange values = arg_range(inputs, c.node().attrs, "padding_values");
  if (shapes.size() != std::ssize(input->types())) {
    throw invalid_argument("Number of padded shapes (", shapes.size(),
                           ") must match the number of components in the input dataset's elements (",
                           input->types().size(), ")");
  }
  std::vector<PaddedBatchDataset::Padding> paddings;
  for (int k = 0; k < shapes.size(); ++k) {
    const Tensor& sizes = c.input(shapes.begin + k);
    const Tensor value = c.take_input(values.begin + k);
    if (sizes.rank() != 1) throw invalid_argument("All padded_shapes must be vectors");
    if (value.rank() != 0) throw invalid_argument("All padding values must be scalars");
    if (value.dtype() != input->types()[static_cast<std::size_t>(k)]) {
      throw invalid_argument("Mismatched type between padding value ", k, " and input dataset's component ", k, ": ",
                             value.dtype(), " vs. ", input->types()[static_cast<std::size_t>(k)]);
    }
    std::vector<std::int64_t> dims = sizes.to_int64s();
    for (std::int64_t& size : dims) size = std::max<std::int64_t>(size, -1);
    paddings.push_back({PartialShape(std::move(dims)), value});
  }
  const bool drop = c.node().type() == "PaddedBatchDatasetV2" && bool_input(c, c.num_inputs() - 1, "drop_remainder");
  return std::make_shared<PaddedBatchDataset>(dataset_spec(c.node()), input, batch_size_input(c, 1),
                                              std::move(paddings), drop);
}

// ---- UnbatchDataset: the rows of elements

class UnbatchDataset final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n == kInfiniteCardinality || n == 0) return n;
    const PartialShape& shape = input().shapes()[0];
    const std::int64_t rows = shape.has_rank() && shape.rank() > 0 ? shape[0] : -1;
    return n < 0 || rows < 0 ? kUnknownCardinality : n * rows;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;
};

class UnbatchIterator final : public UnaryIterator<UnbatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    for (; batch_.empty() || row_ >= batch_[0].dim(0); c.check()) {
      batch_.clear();
      row_ = 0;
      if (!input().next(c, batch_)) return false;
      check();
    }
    out.clear();
    for (const Tensor& stack : batch_) out.push_back(take_row(stack, row_));
    ++row_;
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Unbatch");
    archive.number(row_);
    archive.tensors(batch_);
    if (row_ < 0) throw data_loss("the saved position is row ", row_);
    transfer_input(c, archive);
  }

 private:
  void check() {
    std::string problem;
    for (const Tensor& stack : batch_) {
      if (stack.rank() == 0) {
        problem = "Input element must have a non-scalar value in each component.";
      } else if (stack.dim(0) != batch_[0].dim(0)) {
        problem =
            internal::concat("Input element must have the same batch size in each component. Component 0 had size ",
                             batch_[0].dim(0), " but another component had size ", stack.dim(0), ".");
      }
    }
    if (problem.empty()) return;
    batch_.clear();
    throw invalid_argument(problem);
  }

  Element batch_;
  std::int64_t row_ = 0;
};

std::unique_ptr<DatasetIterator> UnbatchDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<UnbatchIterator>(*this, c);
}

DatasetPtr make_unbatch(RunContext& c) {
  return std::make_shared<UnbatchDataset>(dataset_spec(c.node()), dataset_input(c, 0));
}

}  // namespace

DatasetPtr ops::batched(Dataset::Spec spec, DatasetPtr input, std::int64_t batch_size, bool drop_remainder) {
  return std::make_shared<BatchDataset>(std::move(spec), std::move(input), batch_size, drop_remainder);
}

// ---- Registrations

CAUDAL_REGISTER_DATASET("BatchDataset", "input_dataset: variant; batch_size: int64", CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_batch>);
CAUDAL_REGISTER_DATASET("BatchDatasetV2", "input_dataset: variant; batch_size: int64; drop_remainder: bool",
                        "parallel_copy: bool = false; " CAUDAL_DATASET_ATTRS, false, ops::prepare_dataset<make_batch>);
CAUDAL_REGISTER_DATASET("ParallelBatchDataset",
                        "input_dataset: variant; batch_size: int64; num_parallel_calls: int64; drop_remainder: bool",
                        "parallel_copy: bool = false; " CAUDAL_DATASET_TYPES
                        "; deterministic: string = 'default'; metadata: string = ''",
                        false, ops::prepare_dataset<make_batch>);
CAUDAL_REGISTER_DATASET("PaddedBatchDataset",
                        "input_dataset: variant; batch_size: int64; padded_shapes: N * int64; "
                        "padding_values: Toutput_types",
                        "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; "
                        "metadata: string = ''",
                        false, ops::prepare_dataset<make_padded_batch>);
CAUDAL_REGISTER_DATASET("PaddedBatchDatasetV2",
                        "input_dataset: variant; batch_size: int64; padded_shapes: N * int64; "
                        "padding_values: Toutput_types; drop_remainder: bool",
                        "parallel_copy: bool = false; Toutput_types: list(type) >= 1; "
                        "output_shapes: list(shape) >= 1; N: int >= 1; metadata: string = ''",
                        false, ops::prepare_dataset<make_padded_batch>);
CAUDAL_REGISTER_DATASET("UnbatchDataset", "input_dataset: variant", CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_unbatch>);

}  // namespace caudal::inline v0
