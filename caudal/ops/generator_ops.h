// Random generators whose place in the stream is a variable: checkpoints save it like any other.
//
//   random::Generator generator = random::Generator::from_seed(1234);
//   Output x = generator.normal({2, 3});                // another draw each time it runs
//   session.run(generator.state().initializer());
//
// The state is int64 [3]: the counter's two halves and the key. Thread safety: as building a graph; runs take disjoint
// stretches of the stream.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::random {

struct GeneratorOptions {
  std::string name = "StateVar";
  std::source_location where = std::source_location::current();
};

struct GeneratorNormalOptions {
  Operand mean = 0.0F;
  Operand stddev = 1.0F;
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

struct GeneratorUniformOptions {
  std::optional<Operand> minval = 0;
  std::optional<Operand> maxval = {};  // default 1 for floating types; integers need one
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

class CAUDAL_API Generator {
 public:
  // The generator of tf.random.Generator.from_seed(seed).
  static Generator from_seed(std::int64_t seed, const GeneratorOptions& options = {});
  // One that continues where `state` (int64 [3]) says.
  static Generator from_state(const Operand& state, const GeneratorOptions& options = {});

  const Variable& state() const { return state_; }

  // Numbers as those of random::stateless_*; each run moves the state on by 256 samples for each number.
  Output normal(const Operand& shape, const GeneratorNormalOptions& options = {}) const;
  Output truncated_normal(const Operand& shape, const GeneratorNormalOptions& options = {}) const;
  Output uniform(const Operand& shape, const GeneratorUniformOptions& options = {}) const;
  // Integers with all bits random: int32, int64, uint32, uint64.
  Output uniform_full_int(const Operand& shape, DType dtype = DType::kUint64, const OpOptions& options = {}) const;
  // counts and probs as random::stateless_binomial.
  Output binomial(const Operand& shape, const Operand& counts, const Operand& probs, DType dtype = DType::kInt32,
                  const OpOptions& options = {}) const;
  // Moves the state on as `delta` numbers would; the state before.
  Output skip(const Operand& delta, const OpOptions& options = {}) const;

 private:
  explicit Generator(Variable state) : state_(std::move(state)) {}
  struct KeyCounter;
  KeyCounter reserve(const Output& shape) const;

  Variable state_;
};

}  // namespace caudal::inline v0::random
