// train/: pictures per second of forward, backward and Adam in float32, and the time of an epoch with shuffling.
#include <random>

#include "bench.h"
#include "caudal/data/dataset.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/variable.h"
#include "nets.h"

namespace bench {
namespace {

constexpr std::int64_t kEpochRows = 60000;

// A network that is ready to train in a session of its own.
struct Training {
  explicit Training(Model model) : scope(graph), net(build(model)), session(graph) {
    session.run(caudal::global_variables_initializer());
    update = net.updater(session);
  }
  caudal::Graph graph;
  caudal::GraphScope scope;
  Net net;
  caudal::Session session;
  caudal::Session::Callable update;
};

Values train_steps(Model model, std::int64_t batch_size, const Settings& settings) {
  const Training training(model);
  const std::vector<caudal::Tensor> batch = batch_of(model, batch_size);
  return rates([&] { training.update(batch); }, static_cast<double>(batch_size), settings);
}

// As many random pictures as MNIST has: bytes, scaled to [0, 1] batch by batch.
caudal::data::DataSet random_pictures(std::int64_t rows) {
  std::mt19937 random(1);
  caudal::Tensor pictures(caudal::uint8, {rows, 28, 28, 1});
  caudal::Tensor labels(caudal::int32, {rows});
  for (std::uint8_t& x : pictures.flat<std::uint8_t>()) x = static_cast<std::uint8_t>(random());
  for (std::int32_t& y : labels.flat<std::int32_t>()) y = static_cast<std::int32_t>(random() % 10);
  return {pictures, labels};
}

Values lenet_epoch(const Settings& settings) {
  const std::int64_t scale = settings.quick ? 10 : 1;  // quick: a tenth of the pictures, times ten
  const Training training(Model::kLenet);
  auto stream = random_pictures(kEpochRows / scale).stream(50);
  caudal::data::Batch batch;
  stream.next(batch);
  training.update({batch.features, batch.labels});
  while (stream.next(batch)) {
  }
  Settings few = settings;
  few.repeats = 3;
  return quietest(
      [&] {
        const double start = now();
        while (stream.next(batch)) training.update({batch.features, batch.labels});
        return (now() - start) * static_cast<double>(scale);
      },
      few);
}

}  // namespace

std::vector<Case> train_cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* name, Model model, std::int64_t batch_size) {
    cases.push_back({std::string("train/") + name + '_' + std::to_string(batch_size),
                     [=](const Settings& settings) { return train_steps(model, batch_size, settings); }});
  };
  for (const std::int64_t batch_size : {50, 256}) {
    add("mlp", Model::kMlp, batch_size);
    add("lenet", Model::kLenet, batch_size);
    add("book", Model::kBook, batch_size);
  }
  add("nature", Model::kNature, 256);
  add("nature", Model::kNature, 500);
  cases.push_back({"train/lenet_epoch", lenet_epoch});
  return cases;
}

}  // namespace bench
