// Datasets of the records of files: lines, TFRecords, records of fixed length; and of the files' names.
#include <algorithm>
#include <utility>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/glob.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/ops/file_records.h"
#include "caudal/ops/line_reader.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

Dataset::Spec string_spec(const NodeInfo& node) { return {{DType::kString}, {PartialShape::scalar()}, node.type()}; }

// ---- TextLineDataset

class LineRecords final : public FileRecords {
 public:
  LineRecords(Env& env, const std::string& path, const std::string& compression)
      : lines_(internal::open_inflated(env, path, compression)) {}
  bool next(const Iteration&, Element& out) override {
    std::string line;
    if (!lines_.next(&line)) return false;
    ++number_;
    out = {Tensor(std::move(line))};
    return true;
  }
  void transfer(StateArchive& archive) override {
    std::int64_t number = number_;
    archive.number(number);
    std::string line;
    while (number_ < number && lines_.next(&line)) ++number_;
  }

 private:
  internal::LineReader lines_;
  std::int64_t number_ = 0;
};

DatasetPtr make_text_lines(RunContext& c) {
  const std::string compression = string_input(c, 1, "compression_type");
  compression_from_name(compression);
  if (int_input(c, 2, "buffer_size") < 0) throw invalid_argument("`buffer_size` must be >= 0 (0 == default)");
  return std::make_shared<FilesDataset>(string_spec(c.node()), strings_input(c, 0, "filenames"),
                                        [compression](Env& env, const std::string& path, std::size_t) {
                                          return std::make_unique<LineRecords>(env, path, compression);
                                        });
}

// ---- TFRecordDataset

class FramedRecords final : public FileRecords {
 public:
  FramedRecords(Env& env, std::string path, const RecordReaderOptions& options)
      : env_(env), path_(std::move(path)), options_(options), reader_(open(options)) {}
  bool next(const Iteration&, Element& out) override {
    std::string record;
    if (!reader_->next(&record)) return false;
    out = {Tensor(std::move(record))};
    return true;
  }
  void transfer(StateArchive& archive) override {
    std::uint64_t offset = reader_->offset();
    archive.number(offset);
    if (archive.saving()) return;
    RecordReaderOptions there = options_;
    there.offset = offset;
    reader_ = open(there);
  }

 private:
  std::unique_ptr<RecordReader> open(const RecordReaderOptions& options) const {
    return std::make_unique<RecordReader>(env_, path_, options);
  }

  Env& env_;
  const std::string path_;
  const RecordReaderOptions options_;
  std::unique_ptr<RecordReader> reader_;
};

DatasetPtr make_tf_records(RunContext& c) {
  RecordReaderOptions options;
  options.compression = compression_from_name(string_input(c, 1, "compression_type"));
  options.partial_header_is_end = true;
  if (int_input(c, 2, "buffer_size") < -1) {
    throw invalid_argument("`buffer_size` must be >= 0 (0 == no buffering)");
  }
  std::vector<std::string> files = strings_input(c, 0, "filenames");
  std::vector<std::int64_t> offsets(files.size());
  if (c.num_inputs() > 3) {
    offsets = c.input(3).to_int64s();
    if (offsets.size() != files.size()) throw invalid_argument("`byte_offsets` must be of same size as `filenames`");
  }
  return std::make_shared<FilesDataset>(
      string_spec(c.node()), std::move(files), [options, offsets](Env& env, const std::string& path, std::size_t i) {
        RecordReaderOptions there = options;
        if (offsets[i] < 0) throw invalid_argument("'", path, "' cannot be read from offset ", offsets[i]);
        there.offset = static_cast<std::uint64_t>(offsets[i]);
        return std::make_unique<FramedRecords>(env, path, there);
      });
}

// ---- FixedLengthRecordDataset

struct RecordLayout {
  std::int64_t header, record, footer;
  std::string compression;
};

class FixedLengthRecords final : public FileRecords {
 public:
  FixedLengthRecords(Env& env, const std::string& path, const RecordLayout& layout)
      : layout_(layout), path_(path), file_(internal::open_inflated(env, path, layout.compression)) {
    if (layout.compression.empty()) check_size(static_cast<std::int64_t>(env.file_size(path)));
    if (!fill(layout_.header)) fail("is shorter than its header of ", layout_.header, " bytes");
    ahead_.erase(0, static_cast<std::size_t>(layout_.header));
  }

  // The footer is what remains when no whole record comes before it.
  bool next(const Iteration&, Element& out) override {
    if (!fill(layout_.record + layout_.footer)) {
      if (std::ssize(ahead_) != layout_.footer) {
        fail("has ", std::ssize(ahead_), " bytes behind its last record; the footer has ", layout_.footer);
      }
      return false;
    }
    out = {Tensor(ahead_.substr(0, static_cast<std::size_t>(layout_.record)))};
    ahead_.erase(0, static_cast<std::size_t>(layout_.record));
    ++number_;
    return true;
  }

  void transfer(StateArchive& archive) override {
    std::int64_t number = number_;
    archive.number(number);
    for (; number_ < number && fill(layout_.record); ++number_) {
      ahead_.erase(0, static_cast<std::size_t>(layout_.record));
    }
  }

 private:
  static constexpr std::int64_t kBlock = 256 << 10;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw invalid_argument("'", path_, "' ", parts...);
  }

  void check_size(std::int64_t size) const {
    const std::int64_t body = size - layout_.header - layout_.footer;
    if (body >= 0 && body % layout_.record == 0) return;
    throw invalid_argument("Excluding the header (", layout_.header, " bytes) and footer (", layout_.footer,
                           " bytes), input file \"", path_, "\" has body length ", body,
                           " bytes, which is not an exact multiple of the record length (", layout_.record, " bytes).");
  }

  // Makes `ahead_` hold so many bytes; false if the file has fewer.
  bool fill(std::int64_t bytes) {
    while (std::ssize(ahead_) < bytes) {
      const std::size_t before = ahead_.size();
      ahead_.resize(before + kBlock);
      const std::size_t got = file_->read(ahead_.data() + before, kBlock);
      ahead_.resize(before + got);
      if (got == 0) return false;
    }
    return true;
  }

  const RecordLayout layout_;
  const std::string path_;
  std::unique_ptr<SequentialFile> file_;
  std::string ahead_;
  std::int64_t number_ = 0;
};

DatasetPtr make_fixed_length(RunContext& c) {
  RecordLayout layout{int_input(c, 1, "header_bytes"), int_input(c, 2, "record_bytes"), int_input(c, 3, "footer_bytes"),
                      ""};
  if (layout.header < 0) throw invalid_argument("`header_bytes` must be >= 0");
  if (layout.record <= 0) throw invalid_argument("`record_bytes` must be > 0");
  if (layout.footer < 0) throw invalid_argument("`footer_bytes` must be >= 0");
  if (int_input(c, 4, "buffer_size") < 0) throw invalid_argument("`buffer_size` must be >= 0 (0 == default)");
  if (c.num_inputs() > 5) layout.compression = string_input(c, 5, "compression_type");
  compression_from_name(layout.compression);
  return std::make_shared<FilesDataset>(string_spec(c.node()), strings_input(c, 0, "filenames"),
                                        [layout](Env& env, const std::string& path, std::size_t) {
                                          return std::make_unique<FixedLengthRecords>(env, path, layout);
                                        });
}

// ---- MatchingFilesDataset: names of files, in order

class MatchingFilesDataset final : public Dataset {
 public:
  MatchingFilesDataset(Spec spec, std::vector<std::string> patterns)
      : Dataset(std::move(spec)), patterns_(std::move(patterns)) {}
  const std::vector<std::string>& patterns() const { return patterns_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::vector<std::string> patterns_;
};

class MatchingFilesIterator final : public IteratorOf<MatchingFilesDataset> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration& c, Element& out) override {
    find(c);
    if (i_ >= std::ssize(files_)) return false;
    out = {Tensor(files_[static_cast<std::size_t>(i_++)])};
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("MatchingFiles");
    archive.number(i_);
    if (i_ < 0) throw data_loss("the saved position is file ", i_);
  }

 private:
  void find(const Iteration& c) {
    if (std::exchange(found_, true)) return;
    for (const std::string& pattern : dataset().patterns()) {
      const auto matches = match_files(*c.step->env, pattern);
      files_.insert(files_.end(), matches.begin(), matches.end());
    }
    std::sort(files_.begin(), files_.end());
    if (files_.empty()) throw not_found("Don't find any matched files");
  }

  bool found_ = false;
  std::vector<std::string> files_;
  std::int64_t i_ = 0;
};

std::unique_ptr<DatasetIterator> MatchingFilesDataset::make_iterator(const Iteration&) const {
  return std::make_unique<MatchingFilesIterator>(*this);
}

DatasetPtr make_matching_files(RunContext& c) {
  return std::make_shared<MatchingFilesDataset>(string_spec(c.node()), strings_input(c, 0, "patterns"));
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("TextLineDataset", "filenames: string; compression_type: string; buffer_size: int64",
                        "metadata: string = ''", true, ops::prepare_dataset<make_text_lines>);
CAUDAL_REGISTER_DATASET("TFRecordDataset", "filenames: string; compression_type: string; buffer_size: int64",
                        "metadata: string = ''", true, ops::prepare_dataset<make_tf_records>);
CAUDAL_REGISTER_DATASET("TFRecordDatasetV2",
                        "filenames: string; compression_type: string; buffer_size: int64; byte_offsets: int64",
                        "metadata: string = ''", true, ops::prepare_dataset<make_tf_records>);
CAUDAL_REGISTER_DATASET("FixedLengthRecordDataset",
                        "filenames: string; header_bytes: int64; record_bytes: int64; footer_bytes: int64; "
                        "buffer_size: int64",
                        "metadata: string = ''", true, ops::prepare_dataset<make_fixed_length>);
CAUDAL_REGISTER_DATASET("FixedLengthRecordDatasetV2",
                        "filenames: string; header_bytes: int64; record_bytes: int64; footer_bytes: int64; "
                        "buffer_size: int64; compression_type: string",
                        "metadata: string = ''", true, ops::prepare_dataset<make_fixed_length>);
CAUDAL_REGISTER_DATASET("MatchingFilesDataset", "patterns: string", "", true,
                        ops::prepare_dataset<make_matching_files>);

}  // namespace caudal::inline v0
