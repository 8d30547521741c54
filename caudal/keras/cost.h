// What a model costs: parameters, multiplications and bytes of activations, by layer and in total.
//
//   ModelCost cost = model_cost(model, 32);
//   std::printf("%lld multiplications a picture\n", cost.total.multiplications / 32);
//
// Thread safety: as building a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/keras/model.h"

namespace caudal::inline v0::keras {

struct LayerCost {
  std::string name, class_name;
  std::string output_shape;  // of the batch
  std::int64_t parameters = 0;
  std::int64_t multiplications = 0;   // forward, for the batch; the body of a loop counts once
  std::int64_t activation_bytes = 0;  // of what the layer makes for the next
  std::int64_t training_bytes = 0;    // of all values that its nodes make: what the way back may look at again
};

struct ModelCost {
  std::int64_t batch = 1;
  std::vector<LayerCost> layers;
  LayerCost total;
  std::int64_t training_multiplications = 0;  // forward and the gradients of all trainable weights
  // Memory of activations that the plan of a run sets aside: values share it as far as their lives allow.
  std::int64_t inference_arena = 0, training_arena = 0;
};

// Of a built model for batches of that size. Throws FAILED_PRECONDITION before the model is built, INVALID_ARGUMENT if
// the inputs have other sizes that are not known.
CAUDAL_API ModelCost model_cost(const Model& model, std::int64_t batch = 1);

}  // namespace caudal::inline v0::keras
