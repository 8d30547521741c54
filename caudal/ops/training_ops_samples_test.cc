// Samples of all updates of optimisers for the harness.
#include <algorithm>
#include <variant>
#include <vector>

#include "caudal/graph/builder.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using harness::SampleInput;
using harness::Samples;

enum class Rest { kGrad, kIndices, kStep };
using RestOf = std::vector<std::variant<double, Rest>>;

// `variables` are var and its slots: of the centered RMSProp's slots the second bounds the first one's square.
void add_training(Samples& samples, bool resource, int variables, const RestOf& rest, bool complex = true) {
  const auto variable = resource ? Samples::resource_variable : Samples::variable;
  const bool sparse = std::ranges::find(rest, std::variant<double, Rest>(Rest::kIndices)) != rest.end();
  const auto inputs = [&](DType type, const Shape& shape, int slots) {
    std::vector<SampleInput> list;
    for (int i = 0; i < slots; ++i) {
      const bool mean = slots == 4 && i == 1;
      list.emplace_back(variable(samples.random(type, shape, {.low = mean ? 0.0 : 1.0, .high = mean ? 0.5 : 2.0})));
    }
    for (const auto& r : rest) {
      if (const double* number = std::get_if<double>(&r)) {
        list.emplace_back(convert_number(Tensor(*number), type));
      } else if (std::get<Rest>(r) == Rest::kStep) {
        list.emplace_back(Tensor(std::int64_t{3}));
      } else if (std::get<Rest>(r) == Rest::kGrad) {
        list.emplace_back(samples.random(type, sparse ? shape.with_dim(0, 3) : shape));
      } else {
        if (type == float64) {
          list.emplace_back(Tensor(std::vector<std::int64_t>{1, 0, 1}));
        } else {
          list.emplace_back(Tensor(std::vector<int>{1, 0, 1}));
        }
      }
    }
    return list;
  };
  for (const DType type : {float32, float64, float16, bfloat16, complex64, complex128}) {
    if (is_complex(type) && !complex) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{33}, Shape{2, 17}, Shape{2, 3, 2, 2}}) {
      if (!sparse || (shape.rank() > 0 && shape[0] > 0)) samples.add({.inputs = inputs(type, shape, variables)});
    }
  }
  samples.add({.inputs = inputs(float32, {4, 20000}, variables)});
  auto wrong = inputs(float32, {3, 2}, variables);
  wrong[0] = variable(samples.random(float32, {3, 4}));
  samples.error(wrong, Code::kInvalidArgument);
  auto missing = inputs(float32, {3, 2}, variables);
  missing[0] = Samples::uninitialized(variable(samples.random(float32, {3, 2})));
  samples.error(missing, Code::kFailedPrecondition);
}

// Scalars that the op does not take.
void add_refused(Samples& samples, int variables, const RestOf& rest) {
  std::vector<SampleInput> inputs;
  for (int i = 0; i < variables; ++i) {
    inputs.emplace_back(Samples::variable(samples.random(float32, {3, 2}, {.low = 1, .high = 2})));
  }
  for (const auto& r : rest) {
    if (const double* number = std::get_if<double>(&r)) {
      inputs.emplace_back(Tensor(static_cast<float>(*number)));
    } else if (std::get<Rest>(r) == Rest::kGrad) {
      inputs.emplace_back(samples.random(float32, {3, 2}));
    } else {
      inputs.emplace_back(Tensor(std::vector<int>{1, 0, 2}));
    }
  }
  samples.error(inputs, Code::kInvalidArgument);
}

const RestOf kDescent = {.1, Rest::kGrad};
const RestOf kMomentum = {.1, Rest::kGrad, .9};
const RestOf kAdam = {.9, .999, .1, .9, .999, 1e-3, Rest::kGrad};
const RestOf kRmsProp = {.1, .9, .9, 1e-3, Rest::kGrad};
const RestOf kAdagradV2 = {.1, .1, Rest::kGrad};
const RestOf kSparseMomentum = {.1, Rest::kGrad, Rest::kIndices, .9};
const RestOf kSparseRmsProp = {.1, .9, .9, 1e-3, Rest::kGrad, Rest::kIndices};
const RestOf kSparseAdagrad = {.1, Rest::kGrad, Rest::kIndices};
const RestOf kSparseAdagradV2 = {.1, .1, Rest::kGrad, Rest::kIndices};

const RestOf kAdadelta = {.1, .9, .1, Rest::kGrad};
const RestOf kSparseAdadelta = {.1, .9, .1, Rest::kGrad, Rest::kIndices};
const RestOf kAdaMax = {.9, .1, .9, .99, 1e-3, Rest::kGrad};
const RestOf kSign = {.1, .9, .8, .7, Rest::kGrad};
const RestOf kProximal = {.1, .2, .3, Rest::kGrad};
const RestOf kSparseProximal = {.1, .2, .3, Rest::kGrad, Rest::kIndices};
const RestOf kAdagradDa = {Rest::kGrad, .1, .2, .3, Rest::kStep};
const RestOf kSparseAdagradDa = {Rest::kGrad, Rest::kIndices, .1, .2, .3, Rest::kStep};
const RestOf kFtrl = {Rest::kGrad, .1, .2, .3, -.5};
const RestOf kSparseFtrl = {Rest::kGrad, Rest::kIndices, .1, .2, .3, -.6};
const RestOf kFtrlV2 = {Rest::kGrad, .1, .2, .3, .4, -.6};
const RestOf kSparseFtrlV2 = {Rest::kGrad, Rest::kIndices, .1, .2, .3, .4, -.5};

#define CAUDAL_TRAINING_SAMPLES(op, variables, rest)                       \
  CAUDAL_OP_SAMPLES(op) { add_training(samples, false, variables, rest); } \
  CAUDAL_OP_SAMPLES(Resource##op) { add_training(samples, true, variables, rest); }

// Those of real variables only.
#define CAUDAL_REAL_TRAINING_SAMPLES(op, variables, rest)                         \
  CAUDAL_OP_SAMPLES(op) { add_training(samples, false, variables, rest, false); } \
  CAUDAL_OP_SAMPLES(Resource##op) { add_training(samples, true, variables, rest, false); }

CAUDAL_TRAINING_SAMPLES(ApplyGradientDescent, 1, kDescent)
CAUDAL_TRAINING_SAMPLES(ApplyMomentum, 2, kMomentum)
CAUDAL_TRAINING_SAMPLES(ApplyAdam, 3, kAdam)
CAUDAL_TRAINING_SAMPLES(ApplyRMSProp, 3, kRmsProp)
CAUDAL_TRAINING_SAMPLES(ApplyCenteredRMSProp, 4, kRmsProp)
CAUDAL_TRAINING_SAMPLES(ApplyAdagrad, 2, kDescent)
CAUDAL_TRAINING_SAMPLES(ApplyAdagradV2, 2, kAdagradV2)
CAUDAL_TRAINING_SAMPLES(SparseApplyMomentum, 2, kSparseMomentum)
CAUDAL_TRAINING_SAMPLES(SparseApplyRMSProp, 3, kSparseRmsProp)
CAUDAL_TRAINING_SAMPLES(SparseApplyCenteredRMSProp, 4, kSparseRmsProp)
CAUDAL_TRAINING_SAMPLES(SparseApplyAdagrad, 2, kSparseAdagrad)
CAUDAL_TRAINING_SAMPLES(SparseApplyAdagradV2, 2, kSparseAdagradV2)
CAUDAL_TRAINING_SAMPLES(ApplyAdadelta, 3, kAdadelta)
CAUDAL_TRAINING_SAMPLES(SparseApplyAdadelta, 3, kSparseAdadelta)
CAUDAL_OP_SAMPLES(ResourceApplyKerasMomentum) { add_training(samples, true, 2, kMomentum); }
CAUDAL_OP_SAMPLES(ResourceSparseApplyKerasMomentum) { add_training(samples, true, 2, kSparseMomentum); }
CAUDAL_OP_SAMPLES(ResourceApplyAdamWithAmsgrad) { add_training(samples, true, 4, kAdam, false); }
CAUDAL_REAL_TRAINING_SAMPLES(ApplyAdaMax, 3, kAdaMax)
CAUDAL_REAL_TRAINING_SAMPLES(ApplyAddSign, 2, kSign)
CAUDAL_REAL_TRAINING_SAMPLES(ApplyPowerSign, 2, kSign)
CAUDAL_REAL_TRAINING_SAMPLES(ApplyProximalGradientDescent, 1, kProximal)
CAUDAL_REAL_TRAINING_SAMPLES(SparseApplyProximalGradientDescent, 1, kSparseProximal)
CAUDAL_OP_SAMPLES(ResourceApplyProximalAdagrad) { add_training(samples, true, 2, kProximal, false); }
CAUDAL_OP_SAMPLES(ApplyProximalAdagrad) {
  add_training(samples, false, 2, kProximal, false);
  for (const RestOf& rest :
       {RestOf{0., .1, .1, Rest::kGrad}, RestOf{.1, -.1, .1, Rest::kGrad}, RestOf{.1, .1, -.1, Rest::kGrad}}) {
    add_refused(samples, 2, rest);
  }
}
CAUDAL_REAL_TRAINING_SAMPLES(SparseApplyProximalAdagrad, 2, kSparseProximal)
CAUDAL_REAL_TRAINING_SAMPLES(ApplyAdagradDA, 3, kAdagradDa)
CAUDAL_REAL_TRAINING_SAMPLES(SparseApplyAdagradDA, 3, kSparseAdagradDa)
CAUDAL_REAL_TRAINING_SAMPLES(ApplyFtrl, 3, kFtrl)
CAUDAL_OP_SAMPLES(ResourceSparseApplyFtrl) { add_training(samples, true, 3, kSparseFtrl, false); }
CAUDAL_OP_SAMPLES(SparseApplyFtrl) {
  add_training(samples, false, 3, kSparseFtrl, false);
  for (const RestOf& rest :
       {RestOf{Rest::kGrad, Rest::kIndices, 0., .1, .1, -.5}, RestOf{Rest::kGrad, Rest::kIndices, .1, -.1, .1, -.5},
        RestOf{Rest::kGrad, Rest::kIndices, .1, .1, -.1, -.5}, RestOf{Rest::kGrad, Rest::kIndices, .1, .1, .1, .5}}) {
    add_refused(samples, 3, rest);
  }
}
CAUDAL_REAL_TRAINING_SAMPLES(ApplyFtrlV2, 3, kFtrlV2)
CAUDAL_REAL_TRAINING_SAMPLES(SparseApplyFtrlV2, 3, kSparseFtrlV2)

}  // namespace
}  // namespace caudal
