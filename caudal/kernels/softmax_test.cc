#include "caudal/kernels/softmax.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

// Probabilities, loss and gradient by the definition, in long double.
template <class T>
void definition(const std::vector<T>& logits, const std::vector<T>& labels, int64_t rows, int64_t classes,
                std::vector<double>& probability, std::vector<double>& loss) {
  probability.assign(logits.size(), 0), loss.assign(static_cast<std::size_t>(rows), 0);
  for (int64_t r = 0; r < rows; ++r) {
    long double top = -INFINITY, sum = 0;
    const auto at = [&](int64_t c) { return static_cast<long double>(static_cast<float>(logits[r * classes + c])); };
    for (int64_t c = 0; c < classes; ++c) top = std::max(top, at(c));
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(at(c) - top);
    for (int64_t c = 0; c < classes; ++c) {
      probability[r * classes + c] = static_cast<double>(std::exp(at(c) - top) / sum);
      const auto label = static_cast<long double>(static_cast<float>(labels[r * classes + c]));
      loss[r] += static_cast<double>(label * (std::log(sum) - (at(c) - top)));
    }
  }
}

template <class T>
void check_type(double tolerance) {
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const int64_t classes : {1, 2, 10, 17, 1500}) {
      const int64_t rows = 130;
      ThreadPool one(1), two(2);
      const auto logits = random_values<T>(rows * classes, 1, 4);
      std::vector<T> labels(logits.size());
      std::vector<int64_t> sparse(static_cast<std::size_t>(rows));
      for (int64_t r = 0; r < rows; ++r)
        sparse[r] = r * 7 % classes, labels[r * classes + sparse[r]] = static_cast<T>(1.0F);
      std::vector<double> probability, loss;
      definition(logits, labels, rows, classes, probability, loss);
      std::vector<T> out(logits.size()), again(out), losses(static_cast<std::size_t>(rows)), gradient(out);
      const DType dtype = dtype_of<T>();
      softmax(one, dtype, logits.data(), rows, classes, out.data());
      softmax(two, dtype, logits.data(), rows, classes, again.data());
      ASSERT_TRUE(same_bits(out, again));
      log_softmax(one, dtype, logits.data(), rows, classes, again.data());
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_NEAR(static_cast<float>(out[i]), probability[i], tolerance * (probability[i] + 1e-3));
        ASSERT_NEAR(static_cast<float>(again[i]), std::log(probability[i]), tolerance * 40);
      }
      sparse_softmax_cross_entropy(two, dtype, logits.data(), rows, classes, DType::kInt64, sparse.data(),
                                   losses.data(), gradient.data());
      std::vector<T> dense_loss(losses.size()), dense_gradient(gradient.size());
      softmax_cross_entropy(one, dtype, logits.data(), labels.data(), rows, classes, dense_loss.data(),
                            dense_gradient.data());
      for (int64_t r = 0; r < rows; ++r) {
        ASSERT_NEAR(static_cast<float>(losses[r]), loss[r], tolerance * (1 + loss[r]));
        ASSERT_NEAR(static_cast<float>(dense_loss[r]), loss[r], tolerance * (1 + loss[r]));
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double wanted = probability[i] - static_cast<double>(static_cast<float>(labels[i]));
        ASSERT_NEAR(static_cast<float>(gradient[i]), wanted, tolerance);
        ASSERT_NEAR(static_cast<float>(dense_gradient[i]), wanted, tolerance);
      }
    }
  }
}

TEST(Softmax, AgreesWithTheDefinition) {
  check_type<float>(1e-6);
  check_type<double>(1e-6);  // the samples are floats
  check_type<Half>(2e-3);
  check_type<BFloat16>(1.2e-2);
}

TEST(Softmax, MaskedLogits) {
  ThreadPool pool(1);
  const float logits[5] = {4, -INFINITY, 4, 4, 4};
  float out[5];
  softmax(pool, DType::kFloat, logits, 1, 5, out);
  EXPECT_EQ(std::vector<float>(out, out + 5), (std::vector<float>{0.25F, 0, 0.25F, 0.25F, 0.25F}));
  const float masked[3] = {-INFINITY, 0, 0}, labels[3] = {0, 1, 0};
  float loss, gradient[3];
  softmax_cross_entropy(pool, DType::kFloat, masked, labels, 1, 3, &loss, gradient);
  EXPECT_NEAR(loss, 0.6931472, 1e-7);
  EXPECT_EQ(std::vector<float>(gradient, gradient + 3), (std::vector<float>{0, -0.5F, 0.5F}));
  const float none[2] = {-INFINITY, -INFINITY};
  softmax(pool, DType::kFloat, none, 1, 2, out);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
}

TEST(Softmax, HugeLogitsWithSoftLabels) {
  ThreadPool pool(1);
  const float logits[2] = {-4885.4614F, 4878.027F}, labels[2] = {0.2F, 0.8F};
  float loss, gradient[2];
  softmax_cross_entropy(pool, DType::kFloat, logits, labels, 1, 2, &loss, gradient);
  EXPECT_NEAR(loss, 1952.6977, 1e-3);
  const float zeros[2] = {0, 0};
  softmax_cross_entropy(pool, DType::kFloat, logits, zeros, 1, 2, &loss, gradient);
  EXPECT_EQ(loss, 0);
  EXPECT_EQ(gradient[1], 1);  // softmax - labels, as TensorFlow has it
}

TEST(Softmax, LabelOutOfRangeIsRefused) {
  ThreadPool pool(1);
  const float logits[4] = {1, 2, 3, 4};
  float loss[2], gradient[4];
  for (const int32_t bad : {-1, 2}) {
    const int32_t labels[2] = {0, bad};
    try {
      sparse_softmax_cross_entropy(pool, DType::kFloat, logits, 2, 2, DType::kInt32, labels, loss, gradient);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(error.detail().find("row 1"), std::string::npos);
    }
  }
}

TEST(Softmax, EmptyMatrices) {
  ThreadPool pool(1);
  softmax(pool, DType::kFloat, nullptr, 0, 5, nullptr);
  float loss[2] = {7, 7};
  softmax_cross_entropy(pool, DType::kFloat, nullptr, nullptr, 2, 0, loss, nullptr);
  EXPECT_EQ(loss[0], 0);
}

}  // namespace
}  // namespace caudal::inline v0::kernels
