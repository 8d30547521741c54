#include "caudal/ops/training_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>

#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"

namespace caudal {
namespace {

using Numbers = std::vector<double>;

Code code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

// Three steps from var = [1, 2, -3] with the gradients [0.5, -1, 2 + k]; of the sparse ones for the rows [2, 0, 2].
// Expected: the variable and its slots afterwards, by TensorFlow 2.21.
struct Trajectory {
  std::string name;
  std::vector<double> slots;  // start values
  std::function<Operation(const Variable& v, const std::vector<Variable>& s, const Output& grad, const Output& power1,
                          const Output& power2)>
      update;
  std::vector<Numbers> expected;
};

const std::vector<int> kRows = {2, 0, 2};

std::vector<Trajectory> trajectories() {
  using raw_ops::ApplyAdagradOptions;
  using raw_ops::ApplyNesterovOptions;
  using Slots = std::vector<Variable>;
  const auto momentum = [](bool nesterov) {
    return [=](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
      return raw_ops::apply_momentum(v, s[0], .1, g, .9, {.use_nesterov = nesterov});
    };
  };
  const auto adam = [](bool nesterov) {
    return [=](const Variable& v, const Slots& s, const Output& g, const Output& p1, const Output& p2) {
      return raw_ops::apply_adam(v, s[0], s[1], p1, p2, .1, .9, .999, 1e-8, g, {.use_nesterov = nesterov});
    };
  };
  const auto adagrad = [](bool update_slots) {
    return [=](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
      return raw_ops::apply_adagrad(v, s[0], .1, g, {.update_slots = update_slots});
    };
  };
  const auto adagrad_v2 = [](bool update_slots) {
    return [=](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
      return raw_ops::apply_adagrad_v2(v, s[0], .1, .1, g, {.update_slots = update_slots});
    };
  };
  const auto sparse_momentum = [](bool nesterov) {
    return [=](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
      return raw_ops::sparse_apply_momentum(v, s[0], .1, g, kRows, .9, {.use_nesterov = nesterov});
    };
  };
  return {
      {"GradientDescent",
       {},
       [](const Variable& v, const Slots&, const Output& g, const Output&, const Output&) {
         return raw_ops::apply_gradient_descent(v, .1, g);
       },
       {{0.8499999642372131, 2.299999713897705, -3.9000000953674316}}},
      {"Momentum",
       {0},
       momentum(false),
       {{0.7195000052452087, 2.560999870300293, -4.51200008392334},
        {1.3550000190734863, -2.7100000381469727, 8.319999694824219}}},
      {"Nesterov",
       {0},
       momentum(true),
       {{0.5975499749183655, 2.8048999309539795, -5.260799884796143},
        {1.3550000190734863, -2.7100000381469727, 8.319999694824219}}},
      {"Adam",
       {0, 0},
       adam(false),
       {{0.6999985575675964, 2.300001382827759, -3.297806978225708},
        {0.13550002872943878, -0.27100005745887756, 0.832000195980072},
        {0.0007492406293749809, 0.0029969625174999237, 0.028982631862163544}}},
      {"AdamNesterov",
       {0, 0},
       adam(true),
       {{0.5404661893844604, 2.45953369140625, -3.477416515350342},
        {0.13550002872943878, -0.27100005745887756, 0.832000195980072},
        {0.0007492406293749809, 0.0029969625174999237, 0.028982631862163544}}},
      {"RMSProp",
       {1, 0},
       [](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
         return raw_ops::apply_rmsprop(v, s[0], s[1], .1, .9, .9, 1e-10, g);
       },
       {{0.7005078196525574, 2.560999870300293, -4.086491107940674},
        {0.7967499494552612, 1.0, 3.463000535964966},
        {0.14672093093395233, -0.2709999978542328, 0.5446944832801819}}},
      {"CenteredRMSProp",
       {0, 1, 0},
       [](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
         return raw_ops::apply_centered_rmsprop(v, s[0], s[1], s[2], .1, .9, .9, 1e-10, g);
       },
       {{0.6991161108016968, 2.5697779655456543, -4.1434102058410645},
        {0.13550002872943878, -0.27100005745887756, 0.832000195980072},
        {0.7967499494552612, 1.0, 3.463000535964966},
        {0.1476925015449524, -0.276965469121933, 0.5836923718452454}}},
      {"Adagrad",
       {.1},
       adagrad(true),
       {{0.7967022061347961, 2.221148729324341, -3.255810260772705},
        {0.8500000238418579, 3.0999999046325684, 29.100000381469727}}},
      {"AdagradKeepingSlots",
       {.1},
       adagrad(false),
       {{0.5256583094596863, 2.948683023452759, -5.846050262451172}, {.1, .1, .1}}},
      {"AdagradV2",
       {.1},
       adagrad_v2(true),
       {{0.821609616279602, 2.2053425312042236, -3.2475838661193848},
        {0.8500000238418579, 3.0999999046325684, 29.100000381469727}}},
      {"AdagradV2KeepingSlots",
       {.1},
       adagrad_v2(false),
       {{0.6396203637123108, 2.7207589149475098, -5.162277698516846}, {.1, .1, .1}}},
      {"SparseMomentum",
       {0},
       sparse_momentum(false),
       {{1.5609999895095825, 2.0, -5.533249378204346}, {-2.7100000381469727, 0.0, 8.851944923400879}}},
      {"SparseNesterov",
       {0},
       sparse_momentum(true),
       {{1.804900050163269, 2.0, -6.329924583435059}, {-2.7100000381469727, 0.0, 8.851944923400879}}},
      {"SparseRMSProp",
       {1, 0},
       [](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
         return raw_ops::sparse_apply_rmsprop(v, s[0], s[1], .1, .9, .9, 1e-10, g, kRows);
       },
       {{1.5609999895095825, 2.0, -5.025490760803223},
        {1.0, 1.0, 3.1783688068389893},
        {-0.2709999978542328, 0.0, 0.6167994737625122}}},
      {"SparseCenteredRMSProp",
       {0, 1, 0},
       [](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
         return raw_ops::sparse_apply_centered_rmsprop(v, s[0], s[1], s[2], .1, .9, .9, 1e-10, g, kRows);
       },
       {{1.5697780847549438, 2.0, -5.1419267654418945},
        {-0.27100005745887756, 0.0, 0.8851946592330933},
        {1.0, 1.0, 3.1783688068389893},
        {-0.276965469121933, 0.0, 0.6735879778862}}},
      {"SparseAdagrad",
       {.1},
       [](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
         return raw_ops::sparse_apply_adagrad(v, s[0], .1, g, kRows);
       },
       {{1.22114896774292, 2.0, -3.3717174530029297}, {3.0999999046325684, 0.10000000149011612, 29.850000381469727}}},
      {"SparseAdagradV2",
       {.1},
       [](const Variable& v, const Slots& s, const Output& g, const Output&, const Output&) {
         return raw_ops::sparse_apply_adagrad_v2(v, s[0], .1, .1, g, kRows);
       },
       {{1.205342411994934, 2.0, -3.3502564430236816}, {3.0999999046325684, 0.10000000149011612, 29.850000381469727}}},
  };
}

class TrainingOps : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, TrainingOps, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

TEST_P(TrainingOps, FollowTensorFlow) {
  for (const Trajectory& t : trajectories()) {
    SCOPED_TRACE(t.name);
    Graph graph;
    const GraphScope scope(graph);
    const auto make = [&](const std::vector<float>& start) {
      return Variable(Tensor(start), {.use_resource = GetParam()});
    };
    const Variable v = make({1, 2, -3});
    std::vector<Variable> slots;
    for (const double start : t.slots) slots.push_back(make(std::vector<float>(3, static_cast<float>(start))));
    const Output grad = placeholder(float32, {3}), power1 = placeholder(float32, PartialShape::scalar()),
                 power2 = placeholder(float32, PartialShape::scalar());
    const Operation update = t.update(v, slots, grad, power1, power2);
    Session session;
    session.run(global_variables_initializer());
    for (int k = 0; k < 3; ++k) {
      const auto p1 = static_cast<float>(std::pow(.9, k + 1)), p2 = static_cast<float>(std::pow(.999, k + 1));
      session.run(update, {{grad, Tensor(std::vector<float>{.5F, -1, 2.F + static_cast<float>(k)})},
                           {power1, Tensor(p1)},
                           {power2, Tensor(p2)}});
    }
    slots.insert(slots.begin(), v);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const auto values = session.run(slots[s]).to_vector<float>();
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(values[i], t.expected[s][i], 2e-6 * (1 + std::abs(t.expected[s][i]))) << "variable " << s;
      }
    }
  }
}

TEST_P(TrainingOps, ChangeNothingWhereSomethingIsWrong) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor(std::vector<float>{1, 2}), {.name = "weights", .use_resource = GetParam()});
  const Variable ready(Tensor(std::vector<float>{0, 0}), {.use_resource = GetParam()});
  const Variable missing(Tensor(std::vector<float>{0, 0}), {.name = "weights/Momentum", .use_resource = GetParam()});
  const Output grad = placeholder(float32);
  EXPECT_EQ(code_of([&] {
              raw_ops::apply_momentum(v, ready, .1, Tensor(std::vector<float>{1, 2, 3}), .9);
            }),
            Code::kInvalidArgument);
  const Operation uses_missing = raw_ops::apply_momentum(v, missing, .1, grad, .9);
  const Operation uses_ready = raw_ops::apply_momentum(v, ready, .1, grad, .9);
  const Output rows = placeholder(int32);
  const Operation sparse = raw_ops::sparse_apply_adagrad(v, ready, .1, grad, rows);
  Session session;
  session.run(v.initializer());
  session.run(ready.initializer());
  const Tensor two(std::vector<float>{1, 1}), three(std::vector<float>{1, 1, 1});
  std::string message;
  EXPECT_EQ(code_of([&] { session.run(uses_missing, {{grad, two}}); }, &message), Code::kFailedPrecondition);
  EXPECT_NE(message.find("weights/Momentum"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { session.run(uses_ready, {{grad, three}}); }, &message), Code::kInvalidArgument);
  EXPECT_NE(message.find("variable 'weights' has shape [2], the gradient [3]"), std::string::npos) << message;
  for (const int bad : {-1, 2}) {
    EXPECT_EQ(code_of([&] {
                session.run(sparse, {{grad, two}, {rows, Tensor(std::vector<int>{0, bad})}});
              }),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(session.run(v).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(session.run(ready).to_vector<float>(), (std::vector<float>{0, 0}));
}

// Adagrad, learning rate 0.1, accumulator 0.1, two gradients of one for the same row: their sum moves it by 0.098773;
// one after the other they would move it by 0.1643529.
TEST(SumDuplicates, AddsUpEqualIndices) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor(std::vector<float>{0})), accum(Tensor(std::vector<float>{.1F}));
  const Variable w(Tensor(std::vector<float>{0})), accum2(Tensor(std::vector<float>{.1F}));
  const IndexedSlices grad{.values = constant(Tensor(std::vector<float>{1, 1})),
                           .indices = constant(Tensor(std::vector<int>{0, 0})),
                           .dense_shape = {}};
  const IndexedSlices summed = sum_duplicates(grad);
  const Operation once = raw_ops::sparse_apply_adagrad(v, accum, .1, summed.values, summed.indices);
  const Operation twice = raw_ops::sparse_apply_adagrad(w, accum2, .1, grad.values, grad.indices);
  Session session;
  session.run(global_variables_initializer());
  session.run(once);
  session.run(twice);
  EXPECT_NEAR(session.run(v).item<float>(), -.0987730, 1e-6);
  EXPECT_NEAR(session.run(w).item<float>(), -.1643529, 1e-6);
}

using Complex = std::complex<double>;
using Complexes = std::vector<Complex>;

// Two updates of complex variables by TensorFlow 2.21, in complex128.
struct ComplexCase {
  std::string op;
  std::vector<Complexes> slots;  // start values
  Complexes scalars;
  std::string flag;
  bool flag_value;
  std::vector<Complexes> expected;  // the variable and its slots
};

std::vector<ComplexCase> complex_cases() {
  const Complexes kFirst = {{.3, .1}, {.2, -.4}}, kSecond = {{1, .2}, {.5, -.1}};
  const Complex kRate(.1, .05);
  const Complexes kRmsProp = {kRate, .9, {.8, -.1}, .01};
  return {
      {"ApplyGradientDescent", {}, {kRate}, "", false, {{{1, -0.75}, {-1.75, 0.625}}}},
      {"ApplyMomentum",
       {kFirst},
       {kRate, Complex(.9, -.1)},
       "use_nesterov",
       false,
       {{{0.938, -0.898}, {-1.71585, 0.50595}}, {{1.308, 1.876}, {-0.187, 3.469}}}},
      {"ApplyMomentum",
       {kFirst},
       {kRate, Complex(.9, -.1)},
       "use_nesterov",
       true,
       {{{0.9044, -1.102}, {-1.54367, 0.15194}}, {{1.308, 1.876}, {-0.187, 3.469}}}},
      {"ApplyAdam",
       {kFirst, kSecond},
       {.9, Complex(.99, .01), kRate, Complex(.9, .1), .99, .01},
       "use_nesterov",
       false,
       {{{0.877815742408228, -0.550330219347928}, {-2.17787295792125, 0.953638615021114}},
        {{0.502, 0.244}, {0.542, 0.161}},
        {{0.965175, 0.21592}, {0.41169375, -0.11791}}}},
      {"ApplyAdam",
       {kFirst, kSecond},
       {.9, Complex(.99, .01), kRate, Complex(.9, .1), .99, .01},
       "use_nesterov",
       true,
       {{{0.855067056895153, -0.569302976779071}, {-2.20533416308878, 0.840632971657848}},
        {{0.502, 0.244}, {0.542, 0.161}},
        {{0.965175, 0.21592}, {0.41169375, -0.11791}}}},
      {"ApplyRMSProp",
       {kSecond, kFirst},
       kRmsProp,
       "",
       false,
       {{{0.459289606308586, -0.938451160527416}, {-1.02182276454128, 1.33810311875627}},
        {{0.6675, 0.352}, {-0.343125, -0.271}},
        {{0.269256456262378, 0.256992484748085}, {-0.628934731952021, -0.177489887088694}}}},
      {"ApplyCenteredRMSProp",
       {kFirst, kSecond, kFirst},
       kRmsProp,
       "",
       false,
       {{{0.485299643241719, -0.968958307396688}, {-0.940627491593207, 1.231900221807}},
        {{0.338, 0.271}, {0.1145, 0.0559999999999999}},
        {{0.6675, 0.352}, {-0.343125, -0.271}},
        {{0.250388348078927, 0.278589445547486}, {-0.658850057130043, -0.125855830297373}}}},
      {"ApplyAdagrad",
       {kSecond},
       {kRate},
       "update_slots",
       false,
       {{{0.975605959902789, -0.746355886957097}, {-1.599852589975, 0.511898627588778}}, {{1, 0.2}, {0.5, -0.1}}}},
      {"ApplyAdagrad",
       {kSecond},
       {kRate},
       "update_slots",
       true,
       {{{0.863729921753328, -0.639515623318497}, {-1.81903672107849, 1.08513261055781}},
        {{-0.5, 2.2}, {-7.375, -2.1}}}},
      {"ApplyAdagradV2",
       {kSecond},
       {kRate, .1},
       "update_slots",
       false,
       {{{0.979787694271109, -0.724436599829052}, {-1.65403562203604, 0.567410225690378}}, {{1, 0.2}, {0.5, -0.1}}}},
      {"ApplyAdagradV2",
       {kSecond},
       {kRate, .1},
       "update_slots",
       true,
       {{{0.878163025100733, -0.637999548430767}, {-1.81685257309366, 1.07629332745192}},
        {{-0.5, 2.2}, {-7.375, -2.1}}}},
      {"SparseApplyMomentum",
       {kFirst},
       {kRate, Complex(.9, -.1)},
       "use_nesterov",
       false,
       {{{1.29425, -1.09175}, {-2.0721, 0.6997}}, {{-0.017, 3.851}, {1.138, 1.494}}}},
      {"SparseApplyMomentum",
       {kFirst},
       {kRate, Complex(.9, -.1)},
       "use_nesterov",
       true,
       {{{1.45565, -1.437}, {-2.09492, 0.48694}}, {{-0.017, 3.851}, {1.138, 1.494}}}},
      {"SparseApplyRMSProp",
       {kSecond, kFirst},
       kRmsProp,
       "",
       false,
       {{{1.35932960162991, -1.65010275745759}, {-2.25048145204514, 1.035161809254}},
        {{0.0618750000000002, -0.0279999999999999}, {0.2625, 0.109}},
        {{-0.456818790965758, 0.828172874638254}, {0.127866246317411, 0.103433391726549}}}},
      {"SparseApplyCenteredRMSProp",
       {kFirst, kSecond, kFirst},
       kRmsProp,
       "",
       false,
       {{{1.17160766283822, -1.2571719109281}, {-2.33206627189208, 1.06356419415857}},
        {{0.1955, 0.461}, {0.257, -0.134}},
        {{0.0618750000000002, -0.0279999999999999}, {0.2625, 0.109}},
        {{-0.237851267775731, 0.463037226810213}, {0.18195828341521, 0.0859642212801231}}}},
      {"SparseApplyAdagrad",
       {kSecond},
       {kRate},
       "update_slots",
       false,
       {{{1.20976482681128, -0.893927870532857}, {-1.96550161765345, 0.65160016349482}}, {{1, 0.2}, {0.5, -0.1}}}},
      {"SparseApplyAdagrad",
       {kSecond},
       {kRate},
       "update_slots",
       true,
       {{{1.19175280721613, -0.405711876935224}, {-2.1759976498518, 0.877645154150917}}, {{-6.875, -1.8}, {-1, 1.9}}}},
      {"SparseApplyAdagradV2",
       {kSecond},
       {kRate, .1},
       "update_slots",
       false,
       {{{1.19411814123572, -0.856867205472469}, {-1.97342867918882, 0.693892603252801}}, {{1, 0.2}, {0.5, -0.1}}}},
      {"SparseApplyAdagradV2",
       {kSecond},
       {kRate, .1},
       "update_slots",
       true,
       {{{1.19459599821858, -0.415806136814017}, {-2.15856830789525, 0.872898840588013}}, {{-6.875, -1.8}, {-1, 1.9}}}},
  };
}

TEST(ComplexTraining, FollowTensorFlowInComplexNumbers) {
  for (const ComplexCase& t : complex_cases()) {
    for (const DType type : {complex64, complex128}) {
      SCOPED_TRACE(t.op + " " + t.flag + (t.flag_value ? "+" : "-") + " " + std::string(dtype_name(type)));
      const auto tensor = [&](const Complexes& values) {
        const Shape shape{static_cast<std::int64_t>(values.size())};
        if (type == complex128) return Tensor::from<Complex>(shape, values);
        return Tensor::from<std::complex<float>>(shape, {values.begin(), values.end()});
      };
      Graph graph;
      const GraphScope scope(graph);
      std::vector<Variable> variables = {Variable(tensor({{1, -.5}, {-2, 1}}))};
      for (const Complexes& slot : t.slots) variables.emplace_back(tensor(slot));
      OpBuilder builder(t.op, {});
      std::size_t next_variable = 0, next_scalar = 0;
      for (const ArgDef& input : lookup_op(t.op).def.inputs) {
        if (input.is_ref) {
          builder.input(variables[next_variable++].handle());
        } else if (input.name == "grad" || input.name == "delta") {
          builder.input(tensor({{.5, 1}, {-.25, 2}}));
        } else if (input.name == "indices") {
          builder.input(Tensor(std::vector<int>{1, 0}));
        } else {
          builder.input(tensor({t.scalars[next_scalar++]}).reshape({}));
        }
      }
      if (!t.flag.empty()) builder.attr(t.flag, t.flag_value);
      const Operation update = builder.build_operation();
      Session session;
      session.run(global_variables_initializer());
      for (int k = 0; k < 2; ++k) session.run(update);
      for (std::size_t i = 0; i < variables.size(); ++i) {
        EXPECT_EQ(
            harness::difference(tensor(t.expected[i]), session.run(variables[i]), type == complex64 ? 2e-6 : 1e-14), "")
            << "variable " << i;
      }
    }
  }
}

// 3e20 squared is beyond float.
TEST(Adagrad, HugeGradientsLeaveKeptSlotsAlone) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor(std::vector<float>{1})), accum(Tensor(std::vector<float>{4}));
  const Operation update =
      raw_ops::apply_adagrad(v, accum, 1.0, Tensor(std::vector<float>{3e20F}), {.update_slots = false});
  Session session;
  session.run(global_variables_initializer());
  session.run(update);
  EXPECT_EQ(session.run(v).item<float>(), -1.5e20F);
  EXPECT_EQ(session.run(accum).item<float>(), 4);
}

}  // namespace
}  // namespace caudal
