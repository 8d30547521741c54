// io/: records, checkpoints and event files. Files are made under Settings::directory; those of records stay there, for
// the peers to read the same ones.
#include <optional>
#include <random>

#include "bench.h"
#include "caudal/base/env.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/graph/scope.h"
#include "caudal/io/file_writer.h"
#include "caudal/ops/random.h"
#include "caudal/ops/variable.h"
#include "caudal/train/saver.h"
#include "unsynced_env.h"

namespace bench {
namespace {

namespace tf = caudal;

constexpr double kMega = 1e6;
constexpr int kVariables = 25;
constexpr std::int64_t kVariableSize = std::int64_t{1} << 20;
constexpr double kCheckpointMegabytes = kVariables * kVariableSize * 4 / kMega;

// A folder under Settings::directory that goes with the object.
class Folder {
 public:
  Folder(const Settings& settings, const char* name) : path_(tf::join_path(settings.directory, name)) {
    tf::default_env().mkdirs(path_);
  }
  ~Folder() { tf::remove_tree(tf::default_env(), path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return tf::join_path(path_, name); }

 private:
  std::string path_;
};

std::string random_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

std::string record_file(std::size_t record_size, const Settings& settings) {
  const std::size_t megabytes = settings.quick ? 32 : 128;
  tf::Env& env = tf::default_env();
  const std::string path = tf::join_path(
      settings.directory, "records_" + std::to_string(record_size) + '_' + std::to_string(megabytes) + ".tfrecord");
  if (env.exists(path)) return path;
  const std::string record = random_bytes(record_size);
  tf::RecordWriter writer(env, path + ".part");
  for (std::size_t i = 0; i < (megabytes << 20) / record_size; ++i) writer.write(record);
  writer.close();
  env.rename(path + ".part", path);
  sync_disks();
  return path;
}

Values read_records(std::size_t record_size, const Settings& settings) {
  const std::string path = record_file(record_size, settings);
  const auto read = [&] {
    const double start = now();
    tf::RecordReader reader(tf::default_env(), path);
    std::string record;
    double bytes = 0;
    while (reader.next(&record)) bytes += static_cast<double>(record.size());
    return bytes / kMega / (now() - start);
  };
  read();
  return quietest(read, settings);
}

// 25 variables of 4 MiB with a saver, in a session that writes through `env`.
struct Checkpoint {
  Checkpoint(tf::Env& env, const Settings& settings) : scope(graph), directory(settings, "checkpoint") {
    for (int i = 0; i < kVariables; ++i) tf::Variable(tf::random_normal({static_cast<int>(kVariableSize)}));
    saver.emplace();
    session.emplace(graph, tf::SessionOptions{.env = &env});
    session->run(tf::global_variables_initializer());
  }
  // Megabytes per second; two checkpoints take turns.
  double save() {
    sync_disks();
    const double start = now();
    latest = saver->save(*session, directory.file("model"), {.global_step = ++saves % 2, .write_meta_graph = false});
    return kCheckpointMegabytes / (now() - start);
  }
  double restore() {
    const double start = now();
    saver->restore(*session, latest);
    return kCheckpointMegabytes / (now() - start);
  }

  tf::Graph graph;
  tf::GraphScope scope;
  Folder directory;
  std::optional<tf::train::Saver> saver;
  std::optional<tf::Session> session;
  std::string latest;
  std::int64_t saves = 0;
};

Values checkpoint_save(tf::Env& env, const Settings& settings) {
  Checkpoint checkpoint(env, settings);
  checkpoint.save();
  return quietest([&] { return checkpoint.save(); }, settings);
}

Values checkpoint_restore(const Settings& settings) {
  UnsyncedEnv env(tf::default_env());
  Checkpoint checkpoint(env, settings);
  checkpoint.save();
  checkpoint.restore();
  return quietest([&] { return checkpoint.restore(); }, settings);
}

// What the disk itself can do with as many bytes: written once, synced once.
Values disk_write(const Settings& settings) {
  tf::Env& env = tf::default_env();
  const Folder directory(settings, "disk");
  const std::string bytes = random_bytes(kVariables * kVariableSize * 4);
  int turn = 0;
  const auto write = [&] {
    sync_disks();
    const double start = now();
    const auto file = env.create(directory.file(std::to_string(++turn % 2)));
    file->append(bytes);
    file->sync();
    file->close();
    return kCheckpointMegabytes / (now() - start);
  };
  write();
  return quietest(write, settings);
}

Values event_scalars(const Settings& settings) {
  const Folder directory(settings, "events");
  const std::int64_t scalars = settings.quick ? 200000 : 2000000;
  int run = 0;
  const auto write = [&] {
    tf::io::FileWriter writer(directory.file(std::to_string(++run)));
    writer.add_scalar("loss", 0, 0);
    const double start = now();
    for (std::int64_t i = 0; i < scalars; ++i) writer.add_scalar("loss", static_cast<double>(i), i);
    writer.flush();
    return static_cast<double>(scalars) / (now() - start);
  };
  write();
  return quietest(write, settings);
}

}  // namespace

std::vector<Case> io_cases() {
  std::vector<Case> cases;
  for (const std::size_t kilobytes : {1, 10, 100}) {
    cases.push_back({"io/tfrecord_read_" + std::to_string(kilobytes) + "KB",
                     [=](const Settings& settings) { return read_records(kilobytes << 10, settings); }});
  }
  cases.push_back({"io/checkpoint_save", [](const Settings& settings) {
                     UnsyncedEnv env(tf::default_env());
                     return checkpoint_save(env, settings);
                   }});
  cases.push_back({"io/checkpoint_save_durable",
                   [](const Settings& settings) { return checkpoint_save(tf::default_env(), settings); }});
  cases.push_back({"io/checkpoint_restore", checkpoint_restore});
  cases.push_back({"io/disk_write", disk_write});
  cases.push_back({"io/event_scalars", event_scalars});
  return cases;
}

}  // namespace bench
