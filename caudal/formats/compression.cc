#include "caudal/formats/compression.h"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace caudal::inline v0 {
namespace {

constexpr size_t kBufferSize = 1 << 16;

// zlib's window parameter: 15 bits, plus 16 for a gzip frame.
int window_bits(Compression compression) { return compression == Compression::kGzip ? 15 + 16 : 15; }

class InflatingFile final : public SequentialFile {
 public:
  InflatingFile(std::unique_ptr<SequentialFile> file, Compression compression, std::string path)
      : file_(std::move(file)), gzip_(compression == Compression::kGzip), path_(std::move(path)), input_(kBufferSize) {
    if (inflateInit2(&stream_, window_bits(compression)) != Z_OK) throw resource_exhausted("no memory for zlib");
  }
  ~InflatingFile() override { inflateEnd(&stream_); }

  size_t read(char* out, size_t size) override {
    size_t done = 0;
    while (done < size && !ended_) {
      if (stream_.avail_in == 0) refill();
      const size_t room = std::min<size_t>(size - done, 1 << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(out + done);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        end_of_member();
      } else if (status != Z_OK && !(status == Z_BUF_ERROR && stream_.avail_in == 0 && !input_ended_)) {
        fail(input_ended_ && status == Z_BUF_ERROR ? "the compressed stream is cut off"
                                                   : "the compressed stream is damaged");
      }
    }
    return done;
  }

 private:
  void refill() {
    const size_t got = file_->read(input_.data(), input_.size());
    input_ended_ = got < input_.size();
    consumed_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
  }
  void end_of_member() {
    if (gzip_ && stream_.avail_in == 0 && !input_ended_) refill();
    if (!gzip_ || stream_.avail_in == 0) {
      ended_ = true;
    } else {
      inflateReset(&stream_);
    }
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw data_loss(path_, ": ", what, " near byte ", consumed_ - stream_.avail_in,
                    stream_.msg != nullptr ? internal::concat(" (", stream_.msg, ")") : "");
  }

  std::unique_ptr<SequentialFile> file_;
  bool gzip_;
  std::string path_;
  std::vector<char> input_;
  z_stream stream_{};
  uint64_t consumed_ = 0;
  bool input_ended_ = false, ended_ = false;
};

class DeflatingFile final : public WritableFile {
 public:
  DeflatingFile(std::unique_ptr<WritableFile> file, Compression compression, int level)
      : file_(std::move(file)), output_(kBufferSize) {
    if (deflateInit2(&stream_, level, Z_DEFLATED, window_bits(compression), 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw invalid_argument("compression level ", level, " is not from -1 to 9");
  }
  ~DeflatingFile() override {
    try {
      close();
    } catch (const Error&) {
      // Documented: only close() reports.
    }
    deflateEnd(&stream_);
  }
  void append(std::string_view data) override {
    while (!data.empty()) {
      const size_t part = std::min<size_t>(data.size(), 1 << 30);
      run(data.substr(0, part), Z_NO_FLUSH);
      data.remove_prefix(part);
    }
  }
  void flush() override {
    run({}, Z_SYNC_FLUSH);
    file_->flush();
  }
  void sync() override {
    run({}, Z_SYNC_FLUSH);
    file_->sync();
  }
  void close() override {
    if (std::exchange(closed_, true)) return;
    run({}, Z_FINISH);
    file_->close();
  }

 private:
  void run(std::string_view data, int mode) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      deflate(&stream_, mode);
      file_->append({output_.data(), output_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

  std::unique_ptr<WritableFile> file_;
  std::vector<char> output_;
  z_stream stream_{};
  bool closed_ = false;
};

}  // namespace

Compression compression_from_name(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "SNAPPY") throw unimplemented("SNAPPY compression of record files").hint("Use GZIP or ZLIB.");
  throw invalid_argument("unknown compression '", name, "'").hint("Use \"\", GZIP or ZLIB.");
}

std::unique_ptr<SequentialFile> inflate_file(std::unique_ptr<SequentialFile> file, Compression compression,
                                             std::string path) {
  if (compression == Compression::kNone) return file;
  return std::make_unique<InflatingFile>(std::move(file), compression, std::move(path));
}

std::unique_ptr<WritableFile> deflate_file(std::unique_ptr<WritableFile> file, Compression compression, int level) {
  if (compression == Compression::kNone) return file;
  return std::make_unique<DeflatingFile>(std::move(file), compression, level);
}

std::string inflate_raw(std::string_view deflated, uint64_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw resource_exhausted("no memory for zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  uint64_t in_left = deflated.size(), out_left = size;
  int status;
  do {
    const auto in_part = static_cast<uInt>(std::min<uint64_t>(in_left, 1 << 30));
    const auto out_part = static_cast<uInt>(std::min<uint64_t>(out_left, 1 << 30));
    stream.avail_in = in_part;
    stream.avail_out = out_part;
    status = inflate(&stream, Z_NO_FLUSH);
    in_left -= in_part - stream.avail_in;
    out_left -= out_part - stream.avail_out;
  } while (status == Z_OK && in_left > 0);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out_left != 0) throw data_loss("a deflated stream is damaged");
  return out;
}

}  // namespace caudal::inline v0
