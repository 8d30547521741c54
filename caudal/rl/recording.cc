#include "caudal/rl/recording.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/gif.h"
#include "caudal/formats/npy.h"
#include "caudal/formats/png.h"
#include "caudal/io/canvas.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {

struct VideoWriter::Gif {
  GifWriter writer;
  std::unique_ptr<WritableFile> file;
};

VideoWriter::VideoWriter(Env& env, std::string gif_path, std::string sheet_path, double frames_per_second,
                         int sheet_columns, int sheet_rows)
    : env_(env),
      gif_path_(std::move(gif_path)),
      sheet_path_(std::move(sheet_path)),
      frames_per_second_(frames_per_second),
      columns_(sheet_columns),
      rows_(sheet_rows) {
  if (columns_ < 1 || rows_ < 1) throw invalid_argument("a sheet has at least one column and one row");
}

VideoWriter::~VideoWriter() = default;

void VideoWriter::add(const Tensor& frame) {
  if (!gif_path_.empty()) {
    if (!gif_) {
      const auto side = [&](int i) { return static_cast<int>(frame.rank() == 3 ? frame.dim(i) : 0); };
      GifWriter writer(side(1), side(0), frames_per_second_);
      gif_ = std::make_unique<Gif>(Gif{std::move(writer), env_.create(gif_path_)});
    }
    gif_->file->append(gif_->writer.add(frame));
  }
  if (!sheet_path_.empty()) keep_for_sheet(frame);
  ++frames_;
}

void VideoWriter::keep_for_sheet(const Tensor& frame) {
  if (frames_ % stride_ != 0) return;
  kept_.push_back(Tensor::from(frame.shape(), frame.to_vector<std::uint8_t>()));
  if (static_cast<int>(kept_.size()) < 2 * columns_ * rows_) return;
  for (std::size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
  kept_.resize(kept_.size() / 2);
  stride_ *= 2;
}

void VideoWriter::close() {
  if (gif_) {
    gif_->file->append(gif_->writer.finish());
    gif_->file->close();
    gif_.reset();
  }
  if (kept_.empty()) return;
  const auto cells = std::min(kept_.size(), static_cast<std::size_t>(columns_ * rows_));
  const int height = static_cast<int>(kept_[0].dim(0)), width = static_cast<int>(kept_[0].dim(1));
  const int columns = std::min(columns_, static_cast<int>(cells)),
            rows = (static_cast<int>(cells) + columns - 1) / columns;
  constexpr int kGap = 2;
  io::Canvas canvas(columns * (width + kGap) - kGap, rows * (height + kGap) - kGap);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const Tensor& picture = kept_[cells == 1 ? 0 : cell * (kept_.size() - 1) / (cells - 1)];
    const int column = static_cast<int>(cell) % columns, row = static_cast<int>(cell) / columns;
    canvas.picture(column * (width + kGap), row * (height + kGap), picture, 1);
  }
  write_file_atomically(env_, sheet_path_, encode_png(canvas.pixels()));
  kept_.clear();
}

namespace {

class VideoRecorder final : public Wrapper {
 public:
  VideoRecorder(std::unique_ptr<Environment> inner, const VideoOptions& options, Env& files)
      : Wrapper(std::move(inner)), options_(options), files_(files) {
    if (options.every < 1)
      throw invalid_argument("record_video keeps every n-th episode, n at least 1, not ", options.every);
    files_.mkdirs(options.folder);
  }
  ~VideoRecorder() override {
    try {
      finish();
    } catch (const Error&) {  // a destructor cannot report that the disk is full
    }
  }

 private:
  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    finish();
    const Info info = inner().reset(seed, observation);
    if (episode_++ % options_.every == 0) begin();
    return info;
  }
  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    StepResult result = inner().step(action, observation);
    if (video_) video_->add(inner().render());
    if (result.done()) finish();
    return result;
  }
  void begin() {
    std::string name = id();
    std::ranges::replace(name, '/', '-');
    const std::string path = join_path(options_.folder, name + "-episode-" + std::to_string(episode_ - 1));
    video_ = std::make_unique<VideoWriter>(files_, options_.gif ? path + ".gif" : std::string(),
                                           options_.sheet ? path + ".png" : std::string(), frames_per_second());
    video_->add(inner().render());
  }
  void finish() {
    if (!video_) return;
    const auto done = std::exchange(video_, nullptr);
    done->close();
  }

  VideoOptions options_;
  Env& files_;
  std::int64_t episode_ = 0;
  std::unique_ptr<VideoWriter> video_;
};

class StepLogger final : public Wrapper {
 public:
  StepLogger(std::unique_ptr<Environment> inner, const std::string& prefix, Env& files)
      : Wrapper(std::move(inner)), last_(observation_space().empty_value()) {
    files.mkdirs(directory_of(prefix));
    steps_ = files.create(prefix + ".steps.csv");
    observations_ = files.create(prefix + ".observations.npy");
    steps_->append("episode,step,action,reward,terminated,truncated\n");
  }

 private:
  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    flush();
    ++episode_;
    step_ = 0;
    const Info info = inner().reset(seed, bytes_of(last_));
    write("", {}, observation);
    return info;
  }
  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    StepResult result = inner().step(action, bytes_of(last_));
    ++step_;
    write(text_of(action), result, observation);
    if (result.done()) flush();
    return result;
  }
  void write(const std::string& action, const StepResult& result, std::span<std::byte> observation) {
    if (!observation.empty()) std::ranges::copy(bytes_of(last_), observation.begin());
    char line[160];
    std::snprintf(line, sizeof line, ",%.17g,%d,%d\n", result.reward, result.terminated, result.truncated);
    steps_->append(std::to_string(episode_) + "," + std::to_string(step_) + "," + action + line);
    observations_->append(npy_bytes(last_));
  }
  // Values of one action are separated by spaces.
  static std::string text_of(const Action& action) {
    if (action.is_choice()) return std::to_string(action.choice());
    std::vector<std::string> values;
    for (const float value : action.values()) {
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
      values.emplace_back(text);
    }
    return join(values, " ");
  }
  void flush() {
    steps_->flush();
    observations_->flush();
  }

  Tensor last_;
  std::unique_ptr<WritableFile> steps_, observations_;
  std::int64_t episode_ = -1, step_ = 0;
};

}  // namespace

std::unique_ptr<Environment> record_video(std::unique_ptr<Environment> inner, const VideoOptions& options, Env& files) {
  return std::make_unique<VideoRecorder>(std::move(inner), options, files);
}

std::unique_ptr<Environment> log_steps(std::unique_ptr<Environment> inner, const std::string& prefix, Env& files) {
  return std::make_unique<StepLogger>(std::move(inner), prefix, files);
}

}  // namespace caudal::inline v0::rl
