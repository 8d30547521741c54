#include "caudal/proto/attr_proto.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMaxDepth = 64;

pb::NameAttrList function_to(const FunctionAttr& function) {
  pb::NameAttrList proto;
  proto.set_name(function.name);
  to_proto(*function.attrs, proto.mutable_attr());
  return proto;
}

FunctionAttr function_from(const pb::NameAttrList& proto, int depth) {
  return make_function_attr(proto.name(), from_proto(proto.attr(), depth + 1));
}

struct ToProto {
  pb::AttrValue& out;
  pb::AttrValue::ListValue& list() const { return *out.mutable_list(); }

  void operator()(std::monostate) const {}
  void operator()(std::int64_t v) const { out.set_i(v); }
  void operator()(float v) const { out.set_f(v); }
  void operator()(bool v) const { out.set_b(v); }
  void operator()(const std::string& v) const { out.set_s(v); }
  void operator()(DType v) const { out.set_type(to_proto(v)); }
  void operator()(const PartialShape& v) const { *out.mutable_shape() = to_proto(v); }
  void operator()(const Tensor& v) const { *out.mutable_tensor() = to_readable_proto(v); }
  void operator()(const FunctionAttr& v) const { *out.mutable_func() = function_to(v); }
  void operator()(const AttrPlaceholder& v) const { out.set_placeholder(v.name); }
  void operator()(const std::vector<std::int64_t>& v) const {
    auto& l = list();
    for (const auto x : v) l.add_i(x);
  }
  void operator()(const std::vector<float>& v) const {
    auto& l = list();
    for (const auto x : v) l.add_f(x);
  }
  void operator()(const std::vector<bool>& v) const {
    auto& l = list();
    for (const bool x : v) l.add_b(x);
  }
  void operator()(const std::vector<std::string>& v) const {
    auto& l = list();
    for (const auto& x : v) l.add_s(x);
  }
  void operator()(const std::vector<DType>& v) const {
    auto& l = list();
    for (const auto x : v) l.add_type(to_proto(x));
  }
  void operator()(const std::vector<PartialShape>& v) const {
    auto& l = list();
    for (const auto& x : v) *l.add_shape() = to_proto(x);
  }
  void operator()(const std::vector<Tensor>& v) const {
    auto& l = list();
    for (const auto& x : v) *l.add_tensor() = to_proto(x);
  }
  void operator()(const std::vector<FunctionAttr>& v) const {
    auto& l = list();
    for (const auto& x : v) *l.add_func() = function_to(x);
  }
};

AttrValue list_from(const pb::AttrValue::ListValue& list, int depth) {
  if (list.s_size() > 0) return std::vector<std::string>(list.s().begin(), list.s().end());
  if (list.i_size() > 0) return std::vector<std::int64_t>(list.i().begin(), list.i().end());
  if (list.f_size() > 0) return std::vector<float>(list.f().begin(), list.f().end());
  if (list.b_size() > 0) return std::vector<bool>(list.b().begin(), list.b().end());
  if (list.type_size() > 0) {
    std::vector<DType> types;
    for (const int type : list.type()) types.push_back(from_proto(static_cast<pb::DataType>(type)));
    return types;
  }
  if (list.shape_size() > 0) {
    std::vector<PartialShape> shapes;
    for (const auto& shape : list.shape()) shapes.push_back(from_proto(shape));
    return shapes;
  }
  if (list.tensor_size() > 0) {
    std::vector<Tensor> tensors;
    for (const auto& tensor : list.tensor()) tensors.push_back(from_proto(tensor));
    return tensors;
  }
  if (list.func_size() > 0) {
    std::vector<FunctionAttr> functions;
    for (const auto& function : list.func()) functions.push_back(function_from(function, depth));
    return functions;
  }
  return std::vector<std::int64_t>{};
}

AttrValue attr_from(const pb::AttrValue& proto, int depth) {
  if (depth > kMaxDepth) throw invalid_argument("function attributes are nested deeper than ", kMaxDepth);
  switch (proto.value_case()) {
    case pb::AttrValue::kS:
      return proto.s();
    case pb::AttrValue::kI:
      return static_cast<std::int64_t>(proto.i());
    case pb::AttrValue::kF:
      return proto.f();
    case pb::AttrValue::kB:
      return proto.b();
    case pb::AttrValue::kType:
      return from_proto(proto.type());
    case pb::AttrValue::kShape:
      return from_proto(proto.shape());
    case pb::AttrValue::kTensor:
      return from_proto(proto.tensor());
    case pb::AttrValue::kList:
      return list_from(proto.list(), depth);
    case pb::AttrValue::kFunc:
      return function_from(proto.func(), depth);
    case pb::AttrValue::kPlaceholder:
      return AttrPlaceholder{proto.placeholder()};
    case pb::AttrValue::VALUE_NOT_SET:
      break;
  }
  return {};
}

pb::OpDef::ArgDef arg_to(const ArgDef& arg) {
  pb::OpDef::ArgDef proto;
  proto.set_name(arg.name);
  if (arg.type != DType::kInvalid) proto.set_type(to_proto(arg.type));
  proto.set_type_attr(arg.type_attr);
  proto.set_number_attr(arg.number_attr);
  proto.set_type_list_attr(arg.type_list_attr);
  proto.set_is_ref(arg.is_ref);
  return proto;
}

ArgDef arg_from(const pb::OpDef::ArgDef& proto) {
  ArgDef arg;
  arg.name = proto.name();
  if (proto.type() != pb::DT_INVALID) arg.type = from_proto(proto.type());
  arg.type_attr = proto.type_attr();
  arg.number_attr = proto.number_attr();
  arg.type_list_attr = proto.type_list_attr();
  arg.is_ref = proto.is_ref();
  return arg;
}

pb::OpDef::AttrDef attr_def_to(const AttrDef& attr) {
  pb::OpDef::AttrDef proto;
  proto.set_name(attr.name);
  proto.set_type(attr.kind);
  if (attr.default_value) *proto.mutable_default_value() = to_proto(*attr.default_value);
  if (attr.minimum) {
    proto.set_has_minimum(true);
    proto.set_minimum(*attr.minimum);
  }
  for (const DType type : attr.allowed_types) proto.mutable_allowed_values()->mutable_list()->add_type(to_proto(type));
  for (const auto& text : attr.allowed_strings) proto.mutable_allowed_values()->mutable_list()->add_s(text);
  return proto;
}

AttrDef attr_def_from(const pb::OpDef::AttrDef& proto) {
  AttrDef attr;
  attr.name = proto.name();
  attr.kind = proto.type();
  if (proto.has_default_value()) attr.default_value = from_proto(proto.default_value());
  if (proto.has_minimum()) attr.minimum = proto.minimum();
  for (const int type : proto.allowed_values().list().type()) {
    attr.allowed_types.push_back(from_proto(static_cast<pb::DataType>(type)));
  }
  for (const auto& text : proto.allowed_values().list().s()) attr.allowed_strings.push_back(text);
  return attr;
}

}  // namespace

pb::AttrValue to_proto(const AttrValue& value) {
  pb::AttrValue proto;
  // An empty list still is one.
  if (value.kind().starts_with("list(")) proto.mutable_list();
  std::visit(ToProto{proto}, value.value());
  return proto;
}

AttrValue from_proto(const pb::AttrValue& proto) { return attr_from(proto, 0); }

AttrMap from_proto(const AttrProtoMap& proto, int depth) {
  AttrMap attrs;
  for (const auto& [name, value] : proto) {
    try {
      if (value.value_case() != pb::AttrValue::VALUE_NOT_SET) attrs.emplace(name, attr_from(value, depth));
    } catch (const Error& error) {
      throw error.in("attribute '" + name + "'");
    }
  }
  return attrs;
}

void to_proto(const AttrMap& attrs, AttrProtoMap* proto) {
  for (const auto& [name, value] : attrs) (*proto)[name] = to_proto(value);
}

pb::OpDef to_proto(const OpDef& def) {
  pb::OpDef proto;
  proto.set_name(def.name);
  for (const ArgDef& arg : def.inputs) *proto.add_input_arg() = arg_to(arg);
  for (const ArgDef& arg : def.outputs) *proto.add_output_arg() = arg_to(arg);
  for (const AttrDef& attr : def.attrs) *proto.add_attr() = attr_def_to(attr);
  proto.set_is_stateful(def.stateful);
  proto.set_is_commutative(def.commutative);
  proto.set_is_aggregate(def.aggregate);
  proto.set_allows_uninitialized_input(def.allows_uninitialized_input);
  if (def.deprecated_version > 0) proto.mutable_deprecation()->set_version(def.deprecated_version);
  return proto;
}

OpDef from_proto(const pb::OpDef& proto) {
  OpDef def;
  def.name = proto.name();
  for (const auto& arg : proto.input_arg()) def.inputs.push_back(arg_from(arg));
  for (const auto& arg : proto.output_arg()) def.outputs.push_back(arg_from(arg));
  for (const auto& attr : proto.attr()) def.attrs.push_back(attr_def_from(attr));
  def.stateful = proto.is_stateful();
  def.commutative = proto.is_commutative();
  def.aggregate = proto.is_aggregate();
  def.allows_uninitialized_input = proto.allows_uninitialized_input();
  def.deprecated_version = proto.deprecation().version();
  return def;
}

pb::NodeDef to_proto(const NodeRecord& record) {
  pb::NodeDef proto;
  proto.set_name(record.name);
  proto.set_op(record.op);
  proto.set_device(record.device);
  for (const auto& input : record.inputs) proto.add_input(input);
  to_proto(record.attrs, proto.mutable_attr());
  return proto;
}

NodeRecord from_proto(const pb::NodeDef& proto) {
  try {
    return {proto.name(),
            proto.op(),
            proto.device(),
            {proto.input().begin(), proto.input().end()},
            from_proto(proto.attr())};
  } catch (const Error& error) {
    throw error.at_node(proto.op(), proto.name());
  }
}

namespace {

// What a resource argument holds is written with the signature; in a body it is attributes of the _Arg node.
void handle_data_to(const AttrMap& arg_attrs, pb::OpDef::ArgDef& arg) {
  const AttrValue* dtypes = find_attr(arg_attrs, "_handle_dtypes");
  const AttrValue* shapes = find_attr(arg_attrs, "_handle_shapes");
  const auto* types = dtypes == nullptr ? nullptr : dtypes->get_if<std::vector<DType>>();
  const auto* sizes = shapes == nullptr ? nullptr : shapes->get_if<std::vector<PartialShape>>();
  if (types == nullptr || sizes == nullptr || types->size() != sizes->size()) return;
  for (std::size_t i = 0; i < types->size(); ++i) {
    auto* part = arg.add_handle_data();
    part->set_dtype(to_proto((*types)[i]));
    *part->mutable_shape() = to_proto((*sizes)[i]);
  }
}

void handle_data_from(const pb::OpDef::ArgDef& arg, AttrMap& arg_attrs) {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (const auto& part : arg.handle_data()) {
    dtypes.push_back(from_proto(part.dtype()));
    shapes.push_back(from_proto(part.shape()));
  }
  arg_attrs.emplace("_handle_dtypes", std::move(dtypes));
  arg_attrs.emplace("_handle_shapes", std::move(shapes));
}

}  // namespace

pb::FunctionDef to_proto(const Function& function) {
  pb::FunctionDef proto;
  *proto.mutable_signature() = to_proto(function.signature);
  for (const auto& [name, node] : function.control_returns) proto.mutable_signature()->add_control_output(name);
  to_proto(function.attrs, proto.mutable_attr());
  for (const auto& [index, attrs] : function.arg_attrs) {
    to_proto(attrs, (*proto.mutable_arg_attr())[static_cast<std::uint32_t>(index)].mutable_attr());
    if (index < proto.signature().input_arg_size()) {
      handle_data_to(attrs, *proto.mutable_signature()->mutable_input_arg(index));
    }
  }
  for (const auto& [index, id] : function.resource_arg_ids) (*proto.mutable_resource_arg_unique_id())[index] = id;
  for (const NodeRecord& node : function.nodes) *proto.add_node_def() = to_proto(node);
  for (const auto& [name, source] : function.returns) (*proto.mutable_ret())[name] = source;
  for (const auto& [name, node] : function.control_returns) (*proto.mutable_control_ret())[name] = node;
  return proto;
}

Function from_proto(const pb::FunctionDef& proto) {
  Function function;
  function.signature = from_proto(proto.signature());
  function.attrs = from_proto(proto.attr());
  for (const auto& [index, attrs] : proto.arg_attr()) {
    function.arg_attrs[static_cast<int>(index)] = from_proto(attrs.attr());
  }
  for (int i = 0; i < proto.signature().input_arg_size(); ++i) {
    const auto& arg = proto.signature().input_arg(i);
    if (arg.handle_data_size() > 0) handle_data_from(arg, function.arg_attrs[i]);
  }
  for (const auto& [index, id] : proto.resource_arg_unique_id()) {
    function.resource_arg_ids[static_cast<int>(index)] = static_cast<int>(id);
  }
  for (const auto& node : proto.node_def()) function.nodes.push_back(from_proto(node));
  function.returns.assign(proto.ret().begin(), proto.ret().end());
  std::ranges::sort(function.returns);
  function.control_returns.assign(proto.control_ret().begin(), proto.control_ret().end());
  std::ranges::sort(function.control_returns);
  return function;
}

}  // namespace caudal::inline v0
