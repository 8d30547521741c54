// Requests and answers of the master service (TensorFlow's sessions over RPC) as plain values: bytes in, bytes out, no
// message type is seen outside.
//
// decode_*() throw INVALID_ARGUMENT for bytes that are no such message. Tensors of requests stay serialized until
// decode_tensor(), whose memory comes from an allocator that charges somebody's account. Thread safety: functions of
// their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

struct SessionConfig {
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  bool use_per_session_threads = false;
  bool isolate_session_state = false;
  bool optimize = true;
  std::int64_t operation_timeout_ms = 0;  // 0: none
  // Each `cost_every`th step of a request tells the costs of its nodes, from step `cost_after` on; 0: none does.
  std::int64_t cost_every = 0, cost_after = 0;
};

struct StepSettings {
  bool trace = false;
  bool output_partition_graphs = false;
  std::int64_t timeout_ms = 0;  // 0: none
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
struct NamedBytes {
  std::string name;
  std::string tensor;  // serialized
};

struct CreateSessionCall {
  std::string graph_def;  // serialized
  SessionConfig config;
};
struct ExtendSessionCall {
  std::string session;
  std::string graph_def;
  std::int64_t current_version = 0;
};
struct RunStepCall {
  std::string session;
  std::vector<NamedBytes> feeds;
  std::vector<std::string> fetches, targets;
  StepSettings settings;
  std::string partial_run;
  bool errors_in_body = false;
  std::int64_t request_id = 0;
};
struct PartialRunSetupCall {
  std::string session;
  std::vector<std::string> feeds, fetches, targets;
  std::int64_t request_id = 0;
};
struct MakeCallableCall {
  std::string session;
  std::vector<std::string> feeds, fetches, targets;
  std::vector<std::pair<std::string, std::string>> connections;  // a tensor that stands for another
  StepSettings settings;
  std::int64_t request_id = 0;
};
struct RunCallableCall {
  std::string session;
  std::int64_t handle = 0;
  std::vector<std::string> feeds;  // serialized tensors
  std::int64_t request_id = 0;
};
struct ReleaseCallableCall {
  std::string session;
  std::int64_t handle = 0;
};

// One node's time in a step: nanoseconds since 1970.
struct NodeTime {
  std::string node, op;
  std::int64_t start = 0, end = 0;
};
struct StepMetadata {
  std::string device;  // where the nodes ran
  std::vector<NodeTime> nodes;
  bool has_times = false, has_costs = false;  // what the nodes' times are told as
  std::vector<std::string> partition_graphs;  // serialized
};
struct DeviceFacts {
  std::string name, type, description;
  std::int64_t memory_limit = 0;
  std::uint64_t incarnation = 0;
};

CreateSessionCall decode_create_session(std::string_view bytes);
ExtendSessionCall decode_extend_session(std::string_view bytes);
RunStepCall decode_run_step(std::string_view bytes);
PartialRunSetupCall decode_partial_run_setup(std::string_view bytes);
MakeCallableCall decode_make_callable(std::string_view bytes);
RunCallableCall decode_run_callable(std::string_view bytes);
ReleaseCallableCall decode_release_callable(std::string_view bytes);
// CloseSession, ListDevices: a session's handle alone.
std::string decode_session_handle(std::string_view bytes);
// Reset: names of containers.
std::vector<std::string> decode_reset(std::string_view bytes);
// INVALID_ARGUMENT, also for a tensor that does not fit together; RESOURCE_EXHAUSTED.
Tensor decode_tensor(std::string_view bytes, Allocator& allocator);

// RESOURCE_EXHAUSTED for an answer of 2 GiB or more.
std::string encode_session_created(std::string_view handle, std::int64_t version);
std::string encode_session_extended(std::int64_t version);
std::string encode_step_result(const std::vector<NamedTensor>& tensors, const StepMetadata* metadata);
std::string encode_step_error(int code, std::string_view message);
std::string encode_partial_run(std::string_view handle);
// A RunMetadata message.
CAUDAL_API std::string encode_run_metadata(const StepMetadata& metadata);
std::string encode_callable_made(std::int64_t handle);
std::string encode_callable_result(const std::vector<Tensor>& tensors, const StepMetadata* metadata);
std::string encode_devices(const std::vector<DeviceFacts>& local);

}  // namespace caudal::inline v0
