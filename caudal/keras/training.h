// What compile() makes of a model: the steps that train, test and predict a batch. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caudal/keras/model.h"
#include "caudal/keras/model_core.h"

namespace caudal::inline v0::keras {

// Rows for all inputs and outputs of a model.
struct FitBatch {
  std::vector<Tensor> x;
  std::vector<Tensor> y;
  std::vector<Tensor> weights;  // one per output, invalid ones: none; or empty
  std::int64_t rows() const { return x.empty() ? 0 : x[0].dim(0); }
};

class Training {
 public:
  explicit Training(ModelCore& core) : core_(core) {}

  void compile(const CompileOptions& options);
  bool compiled() const { return compiled_; }
  Optimizer& optimizer() { return *options_.optimizer; }
  const CompileOptions& options() const { return options_; }
  // Losses, one per output; those that are none do not count.
  const std::vector<Loss>& losses() const { return losses_; }
  Config compile_config() const;

  // One update. A loss that is no number is INVALID_ARGUMENT with the op that made it and nothing has changed, unless
  // `nan_is_error` is false.
  Logs train(const FitBatch& batch, bool nan_is_error);
  Logs test(const FitBatch& batch);
  Profile profile(const FitBatch& batch, std::int64_t steps);
  std::vector<Tensor> predict(const std::vector<Tensor>& x);
  void reset_metrics();

  // Data as the model's inputs want them: types converted, a last size of 1 added or taken away. Throws
  // INVALID_ARGUMENT naming the input and both shapes.
  std::vector<Tensor> fitted_inputs(const std::vector<Tensor>& x) const;
  // Makes a model without Input for such data.
  void ensure_graph(const std::vector<Tensor>& x);

 private:
  enum class Mode { kTrain, kTrainThroughNaN, kTest };
  struct Step {
    Session::Callable run;
    std::vector<std::string> names;  // of the values that it gives
    std::string guard;               // scope of what stops at a loss that is no number
    Fetches watched;                 // what to look at after that: loss and gradients
    Fetches fetches;
    std::vector<Output> feeds;
  };
  // Placeholders that all steps of one kind of data share.
  struct Places {
    std::vector<Output> x, y, weights;
    std::vector<Output> feeds() const;
  };
  struct Tracked {
    std::string name;
    std::shared_ptr<Metric> metric;
    std::size_t output = 0;
    bool weighted = false;
  };
  // What a forward pass gives.
  struct Computed {
    std::vector<Output> predictions, masks;
    Output loss;                      // total
    std::vector<Output> output_loss;  // none where there is no loss
    Forward forward;
  };

  Step& step(Mode mode, const FitBatch& batch);
  Places& places(const std::string& signature, const FitBatch& batch);
  Step make_step(Mode mode, const Places& places);
  Computed compute(const Places& places, bool training);
  void resolve_metrics(const Places& places, const Computed& computed);
  std::vector<Operation> track(const Places& places, const Computed& computed);
  std::vector<Tensor> feeds_of(const FitBatch& batch) const;
  Logs run(Step& step, const FitBatch& batch);
  [[noreturn]] void explain_nan(Step& step, const FitBatch& batch);
  Backend& backend() const { return *core_.backend(); }

  ModelCore& core_;
  bool compiled_ = false;
  CompileOptions options_;
  std::vector<Loss> losses_;
  std::map<std::string, Places> places_;
  std::map<std::string, Step> steps_;
  std::shared_ptr<MeanMetric> loss_tracker_;
  std::vector<std::shared_ptr<MeanMetric>> output_trackers_;  // null where there is no loss
  std::vector<Tracked> metrics_;
  bool metrics_resolved_ = false;
  Operation reset_;
  Session::Callable predict_;
  bool predict_made_ = false;
  std::vector<bool> trainable_then_;  // of the weights, when the steps were made
};

}  // namespace caudal::inline v0::keras
