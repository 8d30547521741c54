#include "caudal/ops/record_source.h"

#include <algorithm>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/formats/compression.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/ops/line_reader.h"

namespace caudal::inline v0::internal {

RecordSource::~RecordSource() = default;

namespace {

constexpr std::size_t kBlock = 256 << 10;

// The rest of a file. Memory grows with what is there.
std::string read_all(SequentialFile& file) {
  std::string content;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + kBlock);
    const std::size_t got = file.read(content.data() + before, kBlock);
    content.resize(before + got);
    if (got < kBlock) return content;
  }
}

// The work itself: key and value are its name.
class IdentitySource final : public RecordSource {
 public:
  void open(Env&, const std::string& work) override { work_ = work; }
  Step next(std::string* key, std::string* value) override {
    *key = *value = work_;
    return {.produced = true, .at_end = true};
  }
  void close() override {}
  bool has_plain_state() const override { return true; }

 private:
  std::string work_;
};

// A file's content under its name.
class WholeFileSource final : public RecordSource {
 public:
  void open(Env& env, const std::string& work) override {
    work_ = work;
    file_ = env.open_sequential(work);
  }
  Step next(std::string* key, std::string* value) override {
    *key = work_;
    *value = read_all(*file_);
    return {.produced = true, .at_end = true};
  }
  void close() override { file_.reset(); }
  bool has_plain_state() const override { return true; }

 private:
  std::string work_;
  std::unique_ptr<SequentialFile> file_;
};

// Lines under "file:number", counted from 1.
class LineSource final : public RecordSource {
 public:
  explicit LineSource(std::int64_t skip) : skip_(skip) {
    if (skip < 0) throw invalid_argument("skip_header_lines must be >= 0 not ", skip);
  }
  void open(Env& env, const std::string& work) override {
    close();
    work_ = work;
    lines_ = std::make_unique<LineReader>(env.open_sequential(work));
    std::string line;
    while (number_ < skip_ && lines_->next(&line)) ++number_;
  }
  Step next(std::string* key, std::string* value) override {
    if (!lines_->next(value)) return {.at_end = true};
    *key = work_ + ":" + std::to_string(++number_);
    return {.produced = true};
  }
  void close() override {
    lines_.reset();
    number_ = 0;
  }

 private:
  const std::int64_t skip_;
  std::string work_;
  std::int64_t number_ = 0;
  std::unique_ptr<LineReader> lines_;
};

// Records of so many bytes between a header and a footer, under "file:number", counted from 0; each begins hop bytes
// after the one before.
class FixedLengthSource final : public RecordSource {
 public:
  explicit FixedLengthSource(const NodeInfo& node)
      : header_(checked(node, "header_bytes")),
        record_(checked(node, "record_bytes")),
        footer_(checked(node, "footer_bytes")),
        hop_(checked(node, "hop_bytes")) {
    if (hop_ == 0) hop_ = record_;
    if (find_attr(node.attrs, "encoding") != nullptr) encoding_ = node.attr<std::string>("encoding");
  }
  void open(Env& env, const std::string& work) override {
    close();
    work_ = work;
    file_ = env.open_sequential(work);
    if (encoding_ == "ZLIB" || encoding_ == "GZIP") {
      file_ = inflate_file(std::move(file_), compression_from_name(encoding_), work);
    }
    if (!skip(header_)) throw out_of_range("'", work, "' is shorter than its header of ", header_, " bytes");
  }
  Step next(std::string* key, std::string* value) override {
    if (number_ > 0 && !skip(hop_)) return {.at_end = true};
    if (!fill(record_ + footer_)) return {.at_end = true};
    *value = ahead_.substr(0, static_cast<std::size_t>(record_));
    *key = work_ + ":" + std::to_string(number_++);
    return {.produced = true};
  }
  void close() override {
    file_.reset();
    ahead_.clear();
    number_ = 0;
  }

 private:
  static std::int64_t checked(const NodeInfo& node, const char* name) {
    const std::int64_t bytes = node.attr<std::int64_t>(name);
    if (bytes < 0) throw invalid_argument(name, " must be >= 0 not ", bytes);
    return bytes;
  }

  // Makes `ahead_` hold so many bytes; false if the file has fewer.
  bool fill(std::int64_t bytes) {
    while (std::ssize(ahead_) < bytes) {
      const std::size_t before = ahead_.size();
      const std::size_t wanted = std::min(kBlock, static_cast<std::size_t>(bytes) - before);
      ahead_.resize(before + wanted);
      const std::size_t got = file_->read(ahead_.data() + before, wanted);
      ahead_.resize(before + got);
      if (got < wanted) return std::ssize(ahead_) >= bytes;
    }
    return true;
  }
  bool skip(std::int64_t bytes) {
    while (bytes > 0) {
      const std::int64_t part = std::min<std::int64_t>(bytes, std::max<std::int64_t>(std::ssize(ahead_), kBlock));
      if (!fill(part)) return false;
      ahead_.erase(0, static_cast<std::size_t>(part));
      bytes -= part;
    }
    return true;
  }

  std::int64_t header_, record_, footer_, hop_;
  std::string encoding_, work_;
  std::string ahead_;  // bytes read that the next records begin with
  std::int64_t number_ = 0;
  std::unique_ptr<SequentialFile> file_;
};

// Records of a TFRecord file under "file:offset".
class TfRecordSource final : public RecordSource {
 public:
  explicit TfRecordSource(const std::string& compression) {
    options_.compression = compression_from_name(compression);
    options_.partial_header_is_end = true;
  }
  void open(Env& env, const std::string& work) override {
    work_ = work;
    reader_ = std::make_unique<RecordReader>(env, work, options_);
  }
  Step next(std::string* key, std::string* value) override {
    *key = work_ + ":" + std::to_string(reader_->offset());
    const bool there = reader_->next(value);
    return {.produced = there, .at_end = !there};
  }
  void close() override { reader_.reset(); }

 private:
  RecordReaderOptions options_;
  std::string work_;
  std::unique_ptr<RecordReader> reader_;
};

}  // namespace

std::unique_ptr<RecordSource> make_record_source(const NodeInfo& node) {
  const std::string& op = node.type();
  if (op.starts_with("Identity")) return std::make_unique<IdentitySource>();
  if (op.starts_with("WholeFile")) return std::make_unique<WholeFileSource>();
  if (op.starts_with("TextLine")) {
    return std::make_unique<LineSource>(node.attr<std::int64_t>("skip_header_lines"));
  }
  if (op.starts_with("FixedLength")) return std::make_unique<FixedLengthSource>(node);
  return std::make_unique<TfRecordSource>(node.attr<std::string>("compression_type"));
}

}  // namespace caudal::inline v0::internal
