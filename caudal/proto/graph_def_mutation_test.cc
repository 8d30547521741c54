// Damaged and malicious graphs: seeds from testdata/corpus/graph_def, changed at random, imported and run. Nothing but
// caudal::Error may come out, within bounded memory.
//
// A fuzz target of the usual kind would have to build every op a second time for libFuzzer; this one is part of a test
// program that exists anyway, runs under every sanitizer, and knows the messages' structure. CAUDAL_MUTATIONS sets how
// many inputs are tried (default 1500), CAUDAL_MUTATION_FIRST where to start, to go on at a failure.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/memory_env.h"
#include "caudal/core/op_registry.h"
#include "caudal/proto/graph.pb.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  // Input number `n`; the same every time.
  std::string make(unsigned n) {
    random_.seed(n);
    std::string bytes = seeds_[pick(seeds_.size())];
    pb::GraphDef def;
    const bool structured = chance(4, 5) && def.ParseFromString(bytes) && def.node_size() > 0;
    if (!structured) {
      for (std::size_t i = pick(8) + 1; i > 0; --i) change_bytes(bytes);
      return bytes;
    }
    for (std::size_t i = pick(3) + 1; i > 0; --i) change_node(def);
    return def.SerializeAsString();
  }

 private:
  std::size_t pick(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  bool chance(unsigned good, unsigned all) { return random_() % all < good; }

  void change_bytes(std::string& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = pick(bytes.size());
    switch (pick(4)) {
      case 0:
        bytes[at] = static_cast<char>(random_());
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1U << pick(8));
        break;
      case 2:
        bytes.erase(at, pick(20) + 1);
        break;
      default:
        bytes.insert(at, seeds_[pick(seeds_.size())].substr(0, pick(40)));
    }
  }

  pb::NodeDef& any_node(pb::GraphDef& def) { return *def.mutable_node(static_cast<int>(pick(def.node_size()))); }

  std::string any_input(pb::GraphDef& def) {
    const std::string& name = any_node(def).name();
    return chance(1, 8) ? "^" + name : chance(1, 6) ? name + ":" + std::to_string(pick(4)) : name;
  }

  void change_node(pb::GraphDef& def) {
    pb::NodeDef& node = any_node(def);
    switch (pick(8)) {
      case 0: {
        const auto ops = registered_ops();
        node.set_op(std::string(ops[pick(ops.size())]));
        break;
      }
      case 1:
        if (node.input_size() > 0) node.set_input(static_cast<int>(pick(node.input_size())), any_input(def));
        break;
      case 2:
        node.add_input(any_input(def));
        break;
      case 3:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        break;
      case 4: {
        pb::NodeDef copy = any_node(def);
        copy.set_name(copy.name() + "_copy" + std::to_string(random_() % 1000));
        *def.add_node() = copy;
        break;
      }
      default:
        change_attr(def, node);
    }
  }

  void change_attr(pb::GraphDef& def, pb::NodeDef& node) {
    if (node.attr().empty()) return;
    auto attr = node.mutable_attr()->begin();
    std::advance(attr, pick(node.attr().size()));
    pb::AttrValue& value = attr->second;
    if (chance(1, 8)) {
      const auto other = any_node(def).attr();
      if (!other.empty()) value = other.begin()->second;
      return;
    }
    switch (value.value_case()) {
      case pb::AttrValue::kI:
        value.set_i(any_size());
        break;
      case pb::AttrValue::kF:
        value.set_f(chance(1, 2) ? 0.0F : static_cast<float>(static_cast<int>(random_())));
        break;
      case pb::AttrValue::kB:
        value.set_b(!value.b());
        break;
      case pb::AttrValue::kType:
        value.set_type(static_cast<pb::DataType>(pick(25)));
        break;
      case pb::AttrValue::kShape:
        change_shape(*value.mutable_shape());
        break;
      case pb::AttrValue::kTensor:
        change_tensor(*value.mutable_tensor());
        break;
      case pb::AttrValue::kList:
        for (auto& i : *value.mutable_list()->mutable_i()) {
          if (chance(1, 2)) i = any_size();
        }
        if (chance(1, 4)) value.mutable_list()->add_i(any_size());
        break;
      default:
        if (value.value_case() == pb::AttrValue::kS && !value.s().empty()) change_bytes(*value.mutable_s());
    }
  }

  std::int64_t any_size() {
    static constexpr std::int64_t kSizes[] = {
        0, -1, 1, 2, 3, 7, -5, 64, 100000, INT32_MAX, INT64_MAX, INT64_MIN, std::int64_t{1} << 40};
    return kSizes[pick(std::size(kSizes))];
  }

  void change_shape(pb::TensorShapeProto& shape) {
    if (chance(1, 6)) shape.set_unknown_rank(true);
    if (shape.dim_size() > 0 && chance(2, 3)) {
      shape.mutable_dim(static_cast<int>(pick(shape.dim_size())))->set_size(any_size());
    } else {
      shape.add_dim()->set_size(any_size());
    }
  }

  void change_tensor(pb::TensorProto& tensor) {
    switch (pick(4)) {
      case 0:
        return change_shape(*tensor.mutable_tensor_shape());
      case 1:
        return tensor.set_dtype(static_cast<pb::DataType>(pick(25)));
      case 2:
        for (auto& value : *tensor.mutable_int_val()) value = static_cast<int>(any_size());
        for (auto& value : *tensor.mutable_float_val()) value = static_cast<float>(any_size());
        return;
      default:
        if (!tensor.tensor_content().empty()) change_bytes(*tensor.mutable_tensor_content());
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937 random_;
};

Tensor something_for(const Node& placeholder) {
  std::vector<std::int64_t> dims = placeholder.output_shape(0).dims();
  for (std::int64_t& size : dims) size = size < 0 ? 2 : std::min<std::int64_t>(size, 64);
  if (dims.size() > 6) dims.resize(6);
  Shape shape(dims);
  return Tensor::zeros(placeholder.info().output_types[0], shape.num_elements() > 100000 ? Shape{} : shape);
}

// Runs every node by itself: the value of its first output, or the node as a target.
void run_all(Graph& graph) {
  MemoryEnv files;
  Session session(graph, {.intra_op_threads = 1, .memory_limit = std::size_t{64} << 20, .env = &files});
  Feeds feeds;
  for (Node* node : graph.nodes()) {
    if (node->type() == "Placeholder") feeds.emplace_back(node->output(0), something_for(*node));
  }
  int left = 40;
  for (Node* node : graph.nodes()) {
    if (--left == 0) break;
    try {
      const RunOptions limits{.timeout_ms = 1000};
      if (node->num_outputs() > 0) {
        session.run(node->output(0), feeds, limits).to_string();
      } else {
        session.run(Operation(node), feeds, limits);
      }
    } catch (const Error&) {
    }
  }
}

TEST(GraphDefMutation, OnlyErrorsComeOut) {
  const std::string folder = CAUDAL_SOURCE_DIR "/testdata/corpus/graph_def";
  std::vector<std::string> seeds;
  for (const std::string& name : default_env().list(folder)) {
    seeds.push_back(read_file(default_env(), join_path(folder, name)));
  }
  ASSERT_GE(seeds.size(), 5U);
  const auto number = [](const char* variable, unsigned otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  };
  const unsigned first = number("CAUDAL_MUTATION_FIRST", 0);
  const unsigned count = number("CAUDAL_MUTATIONS", 1500);
  const bool verbose = std::getenv("CAUDAL_MUTATION_VERBOSE") != nullptr;
  Mutator mutator(seeds);
  unsigned imported = 0;
  for (unsigned n = first; n < first + count; ++n) {
    const std::string bytes = mutator.make(n);
    if (verbose) std::fprintf(stderr, "%u\n", n);
    Graph graph;
    Graph again;
    try {
      import_graph(bytes, graph);
    } catch (const Error&) {
      continue;
    } catch (const std::exception& other) {
      FAIL() << "input " << n << " gave " << other.what();
    }
    ++imported;
    ASSERT_NO_THROW(run_all(graph)) << "input " << n;
    ASSERT_NO_THROW(import_graph(graph_to_bytes(graph), again)) << "input " << n;  // what was read can be read again
    ASSERT_EQ(again.num_nodes(), graph.num_nodes());
  }
  EXPECT_TRUE(count < 1000 || imported > count / 20) << imported;
}

}  // namespace
}  // namespace caudal
