#include "caudal/formats/object_graph.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/wire.h"

namespace caudal {
namespace {

std::string golden_bytes() {
  const std::string prefix = std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/tf2_object/ckpt-2";
  return BundleReader(default_env(), prefix).read(kObjectGraphKey).item<std::string>();
}

TEST(ObjectGraph, ReadsTensorFlows) {
  const ObjectGraph graph = ObjectGraph::decode(golden_bytes());
  const std::vector<std::string> paths = graph.paths();
  int values = 0, slots = 0;
  for (size_t i = 0; i < graph.objects.size(); ++i) {
    slots += static_cast<int>(graph.objects[i].slots.size());
    for (const auto& attribute : graph.objects[i].attributes) {
      // TensorFlow makes its keys of the same paths.
      EXPECT_EQ(attribute.key, paths[i] + std::string(kValueSuffix));
      EXPECT_EQ(graph.find(paths[i]), static_cast<int>(i));
      ++values;
    }
  }
  EXPECT_GT(values, 5);
  EXPECT_EQ(graph.find("epoch/no/such"), -1);
  // Again the same after a round trip.
  const ObjectGraph again = ObjectGraph::decode(graph.encode());
  EXPECT_EQ(again.paths(), paths);
}

TEST(ObjectGraph, OfVariablesAndSlots) {
  const ObjectGraph graph = ObjectGraph::of(
      {{"net/a..b/w", "w"}, {"net/x.Sy", "y"}, {"step", "step"}, {"net/x.Sy/.OPTIMIZER_SLOT/opt/m", "y/Adam"}});
  EXPECT_EQ(graph.objects[graph.find("net/a..b/w")].attributes[0].full_name, "w");
  EXPECT_EQ(graph.objects[graph.find("net")].children[1].name, "x/y");
  EXPECT_EQ(graph.objects[graph.find("net")].children[0].name, "a.b");
  const int slot = graph.find("net/x.Sy/.OPTIMIZER_SLOT/opt/m");
  ASSERT_GE(slot, 0);
  EXPECT_EQ(graph.objects[slot].attributes[0].key, "net/x.Sy/.OPTIMIZER_SLOT/opt/m/.ATTRIBUTES/VARIABLE_VALUE");
  EXPECT_EQ(graph.paths()[slot], "net/x.Sy/.OPTIMIZER_SLOT/opt/m");
  EXPECT_THROW(ObjectGraph::of({{"", "w"}}), Error);
  EXPECT_THROW(ObjectGraph::of({{"a//b", "w"}}), Error);
  EXPECT_THROW(ObjectGraph::of({{"w/.OPTIMIZER_SLOT/opt/m", "m"}}), Error);
}

TEST(ObjectGraph, ObjectsInCirclesAndDamageEnd) {
  ObjectGraph circle;
  circle.objects.resize(2);
  circle.objects[0].children = {{1, "child"}};
  circle.objects[1].children = {{0, "parent"}, {1, "self"}};
  EXPECT_EQ(circle.paths(), (std::vector<std::string>{"", "child"}));
  EXPECT_EQ(circle.find("child/self/parent/child"), 1);
  EXPECT_EQ(ObjectGraph::decode(circle.encode()).objects.size(), 2U);
  WireWriter outside;  // an object that is not there
  WireWriter object, child;
  child.varint(1, 7);
  object.message(1, child);
  outside.message(1, object);
  EXPECT_THROW(ObjectGraph::decode(outside.str()), Error);
  // Cut or changed anywhere: an error or another graph.
  const std::string bytes = golden_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    for (const std::string& damaged : {bytes.substr(0, i), changed}) {
      try {
        const ObjectGraph graph = ObjectGraph::decode(damaged);
        EXPECT_EQ(graph.paths().size(), graph.objects.size());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDataLoss);
      }
    }
  }
}

}  // namespace
}  // namespace caudal
