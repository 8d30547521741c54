#include "caudal/proto/master_messages.h"

#include <cstring>

#include "caudal/base/error.h"
#include "caudal/formats/wire.h"
#include "caudal/proto/master.pb.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

constexpr int kDtypeField = 1, kShapeField = 2, kContentField = 4;  // of TensorProto

template <class Message>
Message parse(std::string_view bytes, std::string_view what) {
  Message message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw invalid_argument("these ", bytes.size(), " bytes are no ", what);
  }
  return message;
}

void check_size(std::size_t size) {
  if (size <= INT32_MAX) return;
  throw resource_exhausted("the answer has ", size, " bytes; a message holds less than 2 GiB")
      .hint("Fetch fewer or smaller tensors in one step.");
}

std::string serialized(const google::protobuf::MessageLite& message) {
  check_size(message.ByteSizeLong());
  return message.SerializeAsString();
}

template <class Field>
std::vector<std::string> strings(const Field& field) {
  return {field.begin(), field.end()};
}

SessionConfig config_from(const pb::ConfigProto& proto) {
  SessionConfig config;
  config.intra_op_threads = proto.intra_op_parallelism_threads();
  config.inter_op_threads = proto.inter_op_parallelism_threads();
  config.allow_soft_placement = proto.allow_soft_placement();
  config.log_device_placement = proto.log_device_placement();
  config.use_per_session_threads = proto.use_per_session_threads();
  config.isolate_session_state = proto.isolate_session_state();
  config.optimize = proto.graph_options().optimizer_options().opt_level() >= 0;
  config.operation_timeout_ms = proto.operation_timeout_in_ms();
  config.cost_every = proto.graph_options().build_cost_model();
  config.cost_after = proto.graph_options().build_cost_model_after();
  return config;
}

StepSettings settings_from(const pb::RunOptions& proto) {
  return {.trace = proto.trace_level() != pb::RunOptions::NO_TRACE,
          .output_partition_graphs = proto.output_partition_graphs(),
          .timeout_ms = proto.timeout_in_ms()};
}

// Type, shape and raw content, the form in which clients send numbers: no message is made, the bytes are copied once.
struct RawTensor {
  int dtype = 0;
  std::string_view shape, content;
  bool plain = true;  // nothing but these three
};

RawTensor raw_tensor(std::string_view bytes) {
  RawTensor raw;
  WireReader reader(bytes, "tensor");
  while (reader.next()) {
    if (reader.field() == kDtypeField) {
      raw.dtype = static_cast<int>(reader.varint());
    } else if (reader.field() == kShapeField && raw.shape.empty()) {
      raw.shape = reader.bytes();
    } else if (reader.field() == kContentField) {
      raw.content = reader.bytes();
    } else {
      raw.plain = false;
    }
  }
  return raw;
}

// The tag and length of a field of bytes.
void append_header(std::string* out, int field, std::size_t size) {
  put_varint(out, (static_cast<std::uint64_t>(field) << 3) | static_cast<std::uint64_t>(WireType::kBytes));
  put_varint(out, size);
}

// A TensorProto in two parts, so that the values are copied once: into the message that leaves.
struct EncodedTensor {
  std::string head;
  std::string_view content;  // of the tensor
  std::size_t size() const { return head.size() + content.size(); }
};

EncodedTensor encode_tensor(const Tensor& tensor) {
  if (!is_plain(tensor.dtype())) return {serialized(to_proto(tensor)), {}};
  WireWriter writer;
  writer.varint(kDtypeField, static_cast<std::uint64_t>(to_proto(tensor.dtype())));
  writer.bytes(kShapeField, to_proto(PartialShape(tensor.shape())).SerializeAsString());
  EncodedTensor encoded{std::move(writer).str(), tensor.raw_bytes()};
  if (!encoded.content.empty()) append_header(&encoded.head, kContentField, encoded.content.size());
  return encoded;
}

// `rest`, another part of the message, with a field 1 for each tensor: a NamedTensorProto where there are names, else a
// TensorProto. Both have their tensors, and the names theirs, under the numbers that TensorFlow gave them.
std::string with_tensors(std::string rest, const std::vector<EncodedTensor>& tensors,
                         const std::vector<std::string_view>& names) {
  constexpr int kTensorsField = 1, kNameField = 1, kNamedTensorField = 2;
  constexpr std::size_t kMostHeaders = 64;  // bytes of tags and lengths of a tensor, generously
  std::size_t total = rest.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    total += tensors[i].size() + kMostHeaders + (names.empty() ? 0 : names[i].size());
  }
  check_size(total);
  rest.reserve(total);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (names.empty()) {
      append_header(&rest, kTensorsField, tensors[i].size());
    } else {
      std::string head;
      append_header(&head, kNameField, names[i].size());
      head += names[i];
      append_header(&head, kNamedTensorField, tensors[i].size());
      append_header(&rest, kTensorsField, head.size() + tensors[i].size());
      rest += head;
    }
    rest += tensors[i].head;
    rest += tensors[i].content;
  }
  return rest;
}

constexpr std::int64_t kMicro = 1000;  // nanoseconds

void add_times(const StepMetadata& metadata, pb::DeviceStepStats* device) {
  device->set_device(metadata.device);
  for (const NodeTime& time : metadata.nodes) {
    auto* node = device->add_node_stats();
    node->set_node_name(time.node);
    node->set_timeline_label(time.node + " = " + time.op + "()");
    node->set_all_start_micros(time.start / kMicro);
    node->set_scheduled_micros(time.start / kMicro);
    node->set_op_end_rel_micros((time.end - time.start) / kMicro);
    node->set_all_end_rel_micros((time.end - time.start) / kMicro);
    node->set_all_start_nanos(time.start);
    node->set_scheduled_nanos(time.start);
    node->set_op_end_rel_nanos(time.end - time.start);
    node->set_all_end_rel_nanos(time.end - time.start);
  }
}

void add_costs(const StepMetadata& metadata, pb::CostGraphDef* costs) {
  for (const NodeTime& time : metadata.nodes) {
    auto* node = costs->add_node();
    node->set_name(time.node);
    node->set_device(metadata.device);
    node->set_id(costs->node_size() - 1);
    node->set_compute_cost((time.end - time.start) / kMicro);
  }
}

void add_metadata(const StepMetadata& metadata, pb::RunMetadata* proto) {
  if (metadata.has_times) add_times(metadata, proto->mutable_step_stats()->add_dev_stats());
  if (metadata.has_costs) add_costs(metadata, proto->mutable_cost_graph());
  for (const std::string& graph : metadata.partition_graphs) proto->add_partition_graphs(graph);
}

}  // namespace

Tensor decode_tensor(std::string_view bytes, Allocator& allocator) {
  try {
    const RawTensor raw = raw_tensor(bytes);
    const bool fast = raw.plain && !raw.content.empty() && pb::DataType_IsValid(raw.dtype) &&
                      raw.dtype != pb::DT_INVALID && raw.dtype != pb::DT_BOOL &&
                      is_plain(from_proto(static_cast<pb::DataType>(raw.dtype)));
    if (!fast) return from_proto(parse<pb::TensorProto>(bytes, "TensorProto"), allocator);
    const DType dtype = from_proto(static_cast<pb::DataType>(raw.dtype));
    const auto shape = from_proto(parse<pb::TensorShapeProto>(raw.shape, "TensorShapeProto")).to_shape();
    if (!shape) throw invalid_argument("a tensor's shape is not fully known");
    const auto elements = static_cast<std::size_t>(shape->num_elements());
    if (raw.content.size() / dtype_size(dtype) != elements || raw.content.size() % dtype_size(dtype) != 0) {
      throw invalid_argument("tensor content has ", raw.content.size(), " bytes, which does not fit ", dtype, *shape);
    }
    Tensor tensor(dtype, *shape, allocator);
    std::memcpy(tensor.raw(), raw.content.data(), raw.content.size());
    return tensor;
  } catch (const Error& error) {
    if (error.code() == Code::kDataLoss) throw invalid_argument(error.detail());
    throw;
  }
}

CreateSessionCall decode_create_session(std::string_view bytes) {
  auto proto = parse<pb::CreateSessionRequest>(bytes, "CreateSessionRequest");
  return {std::move(*proto.mutable_graph_def()), config_from(proto.config())};
}

ExtendSessionCall decode_extend_session(std::string_view bytes) {
  auto proto = parse<pb::ExtendSessionRequest>(bytes, "ExtendSessionRequest");
  return {proto.session_handle(), std::move(*proto.mutable_graph_def()), proto.current_graph_version()};
}

RunStepCall decode_run_step(std::string_view bytes) {
  auto proto = parse<pb::RunStepRequest>(bytes, "RunStepRequest");
  RunStepCall call;
  call.session = proto.session_handle();
  for (auto& feed : *proto.mutable_feed()) {
    call.feeds.push_back({std::move(*feed.mutable_name()), std::move(*feed.mutable_tensor())});
  }
  call.fetches = strings(proto.fetch());
  call.targets = strings(proto.target());
  call.settings = settings_from(proto.options());
  call.partial_run = proto.partial_run_handle();
  call.errors_in_body = proto.store_errors_in_response_body();
  call.request_id = proto.request_id();
  return call;
}

PartialRunSetupCall decode_partial_run_setup(std::string_view bytes) {
  const auto proto = parse<pb::PartialRunSetupRequest>(bytes, "PartialRunSetupRequest");
  return {proto.session_handle(), strings(proto.feed()), strings(proto.fetch()), strings(proto.target()),
          proto.request_id()};
}

MakeCallableCall decode_make_callable(std::string_view bytes) {
  const auto proto = parse<pb::MakeCallableRequest>(bytes, "MakeCallableRequest");
  const auto& options = proto.options();
  MakeCallableCall call{.session = proto.session_handle(),
                        .feeds = strings(options.feed()),
                        .fetches = strings(options.fetch()),
                        .targets = strings(options.target()),
                        .settings = settings_from(options.run_options()),
                        .request_id = proto.request_id()};
  for (const auto& c : options.tensor_connection()) call.connections.emplace_back(c.from_tensor(), c.to_tensor());
  return call;
}

RunCallableCall decode_run_callable(std::string_view bytes) {
  const auto proto = parse<pb::RunCallableRequest>(bytes, "RunCallableRequest");
  return {proto.session_handle(), proto.handle(), strings(proto.feed()), proto.request_id()};
}

ReleaseCallableCall decode_release_callable(std::string_view bytes) {
  const auto proto = parse<pb::ReleaseCallableRequest>(bytes, "ReleaseCallableRequest");
  return {proto.session_handle(), proto.handle()};
}

std::string decode_session_handle(std::string_view bytes) {
  return parse<pb::CloseSessionRequest>(bytes, "request with a session handle").session_handle();
}

std::vector<std::string> decode_reset(std::string_view bytes) {
  return strings(parse<pb::ResetRequest>(bytes, "ResetRequest").container());
}

std::string encode_session_created(std::string_view handle, std::int64_t version) {
  pb::CreateSessionResponse proto;
  proto.set_session_handle(std::string(handle));
  proto.set_graph_version(version);
  return serialized(proto);
}

std::string encode_session_extended(std::int64_t version) {
  pb::ExtendSessionResponse proto;
  proto.set_new_graph_version(version);
  return serialized(proto);
}

std::string encode_step_result(const std::vector<NamedTensor>& tensors, const StepMetadata* metadata) {
  pb::RunStepResponse proto;
  if (metadata != nullptr) add_metadata(*metadata, proto.mutable_metadata());
  std::vector<EncodedTensor> encoded;
  std::vector<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    encoded.push_back(encode_tensor(tensor.tensor));
    names.push_back(tensor.name);
  }
  return with_tensors(serialized(proto), encoded, names);
}

std::string encode_step_error(int code, std::string_view message) {
  pb::RunStepResponse proto;
  proto.set_status_code(code);
  proto.set_status_error_message(std::string(message));
  return serialized(proto);
}

std::string encode_partial_run(std::string_view handle) {
  pb::PartialRunSetupResponse proto;
  proto.set_partial_run_handle(std::string(handle));
  return serialized(proto);
}

std::string encode_callable_made(std::int64_t handle) {
  pb::MakeCallableResponse proto;
  proto.set_handle(handle);
  return serialized(proto);
}

std::string encode_callable_result(const std::vector<Tensor>& tensors, const StepMetadata* metadata) {
  pb::RunCallableResponse proto;
  if (metadata != nullptr) add_metadata(*metadata, proto.mutable_metadata());
  std::vector<EncodedTensor> encoded;
  for (const Tensor& tensor : tensors) encoded.push_back(encode_tensor(tensor));
  return with_tensors(serialized(proto), encoded, {});
}

std::string encode_run_metadata(const StepMetadata& metadata) {
  pb::RunMetadata proto;
  add_metadata(metadata, &proto);
  return serialized(proto);
}

std::string encode_devices(const std::vector<DeviceFacts>& local) {
  pb::ListDevicesResponse proto;
  for (const DeviceFacts& device : local) {
    auto* out = proto.add_local_device();
    out->set_name(device.name);
    out->set_device_type(device.type);
    out->set_memory_limit(device.memory_limit);
    out->mutable_locality();
    out->set_incarnation(device.incarnation);
    out->set_physical_device_desc(device.description);
  }
  return serialized(proto);
}

}  // namespace caudal::inline v0
