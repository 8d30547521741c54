// Every checkpoint of testdata/golden/checkpoints, which TensorFlow 2.21 wrote, against the values that it wrote.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/graph/scope.h"
#include "caudal/train/object_checkpoint.h"
#include "caudal/train/saver.h"
#include "tests/harness/json_data.h"

namespace caudal::train {
namespace {

std::string golden(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/" + name;
}

const nlohmann::json& expected() {
  static const auto json = nlohmann::json::parse(read_file(default_env(), golden("expected.json")));
  return json;
}

class GoldenCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenCheckpoint, HasTheValues) {
  for (const auto& [name, value] : expected()[GetParam()].items()) {
    if (!value.is_object() || !value.contains("t")) continue;
    const Tensor want = harness::parse_tensor(value.dump());
    EXPECT_TRUE(identical(load_variable(golden(GetParam()), name), want)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenCheckpoint,
                         ::testing::Values("v2_dtypes/all", "v2_partitioned/model.ckpt-3", "v2_sharded/model.ckpt-3",
                                           "v1_format/model-v1-3", "tf2_object/ckpt-2"));

TEST(GoldenCheckpoints, SixHundredLongKeys) {
  const auto entries = list_variables(golden("v2_many/many"));
  ASSERT_EQ(entries.size(), 600U);
  const BundleReader reader(default_env(), golden("v2_many/many"));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(std::stoul(entries[i].name.substr(0, 4)), i);
    EXPECT_EQ(reader.read(entries[i].name, float32).item<float>(), static_cast<float>(i)) << entries[i].name;
  }
}

TEST(GoldenCheckpoints, ListFile) {
  const auto list = get_checkpoint_state(golden("state_files"));
  ASSERT_TRUE(list.has_value());
  const auto& want = expected()["state_files/checkpoint"];
  EXPECT_EQ(base_name(list->latest), base_name(want["model_checkpoint_path"].get<std::string>()));
  EXPECT_EQ(list->all.size(), want["all_model_checkpoint_paths"].size());
  EXPECT_EQ(list->timestamps, want["all_model_checkpoint_timestamps"].get<std::vector<double>>());
  EXPECT_EQ(list->last_preserved_timestamp, want["last_preserved_timestamp"].get<double>());
}

TEST(GoldenCheckpoints, ObjectsByPath) {
  const std::string prefix = golden("tf2_object/ckpt-2");
  EXPECT_TRUE(is_object_checkpoint(prefix));
  EXPECT_FALSE(is_object_checkpoint(golden("v2_many/many")));
  constexpr std::string_view kSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";
  std::vector<std::string> paths;
  for (const ObjectVariable& variable : list_object_variables(prefix)) paths.push_back(variable.path);
  for (const auto& [key, value] : expected()["tf2_object/ckpt-2"].items()) {
    const std::string path = key.substr(0, key.size() - kSuffix.size());
    EXPECT_EQ(std::ranges::count(paths, path), 1) << path;
    EXPECT_TRUE(identical(load_object_variable(prefix, path), harness::parse_tensor(value.dump()))) << path;
  }
}

// The saver of TensorFlow's meta graph reads and writes the old format, which it asks for.
TEST(GoldenCheckpoints, ImportedSaverOfV1) {
  Graph graph;
  const GraphScope scope(graph);
  std::optional<Saver> saver = import_meta_graph(golden("v1_format/model-v1-3.meta"));
  ASSERT_TRUE(saver.has_value());
  EXPECT_EQ(saver->nodes().version, 1);
  Session session;
  saver->restore(session, golden("v1_format/model-v1-3"));
  const TempDir folder;
  const std::string prefix = saver->save(session, folder.file("again"), {.global_step = 3});
  EXPECT_FALSE(default_env().exists(prefix + ".index"));
  for (const CheckpointEntry& entry : list_variables(golden("v1_format/model-v1-3"))) {
    EXPECT_TRUE(
        identical(load_variable(prefix, entry.name), load_variable(golden("v1_format/model-v1-3"), entry.name)));
  }
  EXPECT_EQ(latest_checkpoint(folder.path()), prefix);
}

}  // namespace
}  // namespace caudal::train
