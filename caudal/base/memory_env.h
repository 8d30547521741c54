// A file system in memory, for tests and fuzzing: fast, private, gone with the object. Missing directories are made
// with their first file; the clock stands still except for sleep_micros().
//
// Errors: as the real one (NOT_FOUND and so on). Thread safety: as every Env.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

class CAUDAL_API MemoryEnv final : public Env {
 public:
  std::unique_ptr<SequentialFile> open_sequential(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open_random_access(const std::string& path) override;
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> open_append(const std::string& path) override;
  bool exists(const std::string& path) override;
  bool is_directory(const std::string& path) override;
  uint64_t file_size(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void mkdirs(const std::string& directory) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void sync_dir(const std::string& /*directory*/) override {}
  std::string make_temp_dir(const std::string& prefix) override;
  int64_t now_micros() override;
  void sleep_micros(int64_t micros) override;

 private:
  using Content = std::shared_ptr<std::string>;
  class Reader;
  class Writer;
  Content find(const std::string& path, std::string_view what);
  void add_directory(const std::string& directory);
  bool has_children(const std::string& directory) const;

  std::mutex mutex_;
  std::map<std::string, Content> files_;  // directories have no content
  int64_t now_ = 1'700'000'000'000'000;
  int temp_dirs_ = 0;
};

}  // namespace caudal::inline v0
