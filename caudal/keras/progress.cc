// What fit() shows: on a terminal a bar with the time left, elsewhere a line per epoch, both in Keras's form.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "caudal/base/env.h"
#include "caudal/keras/callbacks.h"

namespace caudal::inline v0::keras {
namespace {

constexpr int kBarWidth = 20;
constexpr double kRedrawSeconds = 0.1;

double seconds_now() { return static_cast<double>(default_env().now_micros()) * 1e-6; }

std::string time_text(double seconds) {
  char text[40];
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  } else if (whole >= 60) {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%llds", whole);
  }
  return text;
}

std::string per_step_text(double seconds) {
  char text[40];
  if (seconds >= 1) {
    std::snprintf(text, sizeof text, "%.0fs/step", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.0fms/step", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.0fus/step", seconds * 1e6);
  }
  return text;
}

std::string logs_text(const Logs& logs) {
  std::string out;
  for (const auto& [name, value] : logs) {
    char text[160];
    const bool small = value != 0 && std::fabs(value) <= 1e-3;
    std::snprintf(text, sizeof text, small ? " - %s: %.4e" : " - %s: %.4f", name.c_str(), value);
    out += text;
  }
  return out;
}

class Progbar final : public Callback {
 public:
  explicit Progbar(std::FILE* out) : out_(out), terminal_(isatty(fileno(out)) != 0) {}

  void on_train_begin() override { training_ = true; }
  void on_epoch_begin(std::int64_t epoch) override {
    begin();
    if (plan().epochs > 1) {
      std::fprintf(out_, "Epoch %lld/%lld\n", static_cast<long long>(epoch + 1), static_cast<long long>(plan().epochs));
      std::fflush(out_);
    }
  }
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override { draw(batch + 1, logs, false); }
  void on_epoch_end(std::int64_t, Logs& logs) override { draw(done_, logs, true); }
  void on_train_end(const Logs&) override {
    training_ = false;
    end_line();
  }
  void on_test_begin() override {
    if (!training_) begin();
  }
  void on_test_batch_end(std::int64_t batch, const Logs& logs) override {
    if (!training_) draw(batch + 1, logs, false);
  }
  void on_test_end(const Logs& logs) override {
    if (!training_) draw(done_, logs, true);
  }
  void on_predict_begin() override { begin(); }
  void on_predict_batch_end(std::int64_t batch) override { draw(batch + 1, {}, false); }
  void on_predict_end() override { draw(done_, {}, true); }

 private:
  void begin() {
    start_ = seconds_now();
    last_drawn_ = 0;
    done_ = 0;
  }

  void draw(std::int64_t done, const Logs& logs, bool last) {
    done_ = done;
    const double now = seconds_now();
    const bool bar = terminal_ && plan().verbose == 1;
    if (!last && (!bar || now - last_drawn_ < kRedrawSeconds)) return;
    last_drawn_ = now;
    const double elapsed = now - start_;
    const double per_step = elapsed / static_cast<double>(std::max<std::int64_t>(done, 1));
    const std::int64_t steps = plan().steps.value_or(done);
    const std::string count = std::to_string(done) + "/" + std::to_string(steps);
    std::string line;
    if (bar) {
      const double left = per_step * static_cast<double>(steps - done);
      line = "\r\033[K" + count + " " + bar_text(done, steps) + " " + time_text(last ? elapsed : left) + " " +
             per_step_text(per_step) + logs_text(logs);
    } else {
      line = count + " - " + time_text(elapsed) + " - " + per_step_text(per_step) + logs_text(logs);
    }
    std::fputs(line.c_str(), out_);
    line_open_ = true;
    if (last) end_line();
    std::fflush(out_);
  }

  static std::string bar_text(std::int64_t done, std::int64_t steps) {
    const int filled = steps == 0 ? kBarWidth : static_cast<int>(kBarWidth * done / steps);
    std::string out;
    for (int i = 0; i < kBarWidth; ++i) out += i < filled ? "━" : "─";
    return out;
  }

  void end_line() {
    if (line_open_) std::fputc('\n', out_);
    line_open_ = false;
    std::fflush(out_);
  }

  std::FILE* out_;
  bool terminal_, training_ = false, line_open_ = false;
  double start_ = 0, last_drawn_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace

CallbackRef callbacks::ProgbarLogger(std::FILE* out) {
  return std::make_shared<Progbar>(out == nullptr ? stderr : out);
}

}  // namespace caudal::inline v0::keras
