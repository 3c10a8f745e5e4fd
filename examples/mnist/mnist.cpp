// Trains a network on IDX files such as MNIST's: the first 8,000 images, or four fifths of fewer, train it; the rest
// test it.
//
//   mnist IMAGES LABELS [--epochs N]       both plain or .gz
#include <iostream>

#include "examples/classifier.hpp"

using namespace sluice;

static int run(const std::string& images_path, const std::string& labels_path, int epochs) {
  seed(42);
  const Device device = get_device();
  const Tensor pixels = read_idx(images_path);
  const Tensor labels = read_idx(labels_path);
  const std::int64_t count = pixels.shape().back();
  const std::int64_t trained = std::min<std::int64_t>(8000, count * 4 / 5);
  const Tensor images = flatten(pixels) / 255;
  const auto [train_set, test_set] = splitobs({images, cast(labels, i64)}, trained);

  const std::int64_t features = images.size(0);
  auto model = Chain(Dense(features, 256, relu), Dropout(0.2), Dense(256, 10)) | device;
  std::cout << "device: " << device << " (" << device.name() << "), because " << get_device_report().reason << "\n"
            << model << '\n';
  auto loader = DataLoader({train_set[0], train_set[1]}, {.batchsize = 64, .shuffle = true, .workers = 1}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  std::vector<double> losses;
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  train(loss, model, loader, state, {.epochs = epochs, .on_epoch = [&](const Epoch& e) { losses.push_back(e.loss); }});
  testmode(model);
  const double right = example::accuracy(model, device(test_set[0]), device(test_set[1]));
  std::printf("loss %.4f -> %.4f  %s\n", losses.front(), losses.back(), example::curve(losses).c_str());
  std::printf("accuracy on %lld held-out images: %.2f %%\n", static_cast<long long>(count - trained), 100 * right);
  return 0;
}

int main(int argc, char** argv) try {
  const bool has_epochs = argc == 5 && std::string(argv[3]) == "--epochs";
  if (argc != 3 && !has_epochs) return std::printf("usage: mnist IMAGES LABELS [--epochs N]\n"), 2;
  return run(argv[1], argv[2], has_epochs ? std::max(1, std::atoi(argv[4])) : 10);
} catch (const std::exception& error) {
  std::fprintf(stderr, "mnist: %s\n", error.what());
  return 1;
}
