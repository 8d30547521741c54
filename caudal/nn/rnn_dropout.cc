#include <cstdlib>

#include "caudal/base/error.h"
#include "caudal/base/md5.h"
#include "caudal/graph/scope.h"
#include "caudal/nn/rnn_cell.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/random.h"

namespace caudal::inline v0::nn::rnn_cell {
namespace {

// One of the three places where elements are dropped.
struct Place {
  const char* name;
  Operand keep_prob;
  bool active;  // false for the number 1
};

Place place_of(const char* name, const Operand& keep_prob) {
  const Tensor* number = keep_prob.value();
  if (number == nullptr) return {name, keep_prob, true};
  const double share = number->to_double();
  if (!(share > 0 && share <= 1)) {
    throw invalid_argument("DropoutWrapper: ", name, "_keep_prob is ", share)
        .hint("It is the share of elements that stay, above 0 and at most 1.");
  }
  return {name, keep_prob, share < 1};
}

class Dropout final : public CellBase {
 public:
  Dropout(Cell cell, const DropoutWrapperOptions& options)
      : cell_(std::move(cell)),
        o_(options),
        input_(place_of("input", options.input_keep_prob)),
        output_(place_of("output", options.output_keep_prob)),
        state_(place_of("state", options.state_keep_prob)) {
    if (o_.variational_recurrent) make_noise();
  }
  std::vector<std::int64_t> state_sizes() const override { return cell_.state_sizes(); }
  std::vector<bool> droppable_state() const override { return cell_.droppable_state(); }
  std::int64_t output_size() const override { return cell_.output_size(); }
  void build(std::int64_t input_size, DType dtype) override { cell_.build(input_size, dtype); }

  CellStep step(const Output& inputs, const Outputs& state) const override {
    CellStep result = cell_(dropped(inputs, input_, 0, input_noise_), state);
    const std::vector<bool> droppable = droppable_state();
    for (std::size_t i = 0; i < result.state.size(); ++i) {
      if (!droppable[i]) continue;
      const Output noise = o_.variational_recurrent ? state_noise_[i] : Output();
      result.state[i] = dropped(result.state[i], state_, static_cast<int>(i), noise);
    }
    result.output = dropped(result.output, output_, 0, output_noise_);
    return result;
  }

 private:
  // TensorFlow's seed of each place: the first 31 bits of an MD5 sum.
  std::optional<std::int64_t> seed(const char* place, int i) const {
    if (!o_.seed) return {};
    const std::string digest = md5_hex(internal::concat(*o_.seed, place, '_', i));
    return std::strtoll(digest.substr(0, 8).c_str(), nullptr, 16) & 0x7FFFFFFF;
  }
  Output noise(const char* place, int i, std::int64_t size) const {
    return random_uniform({1, static_cast<int>(size)}, {.dtype = o_.dtype, .seed = seed(place, i)});
  }
  void make_noise() {
    const NameScope scope("DropoutWrapperInit");
    if (input_.active) {
      if (o_.input_size < 1) {
        throw invalid_argument("DropoutWrapper: variational_recurrent dropout of inputs needs input_size");
      }
      input_noise_ = noise("input", 0, o_.input_size);
    }
    const auto sizes = cell_.state_sizes();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      state_noise_.push_back(noise("state", static_cast<int>(i), sizes[i]));
    }
    output_noise_ = noise("output", 0, cell_.output_size());
  }
  Output dropped(const Output& x, const Place& place, int i, const Output& noise) const {
    if (!place.active) return x;
    if (!o_.variational_recurrent) return dropout(x, {.keep_prob = place.keep_prob, .seed = seed(place.name, i)});
    const Output keep = place.keep_prob.to_output(x.dtype());
    return x / keep * floor(keep + noise);
  }

  Cell cell_;
  DropoutWrapperOptions o_;
  Place input_, output_, state_;
  Output input_noise_, output_noise_;
  Outputs state_noise_;
};

}  // namespace

Cell DropoutWrapper(const Cell& cell, const DropoutWrapperOptions& options) {
  return Cell(std::make_shared<Dropout>(cell, options));
}

}  // namespace caudal::inline v0::nn::rnn_cell
