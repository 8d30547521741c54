// The networks that are trained: the same, layer by layer, as those of the scripts in peers/.
#pragma once

#include <cstdint>
#include <string>

#include "caudal/graph/graph.h"
#include "caudal/runtime/session.h"

namespace bench {

enum class Model {
  kMlp,     // 784-300-100-10, ReLU
  kLenet,   // conv 5x5x6 SAME, max-pool 2, conv 5x5x16 VALID, max-pool 2, 120, 84, 10
  kBook,    // conv 3x3x32 SAME, conv 3x3x64 stride 2 SAME, max-pool 2, 128, 10
  kNature,  // 84x84x4: conv 8x8x32 stride 4, 4x4x64 stride 2, 3x3x64 VALID, 512, heads of 6 and 1
};

// Cross entropy (nature: plus half the mean squared error of the value) and Adam with a rate of 0.001.
struct Net {
  caudal::Output images, labels, values;  // placeholders; `values` for nature only
  caudal::Output logits, loss;
  caudal::Operation train;

  // Runs one update and fetches the loss; feeds in the order of batch_of().
  caudal::Session::Callable updater(caudal::Session& session) const;
};

// Makes the nodes in the default graph.
Net build(Model model);
// Random pictures, labels and, for nature, values.
std::vector<caudal::Tensor> batch_of(Model model, std::int64_t size);

}  // namespace bench
