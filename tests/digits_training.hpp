// An epoch over the digits of data/, for tests that hold a device against the CPU.
#pragma once

#include "sluice/sluice.hpp"

namespace sluice::tests {

struct DigitsNet {
  Dense hidden{64, 32, relu};
  Dense out{32, 10};
  Tensor operator()(const Tensor& x) const { return out(hidden(x)); }
  SLUICE_FIELDS(hidden, out)
};

/// The mean loss of an epoch over the digits.
inline double train_digits(const Device& device) {
  const Tensor table = read_csv(SLUICE_SOURCE_FOLDER "/data/digits.csv.gz");
  const Tensor images = slice(table, 0, 0, 64) / 16, labels = cast(reshape(slice(table, 0, 64, 65), {-1}), i64);
  seed(42);
  DigitsNet model = DigitsNet{} | device;
  auto loader = DataLoader({images, labels}, {.batchsize = 128, .shuffle = true}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  return train(loss, model, loader, state, {.epochs = 1, .progress = Progress::none});
}

}  // namespace sluice::tests
