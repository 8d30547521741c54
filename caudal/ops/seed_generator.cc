#include "caudal/ops/seed_generator.h"

#include <bit>
#include <random>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/core/device.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/dataset.h"

namespace caudal::inline v0 {
namespace ops {
namespace {

std::int64_t random_bits() {
  std::random_device device;
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(device()) << 32) | device());
}

Seeds chosen(const Seeds& seeds) {
  return seeds.seed == 0 && seeds.seed2 == 0 ? Seeds{random_bits(), random_bits()} : seeds;
}

}  // namespace

float SeededNumbers::uniform() { return std::bit_cast<float>(((*this)() & 0x7fffffU) | 0x3f800000U) - 1.0F; }

void SeededNumbers::transfer(StateArchive& archive) {
  archive.number(seeds_.seed);
  archive.number(seeds_.seed2);
  archive.number(drawn_);
  if (archive.saving()) return;
  if (drawn_ < 0) throw data_loss("the saved position has drawn ", drawn_, " numbers");
  PhiloxRandom generator = this->generator();
  generator.skip(static_cast<std::uint64_t>(drawn_ / 4));
  numbers_ = PhiloxSingles(generator);
  for (std::int64_t i = 0; i < drawn_ % 4; ++i) numbers_();
}

SeedGenerator::SeedGenerator(const Seeds& seeds, bool changes)
    : seeds_(chosen(seeds)), changes_(changes), numbers_(seeds_) {}

std::string SeedGenerator::describe() const { return "generator of seeds"; }

Seeds SeedGenerator::next() {
  const std::lock_guard lock(mutex_);
  if (!changes_) return seeds_;
  const std::int64_t seed = numbers_();
  return {seed, numbers_()};
}

void SeedGenerator::transfer(StateArchive& archive) {
  const std::lock_guard lock(mutex_);
  archive.number(seeds_.seed);
  archive.number(seeds_.seed2);
  numbers_.transfer(archive);
}

std::shared_ptr<SeedGenerator> seed_generator(const RunContext& c, int i, const Seeds& seeds, bool changes) {
  if (i < c.num_inputs() && c.input(i).num_elements() == 1) {
    const auto& handle = c.input(i).item<ResourceHandle>();
    if (auto generator = std::dynamic_pointer_cast<SeedGenerator>(handle.owned)) return generator;
  }
  return std::make_shared<SeedGenerator>(seeds, changes);
}

}  // namespace ops

namespace {

void set_generator(RunContext& c, std::shared_ptr<ops::SeedGenerator> generator) {
  ResourceHandle handle;
  handle.device = c.step().device->name();
  handle.name = "SeedGenerator";
  handle.type_name = "tensorflow::data::SeedGeneratorManager";
  handle.owned = std::move(generator);
  c.set_output(0, Tensor::scalar(std::move(handle)));
  if (c.num_outputs() > 1) c.set_output(1, Tensor(DType::kVariant, Shape()));
}

void run_generator(RunContext& c) {
  const ops::Seeds seeds{ops::int_input(c, 0, "seed"), ops::int_input(c, 1, "seed2")};
  const bool changes = c.num_inputs() < 3 || ops::bool_input(c, 2, "reshuffle");
  set_generator(c, std::make_shared<ops::SeedGenerator>(seeds, changes));
}

void run_dummy_generator(RunContext& c) { set_generator(c, nullptr); }
void run_delete(RunContext&) {}  // the handle owns it

}  // namespace

CAUDAL_REGISTER_OP({.name = "AnonymousSeedGenerator",
                    .inputs = "seed: int64; seed2: int64; reshuffle: bool",
                    .outputs = "handle: resource; deleter: variant",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_generator>});
CAUDAL_REGISTER_OP({.name = "AnonymousRandomSeedGenerator",
                    .inputs = "seed: int64; seed2: int64",
                    .outputs = "handle: resource; deleter: variant",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_generator>});
CAUDAL_REGISTER_OP({.name = "DummySeedGenerator",
                    .outputs = "handle: resource",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_dummy_generator>});
#define CAUDAL_DELETE_GENERATOR(op)                                   \
  CAUDAL_REGISTER_OP({.name = op,                                     \
                      .inputs = "handle: resource; deleter: variant", \
                      .stateful = true,                               \
                      .shape = no_outputs_shape,                      \
                      .gradient = not_differentiable,                 \
                      .cpu = kernel_of<run_delete>})
CAUDAL_DELETE_GENERATOR("DeleteSeedGenerator");
CAUDAL_DELETE_GENERATOR("DeleteRandomSeedGenerator");

}  // namespace caudal::inline v0
