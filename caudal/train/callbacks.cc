#include "caudal/train/callbacks.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace caudal::inline v0::train {
namespace {

constexpr int kBarWidth = 24;
constexpr double kRedrawSeconds = 0.1;

std::string duration(double seconds) {
  char text[32];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.0fs", seconds);
  } else {
    const auto whole = static_cast<std::int64_t>(std::lround(seconds));
    std::snprintf(text, sizeof text, "%lldm%02llds", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  }
  return text;
}

std::string values_text(const NamedValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    char number[64];
    std::snprintf(number, sizeof number, " - %s: %.4f", name.c_str(), value);
    text += number;
  }
  return text;
}

std::string bar(double done) {
  const int filled = std::clamp(static_cast<int>(done * kBarWidth), 0, kBarWidth);
  std::string text(static_cast<std::size_t>(filled), '=');
  if (filled < kBarWidth) text += '>';
  text.resize(kBarWidth, '.');
  return "[" + text + "]";
}

}  // namespace

ProgressBar::ProgressBar(std::FILE* out) : out_(out), terminal_(isatty(fileno(out)) != 0) {}

void ProgressBar::on_epoch_begin(Trainer&, const TrainStatus& status) {
  epoch_start_ = status.seconds;
  first_batch_ = status.batch;
  last_drawn_ = -1;
  last_tenth_ = -1;
  std::fprintf(out_, "Epoch %lld/%lld\n", static_cast<long long>(status.epoch + 1),
               static_cast<long long>(status.epochs));
  std::fflush(out_);
}

void ProgressBar::on_batch_end(Trainer&, const TrainStatus& status) { draw(status, false); }

void ProgressBar::on_epoch_end(Trainer&, const TrainStatus& status) { draw(status, true); }

void ProgressBar::on_train_end(Trainer&, const TrainStatus&) {
  if (line_open_) std::fputc('\n', out_);
  line_open_ = false;
  std::fflush(out_);
}

void ProgressBar::draw(const TrainStatus& status, bool last) {
  const double done = static_cast<double>(status.batch) / static_cast<double>(status.batches_per_epoch);
  if (!last && terminal_ && last_drawn_ >= 0 && status.seconds - last_drawn_ < kRedrawSeconds) return;
  const int tenth = static_cast<int>(done * 10);
  if (!last && !terminal_ && (tenth == last_tenth_ || tenth == 10)) return;
  last_drawn_ = status.seconds;
  last_tenth_ = tenth;

  const double elapsed = status.seconds - epoch_start_;
  const auto batches = static_cast<double>(std::max<std::int64_t>(status.batch - first_batch_, 1));
  const double left = elapsed / batches * static_cast<double>(status.batches_per_epoch - status.batch);
  const std::string time =
      last ? duration(elapsed) + ", " + std::to_string(static_cast<int>(batches / elapsed)) + " steps/s"
           : "ETA " + duration(left);
  std::fprintf(out_, "%s%lld/%lld %s %s%s%s", terminal_ ? "\r\033[K" : "", static_cast<long long>(status.batch),
               static_cast<long long>(status.batches_per_epoch), bar(done).c_str(), time.c_str(),
               values_text(status.means).c_str(), last ? values_text(status.validation).c_str() : "");
  line_open_ = terminal_ && !last;
  if (!line_open_) std::fputc('\n', out_);
  std::fflush(out_);
}

void CheckpointCallback::save(Trainer& trainer) {
  StateMap position = trainer.position();
  // The end of the last epoch is the end of training: one checkpoint for both.
  if (position == saved_position_) return;
  saved_position_ = position;
  latest_ = saver_->save(trainer.session(), prefix_, {.global_step = trainer.step(), .state = std::move(position)});
}

void EventsCallback::on_train_begin(Trainer&, const TrainStatus& status) {
  if (status.step > 0) writer_->add_session_start(status.step + 1);
}

void EventsCallback::on_batch_end(Trainer&, const TrainStatus& status) {
  if (status.step % every_ == 0) writer_->add_scalar("batch/loss", status.batch_loss, status.step);
}

void EventsCallback::on_epoch_end(Trainer&, const TrainStatus& status) {
  for (const auto& [name, value] : status.means) writer_->add_scalar("epoch/" + name, value, status.step);
  for (const auto& [name, value] : status.validation) writer_->add_scalar("epoch/" + name, value, status.step);
  writer_->flush();
}

}  // namespace caudal::inline v0::train
