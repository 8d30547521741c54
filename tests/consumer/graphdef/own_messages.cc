// Registers tensorflow.GraphDef in the program's descriptor pool and uses it.
#include <string>

#include "tensorflow/core/framework/graph.pb.h"

extern "C" __attribute__((visibility("default"))) bool own_messages_work() {
  tensorflow::GraphDef graph;
  graph.add_node("a");
  tensorflow::GraphDef copy;
  return copy.ParseFromString(graph.SerializeAsString()) && copy.node(0) == "a" &&
         copy.GetDescriptor()->full_name() == "tensorflow.GraphDef";
}
