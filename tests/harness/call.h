// One call of an op in a graph and session of its own, in one of the ways a plan may run it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caudal/graph/graph.h"
#include "caudal/kernels/isa.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0::harness {

// How inputs reach the op.
enum class Feeding {
  kFed,        // placeholders
  kConstant,   // Const nodes
  kSmallInts,  // integers up to rank 2 with up to 16 elements as Const, the others as placeholders
};

// What the placeholders say of their shapes.
enum class Known { kAll, kAllButFirst, kRank, kNothing };

struct Mode {
  std::string name;
  Feeding feeding = Feeding::kFed;
  Known known = Known::kNothing;
  bool specialise = false;     // at the first run
  bool in_place = false;       // granted where the op allows it; needs `copies`, as feeds are never overwritten
  bool fold = false;           // constants
  bool copies = false;         // each input goes through a node that copies it and so may be overwritten
  bool fetch_copies = false;   // the copies count as further outputs; so they may not be overwritten
  bool offset_inputs = false;  // inputs do not begin at their buffer's start
  int threads = 1;
  Isa isa = Isa::kPlain;
};

// A call as a node in a graph. Building throws what Graph::add throws.
class Call {
 public:
  Call(const std::string& op, const std::vector<SampleInput>& inputs, const AttrMap& attrs, const Mode& mode);

  Graph& graph() { return *graph_; }
  Node& node() { return *node_; }
  // The op's inputs in flat order.
  const std::vector<Output>& inputs() const { return inputs_; }
  std::vector<Output> outputs();
  bool has_variables() const { return !variable_reads_.empty() || has_uninitialized_; }
  // Placeholders and values, for sessions of the caller's own.
  const Feeds& feeds() const { return feeds_; }

  // A session with the mode's options, its variables initialised.
  std::unique_ptr<Session> session();
  // The op's outputs, then the variables' values, then (fetch_copies) its inputs. Throws what the session throws.
  std::vector<Tensor> run();
  std::vector<Tensor> run(Session& session);

 private:
  Output add_value(const SampleValue& value);
  Output add_variable(const SampleValue& value);

  Mode mode_;
  std::unique_ptr<Graph> graph_;
  Node* node_ = nullptr;
  std::vector<Output> inputs_, variable_reads_;
  std::vector<Node*> initialisers_;
  bool has_uninitialized_ = false;
  Feeds feeds_;
};

// A node of op `type` in `graph`; inputs in groups, one per argument.
Node& add_node(Graph& graph, const std::string& type, std::vector<std::vector<Output>> inputs, AttrMap attrs = {});

// An op `HarnessCopy` (any plain type and string) whose kernel copies: a tensor that a plan may overwrite.
inline constexpr char kCopyOp[] = "HarnessCopy";

}  // namespace caudal::inline v0::harness
