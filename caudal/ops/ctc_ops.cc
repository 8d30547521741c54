#include "caudal/ops/ctc_ops.h"

#include <algorithm>
#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/ctc_beam_search.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

using Types = kernels::TypeList<float, double>;
using Labels = std::vector<int>;

// --- Shape functions ---

std::int64_t batch_of(ShapeContext& c, int lengths) {
  return ShapeContext::merge_dim(c.with_rank(0, 3).dim(1), c.with_rank(lengths, 1).dim(0), "the batch");
}

void loss_shape(ShapeContext& c) {
  ShapeContext::merge_dim(c.with_rank(1, 2).dim(0), c.with_rank(2, 1).dim(0), "labels");
  const std::int64_t batch = batch_of(c, 3);
  c.set_output(0, PartialShape({batch}));
  c.set_output(1, c.with_rank(0, 3).with_dim(1, batch));
}

void decoder_shape(ShapeContext& c) {
  const std::int64_t batch = batch_of(c, 1);
  const int paths = (c.num_outputs() - 1) / 3;
  for (int p = 0; p < paths; ++p) {
    c.set_output(p, PartialShape({PartialShape::kUnknown, 2}));
    c.set_output(paths + p, PartialShape({PartialShape::kUnknown}));
    c.set_output(2 * paths + p, PartialShape({2}));
  }
  c.set_output(3 * paths, PartialShape({batch, paths}));
}

// --- Kernels: the loss ---

struct LossSettings {
  bool collapse, merge, ignore_longer;
};

// [entry of the batch] -> its labels, of sorted indices.
std::vector<Labels> labels_by_entry(const Tensor& indices, const Tensor& values, std::int64_t batch) {
  if (indices.rank() != 2 || indices.dim(1) < 2 || values.rank() != 1 || indices.dim(0) != values.dim(0)) {
    throw invalid_argument("labels_indices ", indices.describe(), " and labels_values ", values.describe(),
                           " must be [n, 2] and [n]");
  }
  std::vector<Labels> labels(static_cast<std::size_t>(batch));
  const std::int64_t columns = indices.dim(1);
  for (std::int64_t i = 0; i < values.num_elements(); ++i) {
    const std::int64_t* at = indices.data<std::int64_t>() + i * columns;
    if (at[0] < 0 || at[0] >= batch || at[1] < 0) {
      throw invalid_argument("labels_indices[", i, "] = [", at[0], ",", at[1], "] is outside the batch of ", batch);
    }
    if (i > 0 && (at[0] < at[-columns] || (at[0] == at[-columns] && at[1] <= at[1 - columns]))) {
      throw invalid_argument("labels_indices[", i, "] is out of order or repeated").hint("Sort them row by row.");
    }
    labels[static_cast<std::size_t>(at[0])].push_back(values.data<std::int32_t>()[i]);
  }
  return labels;
}

// The labels with blanks before, between and behind them. Labels from `blank` on end the sequence.
Labels with_blanks(const Labels& labels, int blank, bool collapse, std::int64_t entry) {
  if (labels.empty()) throw invalid_argument("entry ", entry, " of the batch has no labels");
  Labels all = {blank};
  bool ended = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0 && collapse && labels[i] == labels[i - 1]) continue;
    if (labels[i] < 0) throw invalid_argument("entry ", entry, " of the batch has the label ", labels[i]);
    if (labels[i] >= blank) {
      ended = true;
      continue;
    }
    if (ended) throw invalid_argument("entry ", entry, " of the batch has the label ", labels[i], " behind a blank");
    all.push_back(labels[i]);
    all.push_back(blank);
  }
  return all;
}

// One entry of the batch. Graves, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 7.
template <class T>
class EntryLoss {
 public:
  EntryLoss(const Labels& labels, std::int64_t time, std::int64_t classes, bool merge)
      : labels_(labels),
        time_(time),
        classes_(classes),
        places_(static_cast<std::int64_t>(labels.size())),
        merge_(merge),
        probabilities_(static_cast<std::size_t>(time * classes)) {}

  // scores and gradient: rows of `classes`, `stride` apart.
  T run(const T* scores, std::int64_t stride, T* gradient) {
    for (std::int64_t t = 0; t < time_; ++t) softmax(scores + t * stride, &probabilities_[at(t, classes_, 0)]);
    const std::vector<T> alpha = forward(), beta = backward();
    T log_probability = kLogZero<T>;
    for (std::int64_t u = 0; u < places_; ++u)
      log_probability = log_sum_exp(log_probability, alpha[index(u)] + beta[index(u)]);
    for (std::int64_t t = 0; t < time_; ++t) {
      std::vector<T> sums(static_cast<std::size_t>(classes_), kLogZero<T>);
      for (std::int64_t u = 0; u < places_ && log_probability != kLogZero<T>; ++u) {
        T& sum = sums[index(label(u))];
        sum = log_sum_exp(sum, alpha[at(t, places_, u)] + beta[at(t, places_, u)]);
      }
      for (std::int64_t k = 0; k < classes_; ++k) {
        const T expected = sums[index(k)] == kLogZero<T> ? T{0} : std::exp(sums[index(k)] - log_probability);
        gradient[t * stride + k] = probabilities_[at(t, classes_, k)] - expected;
      }
    }
    return -log_probability;
  }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static std::size_t at(std::int64_t t, std::int64_t width, std::int64_t i) { return index(t * width + i); }
  int label(std::int64_t u) const { return labels_[index(u)]; }
  int blank() const { return static_cast<int>(classes_) - 1; }
  T log_of(std::int64_t t, std::int64_t u) const { return std::log(probabilities_[at(t, classes_, label(u))]); }
  // A step may pass over the blank between places u and u + 2.
  bool may_skip(std::int64_t u) const { return label(u) != blank() && !(merge_ && label(u) == label(u + 2)); }
  bool may_stay(std::int64_t u) const { return merge_ || label(u) == blank(); }
  // Places that can be reached by step t and from which the end can be.
  std::int64_t first(std::int64_t t) const { return std::max<std::int64_t>(0, places_ - 2 * (time_ - t)); }
  std::int64_t last(std::int64_t t) const { return std::min(places_, 2 * (t + 1)); }

  void softmax(const T* scores, T* out) const {
    const T greatest = *std::max_element(scores, scores + classes_);
    T sum = 0;
    for (std::int64_t k = 0; k < classes_; ++k) sum += out[k] = std::exp(scores[k] - greatest);
    for (std::int64_t k = 0; k < classes_; ++k) out[k] /= sum;
  }

  std::vector<T> forward() const {
    std::vector<T> alpha(index(time_ * places_), kLogZero<T>);
    for (std::int64_t u = 0; u < std::min<std::int64_t>(2, places_); ++u) alpha[index(u)] = log_of(0, u);
    for (std::int64_t t = 1; t < time_; ++t) {
      const T* before = &alpha[at(t - 1, places_, 0)];
      for (std::int64_t u = first(t); u < last(t); ++u) {
        T sum = may_stay(u) ? before[u] : kLogZero<T>;
        if (u > 0) sum = log_sum_exp(sum, before[u - 1]);
        if (u > 1 && label(u) != blank() && may_skip(u - 2)) sum = log_sum_exp(sum, before[u - 2]);
        alpha[at(t, places_, u)] = log_of(t, u) + sum;
      }
    }
    return alpha;
  }

  std::vector<T> backward() const {
    std::vector<T> beta(index(time_ * places_), kLogZero<T>);
    for (std::int64_t u = std::max<std::int64_t>(0, places_ - 2); u < places_; ++u) beta[at(time_ - 1, places_, u)] = 0;
    for (std::int64_t t = time_ - 2; t >= 0; --t) {
      const T* after = &beta[at(t + 1, places_, 0)];
      for (std::int64_t u = first(t); u < last(t); ++u) {
        T sum = may_stay(u) ? after[u] + log_of(t + 1, u) : kLogZero<T>;
        if (u + 1 < places_) sum = log_sum_exp(sum, after[u + 1] + log_of(t + 1, u + 1));
        if (u + 2 < places_ && may_skip(u)) sum = log_sum_exp(sum, after[u + 2] + log_of(t + 1, u + 2));
        beta[at(t, places_, u)] = sum;
      }
    }
    return beta;
  }

  const Labels& labels_;
  const std::int64_t time_, classes_, places_;
  const bool merge_;
  std::vector<T> probabilities_;
};

void check_inputs(const Tensor& inputs, const Tensor& lengths) {
  if (inputs.rank() != 3 || inputs.num_elements() == 0) {
    throw invalid_argument("inputs must be [time, batch, classes] with no size of 0, not ", inputs.describe());
  }
  if (lengths.rank() != 1) throw invalid_argument("sequence_length must be a vector, not ", lengths.describe());
}

void run_loss(RunContext& c) {
  const Tensor &inputs = c.input(0), &lengths = c.input(3);
  check_inputs(inputs, lengths);
  const std::int64_t time = inputs.dim(0), batch = inputs.dim(1), classes = inputs.dim(2);
  const LossSettings s = {c.node().attr<bool>("preprocess_collapse_repeated"),
                          c.node().attr<bool>("ctc_merge_repeated"),
                          c.node().attr<bool>("ignore_longer_outputs_than_inputs")};
  if (lengths.dim(0) != batch)
    throw invalid_argument("sequence_length must be [", batch, "], not ", lengths.describe());
  const std::vector<Labels> labels = labels_by_entry(c.input(1), c.input(2), batch);
  std::vector<Labels> places;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int32_t length = lengths.data<std::int32_t>()[b];
    if (length < 0 || length > time) {
      throw invalid_argument("sequence_length[", b, "] = ", length, " is outside [0, ", time, "]");
    }
    const Labels& own = labels[static_cast<std::size_t>(b)];
    places.push_back(with_blanks(own, static_cast<int>(classes) - 1, s.collapse, b));
    if (!s.ignore_longer && std::ssize(own) > length) {
      throw invalid_argument("entry ", b, " of the batch has ", own.size(), " labels in ", length, " steps")
          .hint("Use ignore_longer_outputs_than_inputs to leave such entries out.");
    }
  }
  Tensor& loss = c.allocate_output(0, lengths.shape());
  Tensor& gradient = c.allocate_output(1, inputs.shape());
  kernels::dispatch(Types(), inputs.dtype(), "CTCLoss", [&]<class T>() {
    std::fill_n(loss.data<T>(), batch, T{0});
    std::fill_n(gradient.data<T>(), gradient.num_elements(), T{0});
    c.pool().parallel_for(batch, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t length = lengths.data<std::int32_t>()[b];
        const auto entry = static_cast<std::size_t>(b);
        if (length == 0 || (s.ignore_longer && std::ssize(labels[entry]) > length)) continue;
        loss.data<T>()[b] = EntryLoss<T>(places[entry], length, classes, s.merge)
                                .run(inputs.data<T>() + b * classes, batch * classes, gradient.data<T>() + b * classes);
      }
    });
  });
}

// --- Kernels: the decoders ---

void check_decoder_inputs(const Tensor& inputs, const Tensor& lengths) {
  check_inputs(inputs, lengths);
  if (lengths.dim(0) != inputs.dim(1)) {
    throw failed_precondition("sequence_length must be [", inputs.dim(1), "], not ", lengths.describe());
  }
  for (const std::int32_t length : lengths.flat<std::int32_t>()) {
    if (length > inputs.dim(0))
      throw failed_precondition("sequence_length holds ", length, ", more than ", inputs.dim(0));
  }
}

// Output `path` of `paths` sparse ones, from the labels of each entry of the batch.
void store_path(RunContext& c, int path, int paths, const std::vector<Labels>& entries) {
  std::int64_t count = 0, longest = 0;
  for (const Labels& labels : entries) {
    count += std::ssize(labels);
    longest = std::max<std::int64_t>(longest, std::ssize(labels));
  }
  std::int64_t* indices = c.allocate_output(path, {count, 2}).data<std::int64_t>();
  std::int64_t* values = c.allocate_output(paths + path, {count}).data<std::int64_t>();
  std::int64_t* shape = c.allocate_output(2 * paths + path, {2}).data<std::int64_t>();
  for (std::size_t b = 0; b < entries.size(); ++b) {
    for (std::size_t i = 0; i < entries[b].size(); ++i) {
      *indices++ = static_cast<std::int64_t>(b);
      *indices++ = static_cast<std::int64_t>(i);
      *values++ = entries[b][i];
    }
  }
  shape[0] = std::ssize(entries);
  shape[1] = longest;
}

void run_greedy(RunContext& c) {
  const Tensor &inputs = c.input(0), &lengths = c.input(1);
  check_decoder_inputs(inputs, lengths);
  const std::int64_t batch = inputs.dim(1), classes = inputs.dim(2);
  const auto blank_index = c.node().attr<std::int64_t>("blank_index");
  const std::int64_t blank = blank_index < 0 ? classes + blank_index : blank_index;
  if (blank < 0 || blank >= classes)
    throw invalid_argument("blank_index ", blank_index, " is none of ", classes, " classes");
  const bool merge = c.node().attr<bool>("merge_repeated");
  std::vector<Labels> entries(static_cast<std::size_t>(batch));
  Tensor& scores = c.allocate_output(3, {batch, 1});
  kernels::dispatch(Types(), inputs.dtype(), "CTCGreedyDecoder", [&]<class T>() {
    for (std::int64_t b = 0; b < batch; ++b) {
      T score = 0;
      std::int64_t previous = -1;
      for (std::int64_t t = 0; t < lengths.data<std::int32_t>()[b]; ++t) {
        const T* row = inputs.data<T>() + (t * batch + b) * classes;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < classes; ++k) best = row[k] > row[best] ? k : best;
        score -= row[best];
        if (best != blank && !(merge && best == previous)) {
          entries[static_cast<std::size_t>(b)].push_back(static_cast<int>(best));
        }
        previous = best;
      }
      scores.data<T>()[b] = score;
    }
  });
  store_path(c, 0, 1, entries);
}

void run_beam_search(RunContext& c) {
  const Tensor &inputs = c.input(0), &lengths = c.input(1);
  check_decoder_inputs(inputs, lengths);
  const std::int64_t batch = inputs.dim(1), classes = inputs.dim(2);
  const auto width = static_cast<std::size_t>(c.node().attr<std::int64_t>("beam_width"));
  const auto paths = static_cast<std::size_t>(c.node().attr<std::int64_t>("top_paths"));
  const bool merge = c.node().attr<bool>("merge_repeated");
  if (paths > width) throw invalid_argument(paths, " paths are more than the beam's ", width);
  std::vector<std::vector<Labels>> entries(paths, std::vector<Labels>(static_cast<std::size_t>(batch)));
  Tensor& scores = c.allocate_output(static_cast<int>(3 * paths), {batch, static_cast<std::int64_t>(paths)});
  kernels::dispatch(Types(), inputs.dtype(), "CTCBeamSearchDecoder", [&]<class T>() {
    c.pool().parallel_for(batch, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        CtcBeamSearch<T> search(static_cast<int>(classes), width);
        for (std::int64_t t = 0; t < lengths.data<std::int32_t>()[b]; ++t) {
          search.step(inputs.data<T>() + (t * batch + b) * classes);
        }
        auto best = search.best(paths, merge);
        if (best.size() < paths) {
          throw invalid_argument("the search found ", best.size(), " label sequences; ", paths, " are wanted")
              .hint("Ask for fewer paths.");
        }
        for (std::size_t p = 0; p < paths; ++p) {
          entries[p][static_cast<std::size_t>(b)] = std::move(best[p].labels);
          scores.data<T>()[b * static_cast<std::int64_t>(paths) + static_cast<std::int64_t>(p)] =
              best[p].log_probability;
        }
      }
    });
  });
  for (std::size_t p = 0; p < paths; ++p) store_path(c, static_cast<int>(p), static_cast<int>(paths), entries[p]);
}

// --- Gradient ---

// The op computes its gradient itself, which cannot be differentiated again.
void loss_gradient(GradientContext& c) {
  const Output slope = raw_ops::prevent_gradient(c.output(1), "ctc_loss has no second derivative");
  c.set_input_grad(0, expand_dims(c.grad(0), -1) * slope);
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "CTCLoss",
                    .inputs = "inputs: T; labels_indices: int64; labels_values: int32; sequence_length: int32",
                    .outputs = "loss: T; gradient: T",
                    .attrs = "preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; "
                             "ignore_longer_outputs_than_inputs: bool = false; T: {float, double} = DT_FLOAT",
                    .shape = loss_shape,
                    .gradient = loss_gradient,
                    .cpu = kernel_of<run_loss>});
CAUDAL_REGISTER_OP(
    {.name = "CTCGreedyDecoder",
     .inputs = "inputs: T; sequence_length: int32",
     .outputs = "decoded_indices: int64; decoded_values: int64; decoded_shape: int64; log_probability: T",
     .attrs = "merge_repeated: bool = false; blank_index: int = -1; T: {float, double} = DT_FLOAT",
     .shape = decoder_shape,
     .gradient = not_differentiable,
     .cpu = kernel_of<run_greedy>});
CAUDAL_REGISTER_OP({.name = "CTCBeamSearchDecoder",
                    .inputs = "inputs: T; sequence_length: int32",
                    .outputs = "decoded_indices: top_paths * int64; decoded_values: top_paths * int64; "
                               "decoded_shape: top_paths * int64; log_probability: T",
                    .attrs = "beam_width: int >= 1; top_paths: int >= 1; merge_repeated: bool = true; "
                             "T: {float, double} = DT_FLOAT",
                    .shape = decoder_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_beam_search>});

// --- Public functions ---

namespace nn {

Output ctc_loss(const SparseTensor& labels, const Operand& inputs, const Operand& sequence_length,
                const CtcLossOptions& options) {
  const LocationScope where(options.where);
  Output scores = inputs.to_output(DType::kFloat);
  if (!options.time_major) scores = OpBuilder("Transpose", {}).input(scores).input({1, 0, 2}).build();
  return OpBuilder("CTCLoss", {.name = options.name, .where = options.where})
      .input(scores)
      .input(labels.indices)
      .input(labels.values)
      .input(sequence_length, DType::kInt32)
      .attr("preprocess_collapse_repeated", options.preprocess_collapse_repeated)
      .attr("ctc_merge_repeated", options.ctc_merge_repeated)
      .attr("ignore_longer_outputs_than_inputs", options.ignore_longer_outputs_than_inputs)
      .build();
}

namespace {

CtcDecoded decoded_of(Node& node) {
  const int paths = (node.num_outputs() - 1) / 3;
  CtcDecoded decoded;
  for (int p = 0; p < paths; ++p) {
    decoded.decoded.push_back({node.output(p), node.output(paths + p), node.output(2 * paths + p)});
  }
  decoded.log_probability = node.output(3 * paths);
  return decoded;
}

}  // namespace

CtcDecoded ctc_greedy_decoder(const Operand& inputs, const Operand& sequence_length, const CtcGreedyOptions& options) {
  return decoded_of(OpBuilder("CTCGreedyDecoder", {.name = options.name, .where = options.where})
                        .input(inputs, DType::kFloat)
                        .input(sequence_length, DType::kInt32)
                        .attr("merge_repeated", options.merge_repeated)
                        .attr("blank_index", options.blank_index)
                        .build_node());
}

CtcDecoded ctc_beam_search_decoder(const Operand& inputs, const Operand& sequence_length,
                                   const CtcBeamSearchOptions& options) {
  return decoded_of(OpBuilder("CTCBeamSearchDecoder", {.name = options.name, .where = options.where})
                        .input(inputs, DType::kFloat)
                        .input(sequence_length, DType::kInt32)
                        .attr("beam_width", options.beam_width)
                        .attr("top_paths", options.top_paths)
                        .attr("merge_repeated", options.merge_repeated)
                        .build_node());
}

}  // namespace nn
}  // namespace caudal::inline v0
