// An Env whose files never wait for the disk, as TensorFlow writes its checkpoints: what a save costs without
// durability. Ownership: the inner Env must outlive it. Thread safety: as the inner Env.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caudal/base/env.h"

namespace bench {

class UnsyncedEnv final : public caudal::Env {
 public:
  explicit UnsyncedEnv(caudal::Env& inner) : inner_(inner) {}

  std::unique_ptr<caudal::SequentialFile> open_sequential(const std::string& path) override {
    return inner_.open_sequential(path);
  }
  std::unique_ptr<caudal::RandomAccessFile> open_random_access(const std::string& path) override {
    return inner_.open_random_access(path);
  }
  std::unique_ptr<caudal::WritableFile> create(const std::string& path) override {
    return std::make_unique<File>(inner_.create(path));
  }
  std::unique_ptr<caudal::WritableFile> open_append(const std::string& path) override {
    return std::make_unique<File>(inner_.open_append(path));
  }
  bool exists(const std::string& path) override { return inner_.exists(path); }
  bool is_directory(const std::string& path) override { return inner_.is_directory(path); }
  uint64_t file_size(const std::string& path) override { return inner_.file_size(path); }
  std::vector<std::string> list(const std::string& directory) override { return inner_.list(directory); }
  void mkdirs(const std::string& directory) override { inner_.mkdirs(directory); }
  void remove(const std::string& path) override { inner_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }
  void sync_dir(const std::string&) override {}
  std::string make_temp_dir(const std::string& prefix) override { return inner_.make_temp_dir(prefix); }
  int64_t now_micros() override { return inner_.now_micros(); }
  void sleep_micros(int64_t micros) override { inner_.sleep_micros(micros); }

 private:
  class File final : public caudal::WritableFile {
   public:
    explicit File(std::unique_ptr<caudal::WritableFile> inner) : inner_(std::move(inner)) {}
    void append(std::string_view data) override { inner_->append(data); }
    void flush() override { inner_->flush(); }
    void sync() override { inner_->flush(); }
    void close() override { inner_->close(); }

   private:
    std::unique_ptr<caudal::WritableFile> inner_;
  };

  caudal::Env& inner_;
};

}  // namespace bench
