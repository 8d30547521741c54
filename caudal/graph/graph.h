// Graph: what is to be computed, as nodes and edges; append-only.
//
// The default graph of a thread is process-wide unless a GraphScope names another. Building is for one thread at a time
// (calls lock, so that sessions may run while another thread builds); a node never changes once it is made, but for
// shapes that become sharper, back edges of loops, and calls that give more results (extend).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/control_flow_context.h"
#include "caudal/graph/function.h"
#include "caudal/graph/node.h"

namespace caudal::inline v0 {

// A member of a collection: a node's output, a node, a string, a number, or an object of a higher layer (a saver, a
// variable). An object's `text` is its serialized message, if files shall hold it (a variable's is made when needed).
struct CollectionItem {
  Output output;                        // set for tensors
  Operation operation;                  // set for operations
  std::string text;                     // set for strings and messages
  std::shared_ptr<const void> object;   // set for objects; what it is depends on the collection
  std::optional<std::int64_t> integer;  // set for integers
  std::optional<float> number;          // set for floats
  std::string type_url;                 // of the message in `text`, where that came as a google.protobuf.Any
};

// What is needed to make a node.
struct NodeDraft {
  std::string op;
  std::string name;                         // unique in the graph, scopes applied
  std::vector<std::vector<Output>> inputs;  // one group per argument of the definition
  std::vector<Node*> control_inputs;
  AttrMap attrs;  // what the inputs' types and counts tell, and defaults, may be left out
  std::string device;
  std::string made_at;
};

class CAUDAL_API Graph {
 public:
  Graph();
  // A graph that shares the functions of another one: the body of a function.
  explicit Graph(std::shared_ptr<FunctionLibrary> functions);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Throws caudal::Error in the one form: NOT_FOUND for an unknown op, INVALID_ARGUMENT for inputs, attributes or
  // shapes that do not fit, ALREADY_EXISTS for a name in use, FAILED_PRECONDITION once the graph is finalised.
  Node& add(NodeDraft draft);
  // Replaces input i, for the back edge of a loop. INVALID_ARGUMENT unless type and graph are the node's, and i exists.
  void connect(Node& node, int i, Output source);
  void add_control_input(Node& node, Node& before);
  // Gives a node that calls functions more to do, when a gradient needs values from inside of them: replaces
  // attributes, appends inputs to its last argument. The outputs that are there keep their places and types.
  // INVALID_ARGUMENT if that does not fit. Plans made before go on with the node as it was.
  void extend(Node& node, AttrMap attrs, const std::vector<Output>& more_inputs = {});

  // A name that is free now: "MatMul", then "MatMul_1", "MatMul_2"... `name` already contains its scopes. Marks it
  // used.
  std::string unique_name(std::string_view name);

  Node* find(std::string_view name) const;
  // Throws NOT_FOUND with the nearest names. `operation` "a/b"; `tensor` "a/b:0" (":0" may be left out).
  Operation operation(std::string_view name) const;
  Output tensor(std::string_view name) const;
  // Nodes in the order they were made; node(i).id() == i.
  int num_nodes() const;
  Node& node(int id) const;
  std::vector<Node*> nodes() const;
  // Changes whenever something is added.
  std::int64_t version() const;
  // No more nodes from now on.
  void finalize();
  bool is_finalized() const;

  // Collections, in order of addition. TensorFlow's keys are in collection.h.
  void add_to_collection(std::string_view key, CollectionItem item);
  // Those whose name begins with a match of the regular expression `scope` ("hidden[34]|outputs"); all if it is empty.
  // Items without a name are left out then.
  std::vector<CollectionItem> collection(std::string_view key, std::string_view scope = {}) const;
  std::vector<std::string> collection_keys() const;
  void clear_collection(std::string_view key);

  // Graph-level random seed (tf.set_random_seed), and how many ops have drawn from it.
  std::optional<std::int64_t> seed() const;
  void set_seed(std::optional<std::int64_t> seed);
  std::int64_t next_op_seed();

  // Keeps a context of conditions and loops as long as the graph lives.
  template <class Context>
  Context& own(std::unique_ptr<Context> context) {
    Context& kept = *context;
    contexts_.push_back(std::move(context));
    return kept;
  }

  FunctionLibrary& functions() { return *functions_; }
  const FunctionLibrary& functions() const { return *functions_; }
  const std::shared_ptr<FunctionLibrary>& shared_functions() const { return functions_; }
  // The registered op of that name, else the call of the function of that name; null if there is neither.
  const Op* find_op(std::string_view name) const;

  // While the body of a function is traced: what makes an argument of a tensor of the graph around it. Op functions use
  // it for inputs that belong to another graph (function_body.h).
  using Capture = std::function<Output(const Output&)>;
  void set_capture(Capture capture) { capture_ = std::move(capture); }
  const Capture& capture() const { return capture_; }

 private:
  void resolve_types(const Op& op, const NodeDraft& draft, AttrMap& attrs) const;
  void infer_shapes(Node& node);
  void check_inputs(const Node& node) const;

  mutable std::recursive_mutex mutex_;
  std::deque<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<ControlFlowContext>> contexts_;
  std::vector<std::unique_ptr<NodeInfo>> former_infos_;  // of extended nodes: programs and names refer to them
  std::unordered_map<std::string_view, Node*> by_name_;
  std::set<std::string, std::less<>> used_names_;  // lower case, as TensorFlow compares them
  std::unordered_map<std::string, int> name_counts_;
  std::int64_t version_ = 0;
  bool finalized_ = false;
  std::map<std::string, std::vector<CollectionItem>, std::less<>> collections_;
  std::optional<std::int64_t> seed_;
  std::int64_t op_seeds_drawn_ = 0;
  std::shared_ptr<FunctionLibrary> functions_;
  Capture capture_;
};

// The graph that op functions add to in this thread.
CAUDAL_API Graph& default_graph();
// Forgets the process's default graph and starts an empty one. REQUIRES: no GraphScope is open in this thread, and
// nobody uses the old graph any more.
CAUDAL_API void reset_default_graph();

// Shape inference of one node with given inputs: what Graph::add does, and plans do again with the feeds' shapes.
struct InferredShapes {
  std::vector<PartialShape> shapes;
  std::vector<HandleData> handles;
};
CAUDAL_API InferredShapes infer_shapes(const NodeInfo& node, std::vector<ShapeContext::Input> inputs);

}  // namespace caudal::inline v0
