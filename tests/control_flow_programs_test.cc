// Random programs of conditions and loops: values, gradients and graphs as TensorFlow's
// (tests/python/record_control_flow.py, which says how programs are written).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "caudal/caudal.h"
#include "caudal/ops/map_fn.h"

namespace caudal {
namespace {

struct Program {
  std::string name, text, graph, kinds;
  std::vector<std::vector<float>> values;
  std::vector<std::optional<std::vector<float>>> gradients, seconds;
};

std::vector<float> numbers(std::istream& in) {
  std::vector<float> found;
  for (float number = 0; in >> number;) found.push_back(number);
  return found;
}

std::vector<Program> read_programs(const std::string& form) {
  std::ifstream file(std::string(CAUDAL_SOURCE_DIR) + "/testdata/control_flow/programs_" + form + ".txt");
  std::vector<Program> programs;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string tag, rest;
    in >> tag;
    if (tag == "program") {
      programs.emplace_back();
      in >> programs.back().name;
      std::getline(file, programs.back().text);
      continue;
    }
    Program& program = programs.back();
    if (tag == "graph") in >> program.graph;
    if (tag == "kinds") std::getline(in >> std::ws, program.kinds);
    if (tag == "value") program.values.push_back(numbers(in));
    if (tag != "gradient" && tag != "second") continue;
    auto& list = tag == "gradient" ? program.gradients : program.seconds;
    if (line.find("none") != std::string::npos) {
      list.emplace_back();
    } else {
      list.emplace_back(numbers(in));
    }
  }
  return programs;
}

// Builds what a program says.
class Builder {
 public:
  explicit Builder(const std::string& text) {
    std::istringstream in(text);
    for (std::string token; in >> token;) tokens_.push_back(token);
  }

  Outputs block(Outputs env) {
    EXPECT_EQ(next(), "{");
    while (true) {
      const std::string kind = next();
      if (kind == "ret") break;
      for (const Output& made : statement(kind, env)) env.push_back(made);
    }
    Outputs results;
    for (int left = number(); left > 0; --left) results.push_back(env[number()]);
    EXPECT_EQ(next(), "}");
    return results;
  }

 private:
  std::string next() { return tokens_[at_++]; }
  int number() { return std::stoi(next()); }
  Output value(const Outputs& env) { return env[number()]; }

  // The block that comes next, to be built later with more values.
  std::function<Outputs(const Outputs&)> later(const Outputs& env) {
    const std::size_t start = at_;
    int depth = 0;
    do {
      const std::string token = next();
      depth += token == "{" ? 1 : token == "}" ? -1 : 0;
    } while (depth != 0);
    return [this, env, start](const Outputs& more) {
      Outputs all = env;
      all.insert(all.end(), more.begin(), more.end());
      const std::size_t back = std::exchange(at_, start);
      Outputs results = block(all);
      at_ = back;
      return results;
    };
  }

  static Output total(const Output& x) { return reduce_sum(x, {.axis = {0}}); }

  Outputs statement(const std::string& kind, const Outputs& env) {
    if (kind == "op") return {op(env)};
    if (kind == "cond") return condition(env);
    if (kind == "while") return loop(env);
    return {over_rows(kind, env)};
  }

  Output op(const Outputs& env) {
    const std::string name = next();
    const int count = number();
    const Output x = value(env);
    if (count == 1) return name == "tanh" ? tanh(x) : name == "sin" ? sin(x) : negative(x);
    const Output y = value(env);
    return name == "add" ? add(x, y) : name == "sub" ? subtract(x, y) : multiply(x, y);
  }

  Outputs condition(const Outputs& env) {
    const Output pred = greater(total(value(env)), constant(0.0F));
    const auto if_true = later(env), if_false = later(env);
    return cond(
        pred, [&] { return if_true({}); }, [&] { return if_false({}); });
  }

  Outputs loop(const Outputs& env) {
    const int trips = number(), extra = number();
    Outputs start;
    for (int left = number(); left > 0; --left) start.push_back(value(env));
    const auto body = later(env);
    const auto small = [](const Output& x) { return less(total(x), constant(2.0F)); };
    if (extra == 2) {
      return while_loop([&](const Outputs& v) { return small(v[0]); }, body, start,
                        {.maximum_iterations = constant(trips)});
    }
    start.insert(start.begin(), constant(0));
    Outputs done = while_loop(
        [&](const Outputs& v) {
          const Output go = less(v[0], constant(trips));
          return extra == 1 ? logical_and(go, small(v[1])) : go;
        },
        [&](const Outputs& v) {
          Outputs results = {add(v[0], constant(1))};
          for (const Output& result : body({v.begin() + 1, v.end()})) results.push_back(result);
          return results;
        },
        start);
    done.erase(done.begin());
    return done;
  }

  static Output rows(const Output& x) {
    const Output half = multiply(x, constant(0.5F));
    return stack({x, half, multiply(x, constant(-0.25F))});
  }

  Output over_rows(const std::string& kind, const Outputs& env) {
    const Output matrix = rows(value(env));
    if (kind == "map") {
      const auto body = later(env);
      return total(map_fn([&](const Output& row) { return body({row})[0]; }, matrix));
    }
    const Output start = value(env);
    const auto body = later(env);
    const FoldFn fn = [&](const Output& so_far, const Output& row) { return body({so_far, row})[0]; };
    if (kind == "foldl") return foldl(fn, matrix, {.initializer = {start}});
    if (kind == "foldr") return foldr(fn, matrix, {.initializer = {start}});
    return total(scan(fn, matrix, {.initializer = {start}}));
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
};

std::uint64_t fnv(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001B3ULL;
  return hash;
}

std::string hex(std::uint64_t number) {
  std::ostringstream out;
  out << std::hex << number;
  return out.str();
}

std::string join_sorted(std::vector<std::string> parts, const char* between) {
  std::ranges::sort(parts);
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i) all += (i == 0 ? "" : between) + parts[i];
  return all;
}

// Of ops, edges and what makes control flow, whatever the names.
std::string fingerprint(const Graph& graph) {
  std::map<const Node*, std::uint64_t> label;
  for (const Node* node : graph.nodes()) {
    std::ostringstream text;
    text << node->type();
    if (node->type() == "Enter") {
      text << (node->attr<bool>("is_constant") ? "/const" : "/var") << '/'
           << node->attr<std::int64_t>("parallel_iterations");
    }
    if (node->type() == "Const") text << '/' << node->info().output_types[0];
    label[node] = fnv(text.str());
  }
  for (int round = 0; round < 12; ++round) {
    std::map<const Node*, std::uint64_t> fresh;
    for (const Node* node : graph.nodes()) {
      std::string text = hex(label[node]) + "(";
      for (int i = 0; i < node->num_inputs(); ++i) {
        text += (i == 0 ? "" : ",") + hex(label[node->input(i).node()]) + ":" + std::to_string(node->input(i).index());
      }
      std::vector<std::string> controls;
      for (const Node* before : node->control_inputs()) controls.push_back(hex(label[before]));
      fresh[node] = fnv(text + ")^" + join_sorted(controls, ","));
    }
    label = std::move(fresh);
  }
  std::vector<std::string> all;
  for (const auto& [node, hash] : label) all.push_back(hex(hash));
  return hex(fnv(join_sorted(all, " ")));
}

// How many nodes of each kind that the file counts.
using Kinds = std::map<std::string, int>;
Kinds kinds(const Graph& graph) {
  static const std::set<std::string> kCounted = {"Switch",        "Merge",          "Enter",         "Exit",
                                                 "NextIteration", "LoopCond",       "StackV2",       "StackPushV2",
                                                 "StackPopV2",    "ControlTrigger", "TensorArrayV3", "If",
                                                 "StatelessIf",   "While",          "StatelessWhile"};
  Kinds count;
  for (const Node* node : graph.nodes()) {
    if (kCounted.contains(node->type())) ++count[node->type()];
  }
  return count;
}

// "Enter=3 Exit=2".
Kinds kinds(const std::string& text) {
  Kinds count;
  std::istringstream in(text);
  for (std::string kind; std::getline(in, kind, '='); in >> std::ws) in >> count[kind];
  return count;
}

// TensorFlow also makes entries for gradients that nobody takes.
void expect_at_most(const Kinds& actual, Kinds expected) {
  for (const auto& [kind, count] : actual) EXPECT_LE(count, expected[kind]) << kind;
}

bool uses_arrays(const Program& program) {
  return program.text.find("map") != std::string::npos || program.text.find("fold") != std::string::npos ||
         program.text.find("scan") != std::string::npos;
}

void expect_near(const Tensor& actual, const std::vector<float>& expected, const std::string& what) {
  const auto values = actual.to_vector<float>();
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-5F + 1e-4F * std::abs(expected[i])) << what;
  }
}

Output summed(const Outputs& values) {
  Outputs sums;
  for (const Output& value : values) sums.push_back(reduce_sum(value, {.axis = {0}}));
  return add_n(sums);
}

// In v2 form it is a matter of taste where a call has a gradient of zeros, and where none.
void expect_gradients(Session& session, const Feeds& feeds, const std::vector<Gradient>& actual,
                      const std::vector<std::optional<std::vector<float>>>& expected, const std::string& what,
                      bool v1) {
  const std::vector<float> zeros = {0, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string which = what + " of x" + std::to_string(i);
    if (v1) {
      EXPECT_EQ(!actual[i].is_none(), expected[i].has_value()) << which;
    }
    if (actual[i].is_none()) {
      EXPECT_EQ(expected[i].value_or(zeros), zeros) << which;
    } else {
      expect_near(session.run(actual[i].dense(), feeds), expected[i].value_or(zeros), which);
    }
  }
}

void check(const Program& program, bool v1) {
  Graph graph;
  const GraphScope scope(graph);
  Outputs inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(placeholder(float32, {2}, {.name = "x" + std::to_string(i)}));
  const Feeds feeds = {{inputs[0], Tensor::from<float>({2}, {0.5F, -0.25F})},
                       {inputs[1], Tensor::from<float>({2}, {1.5F, 0.75F})},
                       {inputs[2], Tensor::from<float>({2}, {-0.5F, 0.125F})}};
  Outputs results;
  for (const Output& result : Builder(program.text).block(inputs)) results.push_back(identity(result));
  // How a TensorArray takes a tensor apart is its own matter.
  if (v1 && !uses_arrays(program)) {
    EXPECT_EQ(fingerprint(graph), program.graph);
  }
  const auto grads = gradients({summed(results)}, inputs);
  if (v1) expect_at_most(kinds(graph), kinds(program.kinds));
  std::vector<Gradient> seconds;
  if (!program.seconds.empty()) {
    Outputs squares;
    for (const Gradient& grad : grads) {
      if (grad) squares.push_back(multiply(grad.dense(), grad.dense()));
    }
    seconds = gradients({summed(squares)}, inputs);
  }
  Session session(graph);
  for (std::size_t i = 0; i < results.size(); ++i) {
    expect_near(session.run(results[i], feeds), program.values[i], "result " + std::to_string(i));
  }
  expect_gradients(session, feeds, grads, program.gradients, "gradient", v1);
  expect_gradients(session, feeds, seconds, program.seconds, "second gradient", v1);
}

void check_all(const std::string& form, std::size_t at_least) {
  if (form == "v2") enable_control_flow_v2();
  const auto programs = read_programs(form);
  EXPECT_GE(programs.size(), at_least);
  for (const Program& program : programs) {
    SCOPED_TRACE(program.name + ": " + program.text);
    try {
      check(program, form == "v1");
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  disable_control_flow_v2();
}

TEST(ControlFlowPrograms, V1) { check_all("v1", 150); }

TEST(ControlFlowPrograms, V2) { check_all("v2", 99); }

}  // namespace
}  // namespace caudal
