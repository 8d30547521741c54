// A while loop of TensorFlow's first control flow, made by hand: Enter, Merge, Switch, NextIteration, Exit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0::harness {

using LoopValues = std::vector<Output>;

// `value` as it is in every turn of the loop called `frame`.
inline Output loop_constant(const std::string& frame, const Output& value) {
  OpBuilder builder("Enter", {});
  return builder.input(value).attr("frame_name", frame).attr("is_constant", true).build();
}

// while (condition(values)) values = body(values); gives what they are at the end.
inline LoopValues make_loop(const std::string& frame, const LoopValues& initial,
                            const std::function<Output(const LoopValues&)>& condition,
                            const std::function<LoopValues(const LoopValues&)>& body) {
  LoopValues heads, inside, exits;
  for (const Output& value : initial) {
    OpBuilder builder("Enter", {});
    const Output entered = builder.input(value).attr("frame_name", frame).build();
    heads.push_back(OpBuilder("Merge", {}).inputs({entered, entered}).build());
  }
  const Output go_on = OpBuilder("LoopCond", {}).input(condition(heads)).build();
  for (const Output& head : heads) {
    Node& node = OpBuilder("Switch", {}).input(head).input(go_on).build_node();
    exits.push_back(OpBuilder("Exit", {}).input(node.output(0)).build());
    inside.push_back(OpBuilder("Identity", {}).input(node.output(1)).build());
  }
  const LoopValues next = body(inside);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Output back = OpBuilder("NextIteration", {}).input(next[i]).build();
    heads[i].graph().connect(*heads[i].node(), 1, back);
  }
  return exits;
}

}  // namespace caudal::inline v0::harness
