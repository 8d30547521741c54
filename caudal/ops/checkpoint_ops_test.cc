#include "caudal/ops/checkpoint_ops.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/base/env.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/bundle_writer.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Strings = std::vector<std::string>;

std::string message_of(const std::function<void()>& call, Code code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

Tensor counting(const Shape& shape, int start = 0) {
  Tensor t(float32, shape);
  for (float& x : t.flat<float>()) x = static_cast<float>(start++);
  return t;
}

class CheckpointOps : public testing::Test {
 protected:
  std::string file(const std::string& name) { return dir_.file(name); }
  std::string golden(const std::string& name) {
    return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/" + name;
  }
  TempDir dir_;
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(CheckpointOps, SaveAndRestoreEveryType) {
  Strings names;
  std::vector<Output> tensors;
  std::vector<DType> types;
  std::vector<Tensor> values;
  for (const DType type : {float32, float64, float16, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32,
                           uint64, boolean, complex64, complex128, string}) {
    values.push_back(harness::random_tensor(type, {2, 3}));
    names.push_back("tensor/" + std::string(dtype_name(type)));
    tensors.push_back(constant(values.back()));
    types.push_back(type);
  }
  const Strings whole(names.size(), "");
  const Output prefix = placeholder(string, PartialShape::scalar());
  const Operation save = raw_ops::save_v2(prefix, names, whole, tensors);
  const auto restored = raw_ops::restore_v2(prefix, names, whole, types);
  Session session;
  session.run(save, {{prefix, Tensor(file("deep/folder/model.ckpt-1"))}});
  const auto read =
      session.run(Fetches(restored.begin(), restored.end()), {{prefix, Tensor(file("deep/folder/model.ckpt-1"))}});
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_TRUE(identical(read[i], values[i])) << names[i];
}

TEST_F(CheckpointOps, SavesVariablesAsTheyAre) {
  const Variable v(counting({2, 2}), {.name = "v"});
  const Output more = v.assign_add(counting({2, 2}));
  const Operation save = raw_ops::save_v2(file("model"), {"v"}, {""}, {v.handle()});
  const auto read = raw_ops::restore_v2(file("model"), {"v"}, {""}, {float32});
  const Output restore = v.assign(read[0]);
  Session session;
  const auto message = message_of([&] { session.run(save); }, Code::kFailedPrecondition);
  EXPECT_NE(message.find("uninitialized value v"), std::string::npos) << message;
  EXPECT_FALSE(default_env().exists(file("model.index")));
  session.run(v.initializer());
  session.run(more);
  session.run(save);
  session.run(more);
  session.run(restore);
  EXPECT_EQ(session.run(v).to_vector<float>(), (std::vector<float>{0, 2, 4, 6}));
}

TEST_F(CheckpointOps, PartsAreOneTensor) {
  const Operation save = raw_ops::save_v2(file("model"), {"w", "w"}, {"5 2 0,3:-", "5 2 3,2:-"},
                                          {constant(counting({3, 2})), constant(counting({2, 2}, 6))});
  const auto read = raw_ops::restore_v2(file("model"), {"w", "w"}, {"", "5 2 2,2:0,1"}, {float32, float32});
  EXPECT_EQ(read[1].shape(), (PartialShape{2, 1}));
  Session session;
  session.run(save);
  const auto values = session.run({read[0], read[1]});
  EXPECT_TRUE(identical(values[0], counting({5, 2})));
  EXPECT_EQ(values[1].to_vector<float>(), (std::vector<float>{4, 6}));
}

TEST_F(CheckpointOps, PartsOfAnotherShapeAreRefused) {
  BundleWriter writer(default_env(), file("model"));
  writer.add("w", counting({5, 2}));
  writer.finish();
  const auto read = raw_ops::restore_v2(file("model"), {"w"}, {"5 3 0,1:-"}, {float32});
  Session session;
  message_of([&] { session.run(read[0]); }, Code::kInvalidArgument);
}

TEST_F(CheckpointOps, RestoreNamesEveryProblem) {
  BundleWriter writer(default_env(), file("model"));
  writer.add("hidden/kernel", counting({2}));
  writer.add("hidden/bias", counting({2}));
  writer.finish();
  const auto read = raw_ops::restore_v2(file("model"), {"hidden/kernl", "hidden/bias", "other", "hidden/kernel"},
                                        Strings(4), {float32, int32, float32, float32});
  Session session;
  const auto message = message_of([&] { session.run(read[3]); }, Code::kNotFound);
  for (const char* part : {"hidden/kernl", "hidden/bias", "other", "int32", "Did you mean 'hidden/kernel'"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST_F(CheckpointOps, ReadsTensorFlowsFiles) {
  const auto read = raw_ops::restore_v2(golden("v2_dtypes/all"), {"a/float", "b/int64"}, Strings(2), {float32, int64});
  Session session;
  EXPECT_GT(session.run({read[0], read[1]})[0].num_elements(), 0);
  for (const auto& [name, code] :
       std::initializer_list<std::pair<const char*, Code>>{{"index_flipped", Code::kDataLoss},
                                                           {"index_truncated", Code::kDataLoss},
                                                           {"data_missing", Code::kNotFound}}) {
    const auto damaged = raw_ops::restore_v2(golden(std::string("damaged/") + name), {"a/float"}, {""}, {float32});
    message_of([&] { session.run(damaged[0]); }, code);
  }
}

TEST_F(CheckpointOps, MergesShards) {
  const Output prefix0 = raw_ops::sharded_filename(file("part/model"), 0, 2);
  const Output prefix1 = raw_ops::sharded_filename(file("part/model"), 1, 2);
  const Operation save0 = raw_ops::save_v2(prefix0, {"a"}, {""}, {constant(counting({2}))});
  const Operation save1 = raw_ops::save_v2(prefix1, {"b"}, {""}, {constant(counting({3}))});
  const Output prefixes = placeholder(string, {-1});
  const Operation merge = raw_ops::merge_v2_checkpoints(prefixes, file("model"));
  const Operation lenient = raw_ops::merge_v2_checkpoints(prefixes, file("other"), {.allow_missing_files = true});
  Session session;
  EXPECT_EQ(session.run(prefix1).item<std::string>(), file("part/model-00001-of-00002"));
  session.run(save0);
  session.run(save1);
  const Strings parts = {file("part/model-00000-of-00002"), file("part/model-00001-of-00002")};
  session.run(merge, {{prefixes, Tensor(parts)}});
  const BundleReader reader(default_env(), file("model"));
  EXPECT_EQ(reader.names(), (Strings{"a", "b"}));
  EXPECT_FALSE(default_env().exists(file("part")));
  message_of([&] { session.run(merge, {{prefixes, Tensor(parts)}}); }, Code::kNotFound);
  session.run(save0);
  session.run(lenient, {{prefixes, Tensor(parts)}});
  EXPECT_EQ(BundleReader(default_env(), file("other")).names(), Strings{"a"});
}

TEST_F(CheckpointOps, RefuseListsThatDoNotFit) {
  const Output names = placeholder(string);
  const Operation save = OpBuilder("SaveV2", {})
                             .input(file("model"))
                             .input(names)
                             .input(Tensor(Strings{""}))
                             .inputs({constant(1.0F)})
                             .build_operation();
  Session session;
  message_of([&] { session.run(save, {{names, Tensor(Strings{"a", "b"})}}); }, Code::kInvalidArgument);
  message_of([&] { session.run(save, {{names, Tensor(Strings{""})}}); }, Code::kInvalidArgument);
  EXPECT_TRUE(default_env().list(dir_.path()).empty());
}

// The old format: saved in parts by one op, whole by another, restored by both generations.
TEST_F(CheckpointOps, V1FilesAreWrittenAndRead) {
  const Tensor names(Strings{"a", "b"});
  const Operation save = OpBuilder("SaveSlices", {})
                             .input(file("v1"))
                             .input(names)
                             .input(Tensor(Strings{"4 1,2", ""}))
                             .inputs({constant(counting({2})), constant(Tensor("text"))})
                             .build_operation();
  const Operation plain = OpBuilder("Save", {})
                              .input(file("plain"))
                              .input(names)
                              .inputs({constant(counting({2, 3})), constant(counting({4}))})
                              .build_operation();
  const auto restore = [&](const char* from, const char* name, const char* slice, DType dtype) {
    return OpBuilder("RestoreSlice", {}).input(file(from)).input(name).input(slice).attr("dt", dtype).build();
  };
  Session session;
  session.run(save);
  session.run(plain);
  EXPECT_EQ(session.run(restore("v1", "a", "4 1,2", float32)).to_string(), counting({2}).to_string());
  EXPECT_EQ(session.run(restore("v1", "b", "", string)).item<std::string>(), "text");
  EXPECT_EQ(session.run(restore("plain", "a", "2 3 1,1:-", float32)).shape(), (Shape{1, 3}));
  const Output whole = OpBuilder("Restore", {}).input(file("plain")).input("b").attr("dt", float32).build();
  EXPECT_EQ(session.run(whole).to_string(), counting({4}).to_string());
  EXPECT_EQ(session.run(raw_ops::restore_v2(file("plain"), {"b"}, {""}, {float32})[0]).to_string(),
            counting({4}).to_string());
  message_of([&] { session.run(restore("v1", "a", "", float32)); }, Code::kDataLoss);  // the rest was never saved
  message_of([&] { session.run(restore("v1", "c", "", float32)); }, Code::kNotFound);
}

CAUDAL_OP_SAMPLES(Save) { samples.covered_by("CheckpointOps.V1FilesAreWrittenAndRead"); }
CAUDAL_OP_SAMPLES(SaveSlices) { samples.covered_by("CheckpointOps.V1FilesAreWrittenAndRead"); }
CAUDAL_OP_SAMPLES(Restore) { samples.covered_by("CheckpointOps.V1FilesAreWrittenAndRead"); }
CAUDAL_OP_SAMPLES(RestoreSlice) { samples.covered_by("CheckpointOps.V1FilesAreWrittenAndRead"); }
CAUDAL_OP_SAMPLES(ShardedFilespec) {
  samples.add({.inputs = {Tensor("dir/model"), Tensor(10)},
               .expected = {Tensor("dir/model-????"
                                   "?-of-00010")}});
}
CAUDAL_OP_SAMPLES(SaveV2) { samples.covered_by("CheckpointOps.SaveAndRestoreEveryType"); }
CAUDAL_OP_SAMPLES(RestoreV2) { samples.covered_by("CheckpointOps.SaveAndRestoreEveryType"); }
CAUDAL_OP_SAMPLES(MergeV2Checkpoints) { samples.covered_by("CheckpointOps.MergesShards"); }
CAUDAL_OP_SAMPLES(ShardedFilename) {
  samples.add(
      {.inputs = {Tensor("dir/model"), Tensor(3), Tensor(10)}, .expected = {Tensor("dir/model-00003-of-00010")}});
  samples.error({Tensor("m"), Tensor(std::vector<int>{1, 2}), Tensor(2)}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
