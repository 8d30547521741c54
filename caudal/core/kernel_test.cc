#include "caudal/core/kernel.h"

#include <gtest/gtest.h>

#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variable_storage.h"
#include "caudal/runtime/cpu_device.h"

namespace caudal {
namespace {

template <class Action>
Code code_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

// Memory that a step lends.
class LentBuffer final : public Buffer {
 public:
  explicit LentBuffer(const BufferRef& inner) : Buffer(inner->data(), inner->bytes(), {}), inner_(inner) { set_lent(); }

 private:
  BufferRef inner_;
};

Tensor lent(const Tensor& tensor) {
  return Tensor(tensor.dtype(), tensor.shape(), BufferRef(new LentBuffer(tensor.buffer())));
}

// One node with one input and one output by hand.
class RunContextTest : public ::testing::Test {
 protected:
  RunContextTest() {
    node_.name = "node";
    node_.op = &lookup_op("Identity");
    node_.input_types = node_.output_types = {float32};
    node_.input_refs = node_.output_refs = {false};
    step_.device = device_.get();
    step_.resources = &resources_;
  }

  RunContext context() { return RunContext(node_, frame_, &step_); }

  std::unique_ptr<Device> device_ = make_cpu_device(1, std::make_shared<MemoryAccount>());
  ResourceManager resources_;
  StepContext step_;
  NodeInfo node_;
  Value input_, output_;
  Value* inputs_[1] = {&input_};
  RunContext::PlannedOutput planned_[1];
  const PrepareContext::Pair pair_[1] = {{0, 0}};
  RunContext::Frame frame_{.inputs = inputs_, .outputs = std::span(&output_, 1)};
};

TEST_F(RunContextTest, WritesOverAnInputThatOnlyTheNodeHolds) {
  frame_.in_place = pair_;
  input_.tensor = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const char* memory = input_.tensor.raw();
  auto run = context();
  EXPECT_EQ(run.allocate_output(0, {6}).raw(), memory);
  EXPECT_EQ(output_.tensor.shape(), (Shape{6}));
}

TEST_F(RunContextTest, TakesOtherMemoryWhereWritingOverIsNotAllowed) {
  const auto writes_over = [&](const Shape& shape) {
    output_ = {};
    auto run = context();
    return run.allocate_output(0, shape).raw() == input_.tensor.raw();
  };
  input_.tensor = Tensor(float32, {4});
  EXPECT_FALSE(writes_over({4}));  // the plan did not grant it
  frame_.in_place = pair_;
  EXPECT_TRUE(writes_over({4}));
  output_ = {};
  EXPECT_FALSE(writes_over({5}));  // another size
  {
    const Tensor held = input_.tensor;  // a feed, a constant, a variable's value: somebody else holds it
    EXPECT_FALSE(writes_over({4}));
  }
  node_.output_types = {float64};
  EXPECT_FALSE(writes_over({4}));
  node_.output_types = {int32};
  EXPECT_TRUE(writes_over({4}));  // same bytes
  output_ = {};
  input_.tensor = lent(input_.tensor);
  EXPECT_FALSE(writes_over({4}));
}

TEST_F(RunContextTest, PlannedMemoryServesThePlannedShapeOnly) {
  const Tensor arena(float32, {4});
  planned_[0] = {Shape{4}, BufferRef(new LentBuffer(arena.buffer()))};
  frame_.planned = planned_;
  auto run = context();
  EXPECT_EQ(run.allocate_output(0, {4}).raw(), arena.raw());
  EXPECT_TRUE(run.output(0).is_lent());
  EXPECT_NE(run.allocate_output(0, {2, 2}).raw(), arena.raw());
}

TEST_F(RunContextTest, LentMemoryLeavesOnlyAsACopyOrAnAlias) {
  const Tensor own = Tensor::from<float>({2}, {1, 2});
  auto run = context();
  run.set_output(0, own);
  EXPECT_EQ(output_.tensor.raw(), own.raw());
  run.set_output(0, lent(own));
  EXPECT_NE(output_.tensor.raw(), own.raw());
  EXPECT_TRUE(identical(output_.tensor, own));
  frame_.aliases = pair_;
  auto aliasing = context();
  aliasing.set_output(0, lent(own));
  EXPECT_EQ(output_.tensor.raw(), own.raw());
  EXPECT_EQ(code_of([&] { aliasing.set_output(0, Tensor(1)); }), Code::kInternal);
  input_.tensor = lent(own);
  EXPECT_NE(run.take_input(0).raw(), own.raw());
  input_.tensor = own;
  EXPECT_EQ(run.take_input(0).raw(), own.raw());
}

TEST_F(RunContextTest, ReferencesAreReadWhenTheNodeStarts) {
  const auto variable = std::make_shared<VariableStorage>("w", float32, PartialShape{});
  input_.ref = variable;
  auto run = context();
  EXPECT_EQ(code_of([&] { run.start(); }), Code::kFailedPrecondition);
  variable->assign(Tensor(1.0F));
  run.start();
  variable->assign(Tensor(2.0F));
  EXPECT_EQ(run.input(0).item<float>(), 1);
  EXPECT_EQ(&run.variable(0), variable.get());
  node_.input_refs = {true};
  EXPECT_EQ(code_of([&] { run.input(0); }), Code::kInternal);  // to be asked for as variable()
  input_ = {Tensor(1.0F)};
  EXPECT_EQ(code_of([&] { run.variable(0); }), Code::kInvalidArgument);
}

TEST_F(RunContextTest, HandlesFindTheirVariable) {
  node_.input_types = {resource};
  ResourceHandle handle;
  handle.name = "w";
  input_.tensor = Tensor::scalar(handle);
  auto run = context();
  EXPECT_EQ(code_of([&] { run.variable(0); }), Code::kFailedPrecondition);
  const auto variable = std::make_shared<VariableStorage>("w", float32, PartialShape{});
  resources_.get_or_create<VariableStorage>("", "w", [&] { return variable; });
  EXPECT_EQ(&run.variable(0), variable.get());
  handle.owned = std::make_shared<VariableStorage>("own", float32, PartialShape{});
  input_.tensor = Tensor::scalar(handle);
  EXPECT_EQ(run.variable(0).name(), "own");
}

TEST(Kernel, RunAsyncOfAPlainKernelReportsItsError) {
  class Failing final : public Kernel {
    void run(RunContext&) const override { throw aborted("no"); }
  };
  NodeInfo node;
  RunContext context(node, {}, nullptr);
  Code code = Code::kOk;
  Failing().run_async(context, [&](const Error* error) { code = error == nullptr ? Code::kOk : error->code(); });
  EXPECT_EQ(code, Code::kAborted);
}

class ShapeContextTest : public ::testing::Test {
 protected:
  ShapeContext context(std::vector<PartialShape> shapes) {
    node_.op = &lookup_op("ConcatV2");
    node_.attrs = {{"N", 2}, {"T", float32}, {"Tidx", int32}};
    node_.input_types = {float32, float32, int32};
    node_.output_types = {float32};
    std::vector<ShapeContext::Input> inputs;
    for (auto& shape : shapes) inputs.push_back({.shape = std::move(shape)});
    return ShapeContext(node_, std::move(inputs));
  }
  NodeInfo node_;
};

TEST_F(ShapeContextTest, NamesAndChecksInputs) {
  const ShapeContext c = context({{2, -1}, {-1, 3}, PartialShape::unknown()});
  EXPECT_EQ(c.input_name(0), "values[0]");
  EXPECT_EQ(c.input_name(1), "values[1]");
  EXPECT_EQ(c.input_name(2), "axis");
  EXPECT_EQ(c.merged(0, 1), (PartialShape{2, 3}));
  EXPECT_EQ(c.with_rank(2, 1), (PartialShape{-1}));
  EXPECT_EQ(c.with_rank_at_least(0, 2), (PartialShape{2, -1}));
  EXPECT_EQ(code_of([&] { c.with_rank(0, 1); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { c.with_rank_at_least(0, 3); }), Code::kInvalidArgument);
  const ShapeContext d = context({{2}, {3}, {}});
  EXPECT_EQ(code_of([&] { d.merged(0, 1); }), Code::kInvalidArgument);
  EXPECT_EQ(ShapeContext::merge_dim(-1, 3, "sizes"), 3);
  EXPECT_EQ(code_of([] { ShapeContext::merge_dim(2, 3, "sizes"); }), Code::kInvalidArgument);
}

TEST_F(ShapeContextTest, ReadsVectorsAsShapes) {
  const Tensor value(std::vector<int>{2, -1});
  std::vector<ShapeContext::Input> inputs(3);
  inputs[0] = {.shape = {2}, .constant = [&] { return &value; }};
  inputs[1] = {.shape = {2}, .as_shape = [] { return PartialShape{7, -1}; }};
  inputs[2] = {.shape = {3}};
  (void)context({});
  const ShapeContext c(node_, inputs);
  EXPECT_EQ(c.input_as_shape(0), (PartialShape{2, -1}));
  EXPECT_EQ(c.input_as_shape(1), (PartialShape{7, -1}));
  EXPECT_EQ(c.input_as_shape(2), PartialShape::unknown_of_rank(3));
  EXPECT_EQ(c.constant_input(2), nullptr);
}

TEST(Broadcast, NumpysRule) {
  EXPECT_EQ(broadcast({4, 1, 3}, {5, 3}), (PartialShape{4, 5, 3}));
  EXPECT_EQ(broadcast(PartialShape::scalar(), {2}), (PartialShape{2}));
  EXPECT_EQ(broadcast({-1, 3}, {1, 3}), (PartialShape{-1, 3}));
  EXPECT_EQ(broadcast({-1}, {3}), (PartialShape{3}));  // must be 1 or 3
  EXPECT_EQ(broadcast({-1}, {-1}), (PartialShape{-1}));
  EXPECT_EQ(broadcast({0}, {1}), (PartialShape{0}));
  EXPECT_EQ(broadcast(PartialShape::unknown(), {3}), PartialShape::unknown());
  EXPECT_EQ(code_of([] { broadcast({2}, {3}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { broadcast({0}, {3}); }), Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
