// What all nodes of one step share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/buffer.h"

namespace caudal::inline v0 {

class CancellationToken;
class Device;
class Env;
class FunctionRuntime;
class NodeStates;
class Rendezvous;
class ResourceManager;

// Gets one call per node. Thread-safe.
class CAUDAL_API Tracer {
 public:
  virtual ~Tracer();
  // Times in nanoseconds of a steady clock.
  virtual void record(std::string_view node, std::string_view op, std::int64_t start, std::int64_t end) = 0;
};

// What became ready in a step goes here and is run by the threads that work for the step, at the latest by the one that
// waits for its end. Thread-safe.
class CAUDAL_API TaskQueue {
 public:
  virtual ~TaskQueue();
  virtual void push(std::function<void()> task) = 0;
};

// Borrowed pointers: the session owns what lasts, the run what is of the step. Never null unless said so.
struct StepContext {
  std::int64_t step_id = 0;
  CancellationToken* cancellation = nullptr;
  std::optional<std::int64_t> deadline_micros;  // of Env::now_micros
  ResourceManager* resources = nullptr;
  ResourceManager* step_resources = nullptr;  // the step's own container: stacks, tensor arrays; gone with the step
  Rendezvous* rendezvous = nullptr;
  FunctionRuntime* functions = nullptr;  // null where the graph has no functions
  int call_depth = 0;                    // of nested function calls
  TaskQueue* queue = nullptr;            // null while constants are folded
  Device* device = nullptr;
  Env* env = nullptr;  // the file system under the session's file policy
  MemoryAccount* memory = nullptr;
  NodeStates* states = nullptr;
  Tracer* tracer = nullptr;     // null: not traced
  bool check_numerics = false;  // the first NaN or infinity that an op makes ends the step with its name
};

}  // namespace caudal::inline v0
