#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "caudal/base/error.h"
#include "caudal/proto/attr_proto.h"
#include "caudal/proto/graph_def.h"

namespace caudal::inline v0 {
namespace {

std::string input_name(const Output& input) {
  return input.index() == 0 ? input.node()->name() : input.node()->name() + ":" + std::to_string(input.index());
}

}  // namespace

pb::NodeDef export_node(const Node& node, bool strip_defaults) {
  pb::NodeDef proto;
  proto.set_name(node.name());
  proto.set_op(node.type());
  proto.set_device(node.info().device);
  for (const Output& input : node.inputs()) proto.add_input(input_name(input));
  for (const Node* before : node.control_inputs()) proto.add_input("^" + before->name());
  for (const auto& [name, value] : node.info().attrs) {
    const AttrDef* def = node.op().def.find_attr(name);
    if (strip_defaults && def != nullptr && def->default_value && *def->default_value == value) continue;
    (*proto.mutable_attr())[name] = to_proto(value);
  }
  return proto;
}

pb::GraphDef export_graph_def(const Graph& graph, bool strip_defaults) {
  pb::GraphDef def;
  for (const Node* node : graph.nodes()) *def.add_node() = export_node(*node, strip_defaults);
  def.mutable_versions()->set_producer(kGraphDefVersion);
  def.mutable_versions()->set_min_consumer(kMinConsumer);
  for (const auto& [name, function] : graph.functions().all()) {
    *def.mutable_library()->add_function() = to_proto(*function);
  }
  for (const auto& [name, gradient] : graph.functions().gradients()) {
    auto* proto = def.mutable_library()->add_gradient();
    proto->set_function_name(name);
    proto->set_gradient_func(gradient);
  }
  return def;
}

std::string deterministic_bytes(const google::protobuf::MessageLite& message) {
  if (message.ByteSizeLong() > INT32_MAX) {
    throw invalid_argument("a graph of ", message.ByteSizeLong(), " bytes; files hold less than 2 GiB")
        .hint("Keep large constants in variables and checkpoints.");
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace caudal::inline v0
