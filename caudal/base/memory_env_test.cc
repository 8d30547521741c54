#include "caudal/base/memory_env.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caudal {
namespace {

TEST(MemoryEnv, BehavesLikeTheRealOne) {
  MemoryEnv memory;
  Env* const kEnvs[] = {&memory, &default_env()};
  for (Env* env : kEnvs) {
    const TempDir dir(*env);
    env->mkdirs(dir.file("a/b"));
    write_file_atomically(*env, dir.file("a/one"), "1");
    env->open_append(dir.file("a/one"))->append("2");
    env->open_append(dir.file("a/two"))->append("3");
    EXPECT_EQ(env->list(dir.file("a")), (std::vector<std::string>{"b", "one", "two"}));
    EXPECT_EQ(read_file(*env, dir.file("a/one")), "12");
    EXPECT_EQ(env->file_size(dir.file("a/one")), 2u);
    EXPECT_TRUE(env->is_directory(dir.file("a")));
    EXPECT_FALSE(env->is_directory(dir.file("a/one")));
    env->rename(dir.file("a/one"), dir.file("a/two"));
    EXPECT_FALSE(env->exists(dir.file("a/one")));
    EXPECT_EQ(read_file(*env, dir.file("a/two")), "12");
    const auto file = env->open_random_access(dir.file("a/two"));
    char out[4];
    EXPECT_EQ(file->read(1, out, 4), 1u);
    EXPECT_EQ(out[0], '2');
    EXPECT_EQ(file->read(9, out, 4), 0u);
    EXPECT_THROW(env->open_sequential(dir.file("none")), Error);
    EXPECT_THROW(env->open_sequential(dir.file("a")), Error);
    EXPECT_THROW(env->create(dir.file("a")), Error);
    EXPECT_THROW(env->remove(dir.file("a")), Error) << "not empty";
    EXPECT_THROW(env->remove(dir.file("none")), Error);
    EXPECT_THROW(env->list(dir.file("none")), Error);
    remove_tree(*env, dir.file("a"));
    EXPECT_FALSE(env->exists(dir.file("a")));
  }
}

TEST(MemoryEnv, TheClockMovesBySleepingOnly) {
  MemoryEnv env;
  const int64_t start = env.now_micros();
  env.sleep_micros(1500);
  EXPECT_EQ(env.now_micros(), start + 1500);
}

}  // namespace
}  // namespace caudal
