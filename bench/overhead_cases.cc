// overhead/: what a run costs beside the arithmetic.
#include "bench.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"

namespace bench {
namespace {

namespace tf = caudal;

constexpr int kChain = 1000;
constexpr int kIterations = 10'000;

Values one_op_run(const Settings& settings) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Output x = tf::placeholder(tf::float32, tf::PartialShape::scalar());
  const tf::Output y = x + 1.0F;
  tf::Session session(graph);
  return microseconds([&] { session.run(y, {{x, tf::Tensor(1.0F)}}); }, 1, settings);
}

Values one_op_callable(const Settings& settings) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Output x = tf::placeholder(tf::float32, tf::PartialShape::scalar());
  const tf::Output y = x + 1.0F;
  tf::Session session(graph);
  const auto call = session.make_callable({y}, {x});
  return microseconds([&] { call({tf::Tensor(1.0F)}); }, 1, settings);
}

Values no_op_run(const Settings& settings) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Operation nothing = tf::no_op();
  tf::Session session(graph);
  return microseconds([&] { session.run(nothing); }, 1, settings);
}

Values add_chain(const tf::Shape& shape, const Settings& settings) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Output x = tf::placeholder(tf::float32, shape);
  const tf::Output one = tf::constant(1.0F);
  tf::Output sum = x;
  for (int i = 0; i < kChain; ++i) sum = sum + one;
  tf::Session session(graph);
  const auto call = session.make_callable({sum}, {x});
  const tf::Tensor zeros = tf::Tensor::zeros(tf::float32, shape);
  return microseconds([&] { call({zeros}); }, kChain, settings);
}

// while (i < n) i = i + 1, of Switch and Merge nodes as TensorFlow 1 makes them.
Values loop_iteration(const Settings& settings) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Output limit = tf::placeholder(tf::int32, tf::PartialShape::scalar());
  const tf::Outputs last = tf::while_loop([&](const tf::Outputs& v) { return tf::less(v[0], limit); },
                                          [](const tf::Outputs& v) { return tf::Outputs{v[0] + 1}; }, {0});
  tf::Session session(graph);
  const auto call = session.make_callable({last[0]}, {limit});
  const tf::Tensor iterations(kIterations);
  return microseconds([&] { call({iterations}); }, kIterations, settings);
}

}  // namespace

std::vector<Case> overhead_cases() {
  return {
      {"overhead/one_op_run", one_op_run},
      {"overhead/one_op_callable", one_op_callable},
      {"overhead/no_op_run", no_op_run},
      {"overhead/add_scalar", [](const Settings& settings) { return add_chain({}, settings); }},
      {"overhead/loop_iteration", loop_iteration},
      {"overhead/add_64", [](const Settings& settings) { return add_chain({64}, settings); }},
  };
}

}  // namespace bench
