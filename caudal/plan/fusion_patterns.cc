// The patterns of fusion: which ops in which arrangement are one fused op. Names are TensorFlow's; fused ops that it
// has not begin with _Caudal.
#include <algorithm>
#include <iterator>

#include "caudal/plan/fuser.h"

namespace caudal::inline v0 {
namespace {

using Result = Fusion::Result;

bool is_float(const Fuser& fuser, int step) { return fuser.info(step).output_types[0] == DType::kFloat; }

AttrMap copied(const NodeInfo& node, std::initializer_list<const char*> names) {
  AttrMap attrs;
  for (const char* name : names) {
    if (const AttrValue* value = find_attr(node.attrs, name)) attrs.emplace(name, *value);
  }
  return attrs;
}

AttrMap conv_attrs(const NodeInfo& node) {
  return copied(node, {"T", "strides", "padding", "explicit_paddings", "data_format", "dilations"});
}

// Images in TensorFlow's default order.
bool is_nhwc(const Fuser& fuser, int step) { return fuser.info(step).attr<std::string>("data_format") == "NHWC"; }

// --- A product or convolution with what follows element by element ---

// The bias that `step` adds to a value with `channels` last, and the slot of that value; -1 if it adds none.
struct BiasAddition {
  int value = -1, bias = -1;
};
BiasAddition bias_addition(const Fuser& fuser, int step) {
  if (fuser.is(step, "BiasAdd") && is_nhwc(fuser, step)) return {fuser.input(step, 0), fuser.input(step, 1)};
  if (!fuser.is(step, "AddV2") && !fuser.is(step, "Add")) return {};
  for (const int side : {0, 1}) {
    const int value = fuser.input(step, side), bias = fuser.input(step, 1 - side);
    const Shape shape = fuser.shape(value), row = fuser.shape(bias);
    if (shape.rank() >= 2 && row.rank() == 1 && row[0] == shape[-1]) return {value, bias};
  }
  return {};
}

// A step behind `main` that adds a bias to all it makes; -1 if there is none.
int bias_step_behind(const Fuser& fuser, int main) {
  const int made = fuser.output(main);
  const std::vector<int> readers = fuser.consumers(made);
  if (fuser.slot(made).is_fetch || readers.size() != 1 || bias_addition(fuser, readers[0]).value != made) return -1;
  return readers[0];
}

// MatMul or Conv2D, a bias, and perhaps a ReLU behind it that is all that reads the sum.
bool fuse_bias(Fuser& fuser, int main, const char* op, AttrMap attrs) {
  const int add = bias_step_behind(fuser, main);
  if (add < 0) return false;
  Fusion fusion{.op = op, .attrs = std::move(attrs)};
  fusion.members = {main, add};
  fusion.inputs = {fuser.input(main, 0), fuser.input(main, 1), bias_addition(fuser, add).bias};
  std::vector<std::string> ops = {"BiasAdd"};
  int last = add;
  if (const int relu = fuser.sole_consumer(fuser.output(add), "Relu"); relu >= 0) {
    fusion.members.push_back(relu);
    ops.emplace_back("Relu");
    last = relu;
  }
  fusion.attrs["fused_ops"] = ops;
  fusion.attrs["num_args"] = 1;
  fusion.results = {Result{fuser.output(last)}};
  return fuser.replace({std::move(fusion)});
}

bool matmul_with_bias(Fuser& fuser, int step) {
  if (!fuser.is(step, "MatMul") || !is_float(fuser, step)) return false;
  return fuse_bias(fuser, step, "_FusedMatMul", copied(fuser.info(step), {"T", "transpose_a", "transpose_b"}));
}

bool conv_with_bias(Fuser& fuser, int step) {
  if (!fuser.is(step, "Conv2D") || !is_float(fuser, step) || !is_nhwc(fuser, step)) return false;
  AttrMap attrs = conv_attrs(fuser.info(step));
  attrs["TArgs"] = std::vector<DType>{DType::kFloat};
  return fuse_bias(fuser, step, "_FusedConv2D", std::move(attrs));
}

// --- The gradient of a ReLU with the product that makes it ---

// ReluGrad(x, y) as a gate on x, where x is the product of `maker`, perhaps seen under another shape.
bool relu_gradient(Fuser& fuser, int step) {
  if (!fuser.is(step, "ReluGrad") || !is_float(fuser, step)) return false;
  int made = fuser.input(step, 0);
  std::vector<int> between;
  if (const int reshape = fuser.producer(made); fuser.is(reshape, "Reshape")) {
    between.push_back(reshape);
    made = fuser.input(reshape, 0);
  }
  const int maker = fuser.producer(made);
  Fusion fusion;
  if (fuser.is(maker, "MatMul")) {
    fusion.op = "_CaudalMatMulReluGrad";
    fusion.attrs = copied(fuser.info(maker), {"T", "transpose_a", "transpose_b"});
    fusion.inputs = {fuser.input(maker, 0), fuser.input(maker, 1)};
  } else if (fuser.is(maker, "Conv2DBackpropInput") && between.empty() && is_nhwc(fuser, maker)) {
    fusion.op = "_CaudalConv2DBackpropInputReluGrad";
    fusion.attrs = conv_attrs(fuser.info(maker));
    fusion.inputs = {fuser.input(maker, 1), fuser.input(maker, 2)};
  } else {
    return false;
  }
  fusion.inputs.push_back(fuser.input(step, 1));
  fusion.members = {maker, step};
  fusion.members.insert(fusion.members.end(), between.begin(), between.end());
  fusion.results = {Result{fuser.output(step)}};
  return fuser.replace({std::move(fusion)});
}

// --- A convolution with the pooling behind it, and the way back through both ---

// What stands around a max-pooling in a training step: convolution (with bias, ReLU), pooling; gradients of the
// pooling, the ReLU, the bias, and of the convolution by its filter and its input (through the ReLU that this comes
// from).
struct PoolStack {
  int conv = -1, pool = -1, pool_grad = -1, relu_grad = -1, bias_grad = -1, filter_grad = -1, input_grad = -1;
  int input_relu_grad = -1;
  bool has_relu = false;

  // What the convolution's gradients read.
  int gradient(const Fuser& fuser) const { return fuser.output(relu_grad >= 0 ? relu_grad : pool_grad); }
};

// Whether the last of a fused convolution's steps is a ReLU.
bool has_relu(const NodeInfo& fused_conv) {
  const auto& ops = fused_conv.attr<std::vector<std::string>>("fused_ops");
  return std::ranges::count(ops, "Relu") > 0;
}

AttrMap pool_attrs(const NodeInfo& node) { return copied(node, {"ksize", "strides", "padding", "data_format"}); }

bool same_window(const NodeInfo& a, const NodeInfo& b) { return conv_attrs(a) == conv_attrs(b); }

// Windows of at most 255 pixels without padding by numbers, over images only.
bool is_plain_pool(const Fuser& fuser, int pool) {
  const NodeInfo& node = fuser.info(pool);
  const auto& size = node.attr<std::vector<std::int64_t>>("ksize");
  const auto& stride = node.attr<std::vector<std::int64_t>>("strides");
  return is_float(fuser, pool) && is_nhwc(fuser, pool) && node.attr<std::string>("padding") != "EXPLICIT" &&
         size[0] == 1 && size[3] == 1 && stride[0] == 1 && stride[3] == 1 && size[1] * size[2] <= 255;
}

// Whether the gradient of the convolution's value goes into gradients of this convolution only, which are noted.
bool find_gradients(const Fuser& fuser, PoolStack& stack) {
  const int gradient = stack.gradient(fuser);
  if (fuser.slot(gradient).is_fetch) return false;
  for (const int reader : fuser.consumers(gradient)) {
    int* place = nullptr;
    if (fuser.is(reader, "BiasAddGrad") && is_nhwc(fuser, reader)) {
      place = &stack.bias_grad;
    } else if (fuser.is(reader, "Conv2DBackpropFilter") && fuser.input(reader, 0) == fuser.input(stack.conv, 0) &&
               fuser.shape(fuser.output(reader)) == fuser.shape(fuser.input(stack.conv, 1))) {
      place = &stack.filter_grad;
    } else if (fuser.is(reader, "Conv2DBackpropInput") && fuser.input(reader, 1) == fuser.input(stack.conv, 1) &&
               fuser.shape(fuser.output(reader)) == fuser.shape(fuser.input(stack.conv, 0))) {
      place = &stack.input_grad;
    }
    if (place == nullptr || *place >= 0) return false;
    if (place != &stack.bias_grad && !same_window(fuser.info(reader), fuser.info(stack.conv))) return false;
    *place = reader;
  }
  if (stack.input_grad >= 0) {
    stack.input_relu_grad = fuser.sole_consumer(fuser.output(stack.input_grad), "ReluGrad");
  }
  return stack.filter_grad >= 0;
}

// The stack around a fused convolution whose value goes into one pooling.
std::optional<PoolStack> pool_stack(const Fuser& fuser, int conv) {
  PoolStack stack{.conv = conv, .has_relu = has_relu(fuser.info(conv))};
  const int value = fuser.output(conv);
  if (fuser.slot(value).is_fetch) return std::nullopt;
  for (const int reader : fuser.consumers(value)) {
    int* place = fuser.is(reader, "MaxPool")       ? &stack.pool
                 : fuser.is(reader, "MaxPoolGrad") ? &stack.pool_grad
                 : fuser.is(reader, "ReluGrad")    ? &stack.relu_grad
                                                   : nullptr;
    if (place == nullptr || *place >= 0) return std::nullopt;
    *place = reader;
  }
  if (stack.pool < 0 || !is_plain_pool(fuser, stack.pool)) return std::nullopt;
  const int pooled = fuser.output(stack.pool);
  if (stack.pool_grad < 0) return stack.relu_grad < 0 ? std::optional(stack) : std::nullopt;
  const bool belongs = fuser.input(stack.pool_grad, 0) == value && fuser.input(stack.pool_grad, 1) == pooled &&
                       pool_attrs(fuser.info(stack.pool_grad)) == pool_attrs(fuser.info(stack.pool));
  if (!belongs || stack.has_relu != (stack.relu_grad >= 0)) return std::nullopt;
  if (stack.has_relu && (fuser.sole_consumer(fuser.output(stack.pool_grad), "ReluGrad") != stack.relu_grad ||
                         fuser.input(stack.relu_grad, 1) != value)) {
    return std::nullopt;
  }
  return find_gradients(fuser, stack) ? std::optional(stack) : std::nullopt;
}

Slot value_slot(const Fuser& fuser, int like, DType dtype, const Shape& shape) {
  Slot slot;
  slot.source = fuser.slot(like).source;
  slot.dtype = dtype;
  slot.shape = PartialShape(shape);
  return slot;
}

void add_pool_attrs(const NodeInfo& pool, AttrMap& attrs) {
  const auto images = [](const std::vector<std::int64_t>& all) { return std::vector<std::int64_t>{all[1], all[2]}; };
  attrs["pool_size"] = images(pool.attr<std::vector<std::int64_t>>("ksize"));
  attrs["pool_strides"] = images(pool.attr<std::vector<std::int64_t>>("strides"));
  attrs["pool_padding"] = pool.attr<std::string>("padding");
}

AttrMap stack_attrs(const Fuser& fuser, const PoolStack& stack) {
  AttrMap attrs = conv_attrs(fuser.info(stack.conv));
  attrs.erase("T");
  attrs["relu"] = stack.has_relu;
  add_pool_attrs(fuser.info(stack.pool), attrs);
  return attrs;
}

Fusion forward_of(const Fuser& fuser, const PoolStack& stack) {
  const int pooled = fuser.output(stack.pool);
  Fusion fusion{.op = "_CaudalConv2DMaxPool", .attrs = stack_attrs(fuser, stack)};
  fusion.members = {stack.conv, stack.pool};
  fusion.inputs = {fuser.input(stack.conv, 0), fuser.input(stack.conv, 1), fuser.input(stack.conv, 2)};
  fusion.results = {Result{pooled}, Result{-1, value_slot(fuser, pooled, DType::kUint8, fuser.shape(pooled))}};
  return fusion;
}

Fusion filter_gradient_of(const Fuser& fuser, const PoolStack& stack) {
  const int gradient = stack.gradient(fuser);
  Fusion fusion{.op = "_CaudalConv2DMaxPoolBackpropFilter", .attrs = stack_attrs(fuser, stack)};
  fusion.attrs["filter_shape"] = PartialShape(fuser.shape(fuser.input(stack.conv, 1)));
  fusion.members = {stack.filter_grad, stack.pool_grad};
  if (stack.relu_grad >= 0) fusion.members.push_back(stack.relu_grad);
  fusion.inputs = {fuser.input(stack.conv, 0), fuser.input(stack.pool_grad, 2), Fuser::added_slot(0, 1),
                   fuser.output(stack.pool)};
  fusion.results = {Result{fuser.output(stack.filter_grad)}};
  if (stack.bias_grad >= 0) {
    fusion.members.push_back(stack.bias_grad);
    fusion.results.push_back(Result{fuser.output(stack.bias_grad)});
  } else {
    const Shape channels = {fuser.shape(gradient)[-1]};
    fusion.results.push_back(Result{-1, value_slot(fuser, gradient, DType::kFloat, channels)});
  }
  return fusion;
}

Fusion input_gradient_of(const Fuser& fuser, const PoolStack& stack) {
  Fusion fusion{.op = "_CaudalConv2DMaxPoolBackpropInput", .attrs = stack_attrs(fuser, stack)};
  fusion.attrs["input_shape"] = PartialShape(fuser.shape(fuser.output(stack.input_grad)));
  fusion.members = {stack.input_grad};
  fusion.inputs = {fuser.input(stack.conv, 1), fuser.input(stack.pool_grad, 2), Fuser::added_slot(0, 1),
                   fuser.output(stack.pool)};
  const bool gated = stack.input_relu_grad >= 0;
  fusion.attrs["num_gates"] = gated ? 1 : 0;
  if (gated) {
    fusion.members.push_back(stack.input_relu_grad);
    fusion.inputs.push_back(fuser.input(stack.input_relu_grad, 1));
  }
  fusion.results = {Result{fuser.output(gated ? stack.input_relu_grad : stack.input_grad)}};
  return fusion;
}

bool conv_with_pool(Fuser& fuser, int step) {
  if (!fuser.is(step, "_FusedConv2D")) return false;
  const auto stack = pool_stack(fuser, step);
  if (!stack) return false;
  std::vector<Fusion> groups = {forward_of(fuser, *stack)};
  if (stack->pool_grad >= 0) groups.push_back(filter_gradient_of(fuser, *stack));
  if (stack->input_grad >= 0) groups.push_back(input_gradient_of(fuser, *stack));
  return fuser.replace(std::move(groups));
}

}  // namespace

std::span<const FusionPattern> fusion_patterns() {
  static constexpr FusionPattern kPatterns[] = {matmul_with_bias, conv_with_bias, conv_with_pool, relu_gradient};
  return kPatterns;
}

}  // namespace caudal::inline v0
