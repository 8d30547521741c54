#include "caudal/io/input_producer.h"

#include <utility>

#include "caudal/graph/scope.h"
#include "caudal/io/queue_runner.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/summary_ops.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::train {
namespace {

// The shape of one row.
PartialShape without_rows(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::unknown();
  return PartialShape({shape.dims().begin() + 1, shape.dims().end()});
}

// A summary of how full a queue is, of `capacity` places beyond `base`.
void summarize_fill(const QueueBase& queue, std::int64_t base, std::int64_t capacity, const std::string& name) {
  Output size = queue.size();
  if (base > 0) size = maximum(0, subtract(size, static_cast<int>(base), {.name = "sub"}));
  const auto share = static_cast<float>(1.0 / static_cast<double>(capacity));
  summary::scalar(name, multiply(cast(size, float32), share, {.name = "mul"}));
}

FIFOQueue produce(const Output& rows, const PartialShape& row, const std::string& queue_name,
                  const InputProducerOptions& options) {
  if (!row.is_fully_known()) {
    throw invalid_argument("the rows of ", rows.describe(), " must have a known shape");
  }
  Output input = rows;
  if (options.shuffle) input = random_shuffle(input, {.seed = options.seed});
  if (options.num_epochs) input = limit_epochs(input, *options.num_epochs);
  FIFOQueue queue(options.capacity, {input.dtype()},
                  {.shapes = {row}, .shared_name = options.shared_name, .name = queue_name});
  const Operation enqueue = queue.enqueue_many({input});
  add_queue_runner(QueueRunner(queue, {enqueue}, {.cancel_op = options.cancel_op}));
  return queue;
}

std::string full_name(std::int64_t capacity) { return "fraction_of_" + std::to_string(capacity) + "_full"; }

// What batch() and its relatives need to know of their sources.
struct Sources {
  std::vector<std::vector<Output>> tensors;  // one list per thread, or one for all
  bool enqueue_many;
  std::vector<PartialShape> shapes;

  std::vector<DType> dtypes() const {
    std::vector<DType> types;
    for (const Output& tensor : tensors[0]) types.push_back(tensor.dtype());
    return types;
  }
};

void check_sources(const Sources& sources) {
  if (sources.tensors.empty() || sources.tensors[0].empty()) {
    throw invalid_argument("Expected at least one tensor in batch().");
  }
  const auto types = sources.dtypes();
  for (const auto& list : sources.tensors) {
    if (list.size() != types.size()) {
      throw invalid_argument("Expected every source to have ", types.size(), " tensors, not ", list.size());
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].dtype() != types[i]) {
        throw invalid_argument("Expected types to be consistent: ", types[i], " vs. ", list[i].dtype());
      }
    }
  }
}

// The shape of one example's component: what the sources have in common.
PartialShape example_shape(const Sources& sources, std::size_t component) {
  PartialShape common;
  for (const auto& list : sources.tensors) {
    const Output& tensor = list[component];
    if (!tensor.shape().has_rank()) {
      throw invalid_argument("Cannot infer Tensor's rank: ", tensor.describe()).hint("Give the option `shapes`.");
    }
    const PartialShape shape = sources.enqueue_many ? without_rows(tensor.shape()) : tensor.shape();
    const auto merged = common.merge(shape);
    if (!merged) throw invalid_argument("examples have the shapes ", common, " and ", shape);
    common = *merged;
  }
  return common;
}

std::vector<PartialShape> example_shapes(const Sources& sources) {
  if (!sources.shapes.empty()) return sources.shapes;
  std::vector<PartialShape> shapes;
  for (std::size_t i = 0; i < sources.tensors[0].size(); ++i) shapes.push_back(example_shape(sources, i));
  return shapes;
}

// Enqueue ops for the sources, the first one `threads` times if it is alone, and their runner.
void run_sources(const QueueBase& queue, const Sources& sources, int threads) {
  std::vector<Operation> ops;
  for (const auto& list : sources.tensors) {
    ops.push_back(sources.enqueue_many ? queue.enqueue_many(list) : queue.enqueue(list));
  }
  if (ops.size() == 1) ops.resize(threads, ops[0]);
  add_queue_runner(QueueRunner(queue, std::move(ops)));
}

std::vector<Output> take_batch(const QueueBase& queue, std::int64_t batch_size, bool smaller, const std::string& name) {
  const int size = static_cast<int>(batch_size);
  return smaller ? queue.dequeue_up_to(size, {.name = name}) : queue.dequeue_many(size, {.name = name});
}

std::vector<Output> make_batch(const Sources& sources, std::int64_t batch_size, int threads,
                               const BatchOptions& options, const std::string& scope) {
  check_sources(sources);
  constant(true);  // TensorFlow's keep_input
  const auto shapes = example_shapes(sources);
  QueueBase queue;
  if (options.dynamic_pad) {
    queue = PaddingFIFOQueue(options.capacity, sources.dtypes(), shapes, {.shared_name = options.shared_name});
  } else {
    queue = FIFOQueue(options.capacity, sources.dtypes(), {.shapes = shapes, .shared_name = options.shared_name});
  }
  run_sources(queue, sources, threads);
  summarize_fill(queue, 0, options.capacity, full_name(options.capacity));
  return take_batch(queue, batch_size, options.allow_smaller_final_batch, scope);
}

std::vector<Output> make_shuffle_batch(const Sources& sources, std::int64_t batch_size, std::int64_t capacity,
                                       std::int64_t min_after_dequeue, int threads, const ShuffleBatchOptions& options,
                                       const std::string& scope) {
  if (capacity <= min_after_dequeue) {
    throw invalid_argument("capacity ", capacity, " must be bigger than min_after_dequeue ", min_after_dequeue, ".");
  }
  check_sources(sources);
  constant(true);  // TensorFlow's keep_input
  const RandomShuffleQueue queue(
      capacity, min_after_dequeue, sources.dtypes(),
      {.shapes = example_shapes(sources), .seed = options.seed, .shared_name = options.shared_name});
  run_sources(queue, sources, threads);
  summarize_fill(queue, min_after_dequeue, capacity - min_after_dequeue,
                 "fraction_over_" + std::to_string(min_after_dequeue) + "_of_" +
                     std::to_string(capacity - min_after_dequeue) + "_full");
  return take_batch(queue, batch_size, options.allow_smaller_final_batch, scope);
}

std::string or_default(const std::string& name, const char* fallback) { return name.empty() ? fallback : name; }

}  // namespace

Output limit_epochs(const Operand& tensor, std::int64_t num_epochs, const OpOptions& options) {
  if (num_epochs <= 0) throw invalid_argument("num_epochs must be > 0 not ", num_epochs, ".");
  const LocationScope where(options.where);
  const Output input = tensor.to_output();
  const NameScope scope(or_default(options.name, "limit_epochs"));
  const Variable epochs(
      Tensor(std::int64_t{0}),
      {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}, .name = "epochs"});
  const ControlDependencies counted({Operation(epochs.count_up_to(num_epochs))});
  return identity(input, {.name = scope.prefix()});
}

FIFOQueue input_producer(const Operand& input, const InputProducerOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "input_producer"));
  const Output rows = input.to_output(DType::kInvalid, "input_tensor");
  FIFOQueue queue = produce(rows, without_rows(rows.shape()), or_default(options.name, "fifo_queue"), options);
  return queue;
}

FIFOQueue string_input_producer(const Operand& strings, const InputProducerOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "input_producer"));
  Output rows = strings.to_output(string);
  if (rows.dtype() != string) throw invalid_argument("string_input_producer takes strings, not ", rows.describe());
  {
    const Operation not_empty =
        Assert(greater(size(rows), 0), {"string_input_producer requires a non-null input tensor"});
    const ControlDependencies checked({not_empty});
    rows = identity(rows);
  }
  FIFOQueue queue = produce(rows, PartialShape::scalar(), scope.prefix(), options);
  summarize_fill(queue, 0, options.capacity, full_name(options.capacity));
  return queue;
}

FIFOQueue range_input_producer(const Operand& limit, const InputProducerOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "input_producer"));
  FIFOQueue queue = produce(range(limit), PartialShape::scalar(), scope.prefix(), options);
  summarize_fill(queue, 0, options.capacity, full_name(options.capacity));
  return queue;
}

std::vector<Output> slice_input_producer(const OperandList& tensors, const InputProducerOptions& options) {
  if (tensors.size() == 0) throw invalid_argument("Expected at least one tensor in slice_input_producer().");
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "input_producer"));
  std::vector<Output> sources;
  for (const Operand& tensor : tensors) sources.push_back(tensor.to_output());
  const Output rows = OpBuilder("StridedSlice", {})
                          .input(shape_of(sources[0]))
                          .input({0})
                          .input({1})
                          .input({1})
                          .attr("shrink_axis_mask", 1)
                          .build();
  InputProducerOptions inner = options;
  inner.name.clear();
  const Output index = range_input_producer(rows, inner).dequeue()[0];
  std::vector<Output> slices;
  for (const Output& source : sources) slices.push_back(gather(source, index));
  return slices;
}

std::vector<Output> batch(const OperandList& tensors, std::int64_t batch_size, const BatchOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "batch"));
  std::vector<Output> outputs;
  for (const Operand& tensor : tensors) outputs.push_back(tensor.to_output());
  return make_batch({{outputs}, options.enqueue_many, options.shapes}, batch_size, options.num_threads, options,
                    scope.prefix());
}

std::vector<Output> batch_join(const std::vector<std::vector<Output>>& tensors_list, std::int64_t batch_size,
                               const BatchOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "batch_join"));
  return make_batch({tensors_list, options.enqueue_many, options.shapes}, batch_size, 1, options, scope.prefix());
}

std::vector<Output> shuffle_batch(const OperandList& tensors, std::int64_t batch_size, std::int64_t capacity,
                                  std::int64_t min_after_dequeue, const ShuffleBatchOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "shuffle_batch"));
  std::vector<Output> outputs;
  for (const Operand& tensor : tensors) outputs.push_back(tensor.to_output());
  return make_shuffle_batch({{outputs}, options.enqueue_many, options.shapes}, batch_size, capacity, min_after_dequeue,
                            options.num_threads, options, scope.prefix());
}

std::vector<Output> shuffle_batch_join(const std::vector<std::vector<Output>>& tensors_list, std::int64_t batch_size,
                                       std::int64_t capacity, std::int64_t min_after_dequeue,
                                       const ShuffleBatchOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(or_default(options.name, "shuffle_batch_join"));
  return make_shuffle_batch({tensors_list, options.enqueue_many, options.shapes}, batch_size, capacity,
                            min_after_dequeue, 1, options, scope.prefix());
}

}  // namespace caudal::inline v0::train
