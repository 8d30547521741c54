#include "caudal/formats/tfrecord.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "caudal/base/crc32c.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {
namespace {

constexpr size_t kHeader = 12, kFooter = 4;
constexpr size_t kFirstBuffer = 1 << 15, kBufferSize = 1 << 19;

std::string header_of(std::string_view record) {
  std::string header;
  put_fixed<uint64_t>(&header, record.size());
  put_fixed<uint32_t>(&header, masked_crc32c(header));
  return header;
}

std::string footer_of(std::string_view record) {
  std::string footer;
  put_fixed<uint32_t>(&footer, masked_crc32c(record));
  return footer;
}

}  // namespace

RecordReader::RecordReader(Env& env, const std::string& path, const RecordReaderOptions& options)
    : RecordReader(env.open_sequential(path), path, options) {}

RecordReader::RecordReader(std::unique_ptr<SequentialFile> file, std::string path, const RecordReaderOptions& options)
    : file_(inflate_file(std::move(file), options.compression, path)), path_(std::move(path)), options_(options) {
  options_.max_record_bytes = std::min(options_.max_record_bytes, uint64_t{1} << 60);
  while (offset_ < options.offset) {
    const size_t got = peek(std::min<uint64_t>(options.offset - offset_, kBufferSize)).size();
    if (got == 0) throw out_of_range(path_, ": there is no record at ", options.offset, ", the file ends at ", offset_);
    used_ += got;
    offset_ += got;
  }
}

// The next bytes without taking them: fewer than `size` only at the end of the file. REQUIRES: size <= kBufferSize.
std::string_view RecordReader::peek(size_t size) {
  if (end_ - used_ < size) {
    std::memmove(buffer_.data(), buffer_.data() + used_, end_ - used_);
    end_ -= std::exchange(used_, 0);
    // Grows with the file: many are short.
    const size_t wanted = std::clamp(4 * buffer_.size(), kFirstBuffer, kBufferSize);
    if (buffer_.size() < std::max(size, wanted)) buffer_.resize(std::max(size, wanted));
    end_ += file_->read(buffer_.data() + end_, buffer_.size() - end_);
  }
  return buffered().substr(0, size);
}

// What has been read and not taken yet.
std::string_view RecordReader::buffered() const { return std::string_view(buffer_).substr(used_, end_ - used_); }

// Puts back what follows a header, so that nothing is lost for a later attempt.
void RecordReader::put_back(std::string_view data) {
  buffer_.replace(used_ + kHeader, std::string::npos, data);
  end_ = buffer_.size();
}

// Appends `size` bytes that follow the header to the record, as far as they exist.
void RecordReader::read_data(uint64_t size, std::string* record) {
  record->assign(buffered().substr(kHeader, size));
  uint64_t room = 1 << 20;
  while (record->size() < size) {
    const size_t have = record->size();
    const size_t part = std::min<uint64_t>(size - have, room);
    record->resize(have + part);
    const size_t got = file_->read(record->data() + have, part);
    record->resize(have + got);
    if (got < part) return;
    room *= 2;
  }
}

// Which record of the file is wrong, if that is known.
std::string RecordReader::number() const {
  return options_.offset == 0 ? internal::concat(" (record ", records_ + 1, ")") : std::string();
}

bool RecordReader::next(std::string* record) {
  const std::string_view header = peek(kHeader);
  if (header.empty()) return false;
  if (header.size() < kHeader) {
    if (options_.partial_header_is_end) return false;
    throw data_loss(path_, ": truncated record at ", offset_, ": the file ends inside its header", number());
  }
  const auto length = get_fixed<uint64_t>(header.data());
  if (get_fixed<uint32_t>(header.data() + 8) != masked_crc32c(header.substr(0, 8)))
    throw data_loss(path_, ": corrupted record at ", offset_, ": the checksum of its length is wrong", number());
  if (length > options_.max_record_bytes)
    throw resource_exhausted(path_, ": the record at ", offset_, " has ", length, " bytes, more than the limit of ",
                             options_.max_record_bytes, number());

  std::string_view data, footer;
  std::string tail;
  const bool fits = length + kHeader + kFooter <= kBufferSize;
  if (fits) {
    const std::string_view whole = peek(kHeader + length + kFooter);
    data = whole.substr(std::min(whole.size(), kHeader)).substr(0, length);
    footer = whole.substr(std::min(whole.size(), kHeader + length));
  } else {
    read_data(length + kFooter, &tail);
    data = std::string_view(tail).substr(0, length);
    footer = std::string_view(tail).substr(data.size());
  }
  if (footer.size() < kFooter) {
    if (!fits) put_back(tail);
    throw data_loss(path_, ": truncated record at ", offset_, ": it should have ", length, " bytes", number());
  }
  if (get_fixed<uint32_t>(footer.data()) != masked_crc32c(data)) {
    if (!fits) put_back(tail);
    throw data_loss(path_, ": corrupted record at ", offset_ + kHeader, ": the checksum of its data is wrong",
                    number());
  }
  if (fits) {
    record->assign(data);
    used_ += kHeader + length + kFooter;
  } else {
    const size_t from_buffer = std::min<size_t>(end_ - used_, kHeader + length + kFooter);
    used_ += from_buffer;
    tail.resize(length);
    *record = std::move(tail);
  }
  offset_ += kHeader + length + kFooter;
  ++records_;
  return true;
}

RecordWriter::RecordWriter(Env& env, const std::string& path, Compression compression, int level)
    : file_(deflate_file(env.create(path), compression, level)) {}

RecordWriter::RecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

void RecordWriter::write(std::string_view record) {
  file_->append(header_of(record));
  file_->append(record);
  file_->append(footer_of(record));
}

std::string framed_record(std::string_view record) {
  return internal::concat(header_of(record), record, footer_of(record));
}

}  // namespace caudal::inline v0
