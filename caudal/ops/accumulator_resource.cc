#include "caudal/ops/accumulator_resource.h"

#include <memory>
#include <utility>

#include "caudal/base/log.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0::internal {

AccumulatorResource::AccumulatorResource(Spec spec)
    : WaitingRoom(1, Order::kFirstOnly),
      spec_(std::move(spec)),
      add_(kernels::find_binary(kernels::BinaryOp::kAdd, spec_.dtype)),
      divide_(kernels::find_binary(kernels::BinaryOp::kRealDiv, spec_.dtype)) {}

std::string AccumulatorResource::describe() const { return "accumulator '" + spec_.name + "'"; }

void AccumulatorResource::apply(std::int64_t local_step, const std::function<void()>& add) {
  change([&] {
    if (local_step < global_step_) return;
    add();
    ++count_;
  });
}

void AccumulatorResource::take(CancellationToken* cancellation, std::int64_t required, TakeDone done) {
  if (required <= 0) throw invalid_argument("Argument num_required must be positive, but was ", required);
  const auto result = std::make_shared<std::vector<Tensor>>();
  const auto attempt = [this, required, result] {
    if (count_ < required) return Outcome::kWait;
    ++global_step_;
    *result = give();
    count_ = 0;
    return Outcome::kDone;
  };
  wait(0, {.attempt = attempt,
           .done = [result, done = std::move(done)](const Error* error) { done(error, std::move(*result)); },
           .cancellation = cancellation,
           .cancelled = "TakeGrad operation was cancelled"});
}

std::int64_t AccumulatorResource::num_accumulated() const {
  return look([this] { return count_; });
}

void AccumulatorResource::set_global_step(std::int64_t step) {
  change([&] {
    if (step < global_step_) {
      log_warning("accumulator '", spec_.name, "' goes back from step ", global_step_, " to ", step);
    }
    global_step_ = step;
  });
}

void AccumulatorResource::add(char* to, const char* from, std::int64_t n) const { add_(to, 1, from, 1, to, n); }

void AccumulatorResource::divide(char* to, std::int64_t divisor, std::int64_t n) const {
  const Tensor number = convert_number(Tensor(divisor), spec_.dtype);
  divide_(to, 1, number.raw(), 0, to, n);
}

// ---- Dense

void DenseAccumulator::apply(std::int64_t local_step, const Tensor& gradient) {
  AccumulatorResource::apply(local_step, [&] {
    const PartialShape expected = count() > 0 ? PartialShape(sum_.shape()) : spec().shape;
    if (!expected.compatible(gradient.shape())) {
      throw invalid_argument("Shape mismatch: expected ", expected, ", got ", gradient.shape());
    }
    if (count() == 0) {
      sum_ = gradient.clone();
    } else {
      add(sum_.raw(), gradient.raw(), sum_.num_elements());
    }
  });
}

std::vector<Tensor> DenseAccumulator::give() {
  if (spec().mean) divide(sum_.raw(), count(), sum_.num_elements());
  return {std::exchange(sum_, Tensor())};
}

// ---- Sparse

void SparseAccumulator::check_shape(const Tensor& shape) const {
  const PartialShape& mine = spec().shape;
  if (mine.rank() > shape.num_elements()) {
    throw invalid_argument("Shape mismatch: expected shape rank at least ", mine.rank(), ", got ",
                           shape.num_elements());
  }
  for (int i = 0; i < mine.rank(); ++i) {
    const std::int64_t size = shape.data<std::int64_t>()[i];
    if (mine[i] != -1 && mine[i] != size) {
      throw invalid_argument("Shape mismatch: expected shape dim ", i, " to be ", mine[i], ", got ", size);
    }
  }
}

void SparseAccumulator::check(const Tensor& indices, const Tensor& values) const {
  const PartialShape& mine = spec().shape;
  if (mine.rank() > 0 && mine[0] != -1) {
    for (std::int64_t i = 0; i < indices.num_elements(); ++i) {
      const std::int64_t index = indices.data<std::int64_t>()[i];
      if (index >= mine[0]) {
        throw invalid_argument("Shape mismatch: index of slice ", i, " exceeded limits of shape; index is ", index,
                               " exceeded ", mine[0]);
      }
    }
  }
  const bool first = count() == 0;
  const PartialShape expected = first ? mine : PartialShape(sum_.shape());
  if (first ? expected.rank() > values.rank() : expected.rank() != values.rank()) {
    throw invalid_argument("Shape mismatch: expected values rank ", first ? "at least " : "", expected.rank(), ", got ",
                           values.rank());
  }
  for (int i = 1; i < expected.rank(); ++i) {
    if (expected[i] != -1 && expected[i] != values.dim(i)) {
      throw invalid_argument("Shape mismatch: expected values dim ", i, " to be ", expected[i], ", got ",
                             values.dim(i));
    }
  }
}

void SparseAccumulator::apply(std::int64_t local_step, const Tensor& indices, const Tensor& values,
                              const Tensor* shape) {
  AccumulatorResource::apply(local_step, [&] {
    if (indices.rank() != 1) {
      throw invalid_argument("Input indices should be vector but received shape: ", indices.shape());
    }
    if (values.rank() == 0) throw invalid_argument("Values cannot be 0-dimensional.");
    if (values.dim(0) != indices.dim(0)) {
      throw invalid_argument("Expected ", indices.dim(0), " non-empty input values, got ", values.dim(0));
    }
    if (shape != nullptr) check_shape(*shape);
    check(indices, values);
    merge(indices, values);
  });
}

// Merges two ascending lists of rows.
void SparseAccumulator::merge(const Tensor& indices, const Tensor& values) {
  if (count() == 0) {
    rows_.clear();
    sum_ = Tensor(values.dtype(), values.shape().with_dim(0, 0));
  }
  const std::int64_t columns = values.shape().remove(0).num_elements();
  const auto bytes = columns * static_cast<std::int64_t>(dtype_size(values.dtype()));
  const auto added = indices.flat<std::int64_t>();
  std::vector<Row> rows;
  struct Source {
    std::int64_t mine, new_one;  // positions; -1: none
  };
  std::vector<Source> sources;
  std::size_t i = 0, j = 0;
  while (i < rows_.size() || j < added.size()) {
    const bool mine = j == added.size() || (i < rows_.size() && rows_[i].index <= added[j]);
    const bool new_one = i == rows_.size() || (j < added.size() && added[j] <= rows_[i].index);
    sources.push_back({mine ? static_cast<std::int64_t>(i) : -1, new_one ? static_cast<std::int64_t>(j) : -1});
    rows.push_back({mine ? rows_[i].index : added[j], (mine ? rows_[i].count : 0) + (new_one ? 1 : 0)});
    i += mine ? 1 : 0;
    j += new_one ? 1 : 0;
  }
  Tensor sum(values.dtype(), values.shape().with_dim(0, std::ssize(rows)));
  for (std::size_t r = 0; r < sources.size(); ++r) {
    char* to = sum.raw() + static_cast<std::int64_t>(r) * bytes;
    const auto [mine, new_one] = sources[r];
    copy_elements(values.dtype(), mine >= 0 ? sum_.raw() + mine * bytes : values.raw() + new_one * bytes, to, columns);
    if (mine >= 0 && new_one >= 0) add(to, values.raw() + new_one * bytes, columns);
  }
  rows_ = std::move(rows);
  sum_ = std::move(sum);
}

std::vector<Tensor> SparseAccumulator::give() {
  const std::int64_t columns = sum_.shape().remove(0).num_elements();
  const auto bytes = columns * static_cast<std::int64_t>(dtype_size(sum_.dtype()));
  Tensor indices(int64, Shape{std::ssize(rows_)});
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    indices.data<std::int64_t>()[r] = rows_[r].index;
    if (spec().mean) divide(sum_.raw() + static_cast<std::int64_t>(r) * bytes, rows_[r].count, columns);
  }
  std::vector<std::int64_t> shape = sum_.shape().to_vector();
  shape[0] = spec().shape.rank() > 0 ? spec().shape[0] : -1;
  rows_.clear();
  return {std::move(indices), std::exchange(sum_, Tensor()), Tensor(shape)};
}

}  // namespace caudal::inline v0::internal
