#include "caudal/base/env.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

namespace caudal {
namespace {

Code code_thrown(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

TEST(Paths, SplitAndJoin) {
  EXPECT_EQ(directory_of("a/b/c"), "a/b");
  EXPECT_EQ(directory_of("c"), ".");
  EXPECT_EQ(directory_of("/c"), "/");
  EXPECT_EQ(base_name("a/b/c"), "c");
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
}

TEST(PosixEnv, WritesReadsAndMaps) {
  Env& env = default_env();
  const TempDir dir;
  const std::string path = dir.file("data");
  const std::string big(200'000, 'b');
  const auto file = env.create(path);
  file->append("small");
  file->append(big);
  file->append("end");
  file->sync();
  file->close();
  EXPECT_EQ(env.file_size(path), big.size() + 8);
  EXPECT_EQ(read_file(env, path), "small" + big + "end");
  const auto reader = env.open_random_access(path);
  char tail[8];
  EXPECT_EQ(reader->read(reader->size() - 3, tail, 8), 3u);
  EXPECT_EQ(std::string(tail, 3), "end");
  EXPECT_EQ(reader->map().value().substr(0, 6), "smallb");
  EXPECT_EQ(code_thrown([&] { read_exactly(*reader, reader->size() - 3, tail, 8); }), Code::kDataLoss);
  EXPECT_EQ(code_thrown([&] { read_file(env, path, 1000); }), Code::kResourceExhausted);
  env.open_append(path)->append("!");
  EXPECT_TRUE(read_file(env, path).ends_with("end!"));
}

TEST(PosixEnv, DirectoriesAndNames) {
  Env& env = default_env();
  const TempDir dir;
  env.mkdirs(dir.file("a/b/c"));
  env.mkdirs(dir.file("a/b/c"));
  write_file_atomically(env, dir.file("a/z"), "1");
  write_file_atomically(env, dir.file("a/y"), "2");
  EXPECT_EQ(env.list(dir.file("a")), (std::vector<std::string>{"b", "y", "z"}));
  env.rename(dir.file("a/z"), dir.file("a/y"));
  EXPECT_EQ(read_file(env, dir.file("a/y")), "1");
  EXPECT_FALSE(env.exists(dir.file("a/z")));
  EXPECT_TRUE(env.is_directory(dir.file("a/b")));
  remove_tree(env, dir.file("a"));
  EXPECT_FALSE(env.exists(dir.file("a")));
  remove_tree(env, dir.file("a"));
}

TEST(PosixEnv, ErrorsNameTheFileAndTheCause) {
  Env& env = default_env();
  const TempDir dir;
  std::string message;
  EXPECT_EQ(code_thrown([&] { env.open_sequential(dir.file("none")); }, &message), Code::kNotFound);
  EXPECT_EQ(message, "NOT_FOUND: " + dir.file("none") + ": open: No such file or directory");
  EXPECT_EQ(code_thrown([&] { env.open_random_access(dir.path()); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_thrown([&] { env.list(dir.file("none")); }), Code::kNotFound);
  EXPECT_EQ(code_thrown([&] { env.remove(dir.file("none")); }), Code::kNotFound);
  write_file_atomically(env, dir.file("file"), "");
  EXPECT_EQ(code_thrown([&] { env.mkdirs(dir.file("file")); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_thrown([&] { env.create(dir.file("file/below")); }), Code::kFailedPrecondition);
  EXPECT_EQ(file_error(EACCES, "open", "x").code(), Code::kPermissionDenied);
  EXPECT_EQ(std::string(file_error(ENOSPC, "write", "x").what()),
            "RESOURCE_EXHAUSTED: x: write: No space left on device. Free some space, or write to another place.");
}

TEST(PosixEnv, FullDiskIsReported) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const auto file = default_env().create("/dev/full");
  file->append("x");
  EXPECT_EQ(code_thrown([&] { file->flush(); }), Code::kResourceExhausted);
}

}  // namespace
}  // namespace caudal
