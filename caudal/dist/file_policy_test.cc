#include "caudal/dist/file_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "caudal/base/error.h"

namespace caudal {
namespace {

class FilePolicy : public ::testing::Test {
 protected:
  FilePolicy() : policy(default_env(), {folder.file("open")}) {}

  static const std::string& made(const std::string& path) {
    default_env().mkdirs(path);
    return path;
  }
  Code code_of(const std::string& path) {
    try {
      policy.create(path)->close();
      return Code::kOk;
    } catch (const Error& error) {
      return error.code();
    }
  }

  TempDir folder;
  const std::string open_folder = made(folder.file("open"));
  const std::string closed_folder = made(folder.file("closed"));
  FilePolicyEnv policy;
};

TEST_F(FilePolicy, AllowsWhatLiesInside) {
  write_file_atomically(policy, open_folder + "/a", "1");
  EXPECT_EQ(read_file(policy, open_folder + "/a"), "1");
  policy.mkdirs(open_folder + "/b/c");
  EXPECT_TRUE(policy.is_directory(open_folder + "/b/../b/c"));
  const std::string temporary = policy.make_temp_dir("x");
  EXPECT_TRUE(policy.is_directory(temporary));
  EXPECT_NE(temporary.find("/open/"), std::string::npos);
}

TEST_F(FilePolicy, RefusesWhatLiesOutside) {
  EXPECT_EQ(code_of(closed_folder + "/a"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(open_folder + "/../closed/a"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(open_folder + "er/a"), Code::kPermissionDenied);  // a name that only begins alike
  EXPECT_EQ(code_of(""), Code::kPermissionDenied);
  EXPECT_EQ(code_of(open_folder + std::string("/a\0b", 4)), Code::kPermissionDenied);
  EXPECT_THROW(policy.exists("/etc/passwd"), Error);
  EXPECT_THROW(policy.rename(open_folder + "/a", closed_folder + "/a"), Error);
}

TEST_F(FilePolicy, FollowsLinks) {
  ASSERT_EQ(symlink(closed_folder.c_str(), (open_folder + "/out").c_str()), 0);
  ASSERT_EQ(symlink((closed_folder + "/none").c_str(), (open_folder + "/dangling").c_str()), 0);
  ASSERT_EQ(symlink(open_folder.c_str(), (closed_folder + "/in").c_str()), 0);
  EXPECT_EQ(code_of(open_folder + "/out/a"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(open_folder + "/dangling"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(open_folder + "/dangling/a"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(closed_folder + "/in/a"), Code::kOk);
  EXPECT_FALSE(default_env().exists(closed_folder + "/none"));
}

TEST_F(FilePolicy, AllowsNothingWithoutFolders) {
  FilePolicyEnv none(default_env(), {});
  EXPECT_THROW(none.exists(open_folder), Error);
  EXPECT_THROW(none.make_temp_dir("x"), Error);
  EXPECT_THROW(FilePolicyEnv(default_env(), {folder.file("not there")}), Error);
}

}  // namespace
}  // namespace caudal
