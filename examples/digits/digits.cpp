// Trains a small network on 1,797 handwritten digits of 8 x 8 pixels, on the best device found, saves it, and lets a
// fresh process load it and predict again.
//
//   digits [--epochs N] [--save FILE]      trains; FILE is digits.safetensors in the temporary folder by default
//   digits --load FILE                     predicts only
#include <filesystem>
#include <iostream>

#include "examples/classifier.hpp"

using namespace sluice;

extern "C" const unsigned char digits_csv_gz[];
extern "C" const std::size_t digits_csv_gz_size;

struct Net {
  Dense hidden{64, 128, relu};
  Dropout dropout{0.3};
  Dense out{128, 10};
  Tensor operator()(const Tensor& x) const { return out(dropout(hidden(x))); }
  SLUICE_FIELDS(hidden, dropout, out)
};

struct Digits {
  Tensor images;  ///< (64, n), 0 ... 1
  Tensor labels;  ///< (n), 0 ... 9
};

/// The data in an order that is the same in every process; the last 360 are held out.
static std::pair<Digits, Digits> read_digits() {
  const Tensor table = parse_csv(std::as_bytes(std::span(digits_csv_gz, digits_csv_gz_size)), "digits.csv.gz");
  const std::int64_t held_out = 360;
  const auto [train, test] =
      splitobs(table, table.size(1) - held_out, {.shuffle = true, .key = RandomKey{.seed = 1797}});
  const auto digits = [](const Tensor& part) {
    return Digits{slice(part, 0, 0, 64) / 16, cast(reshape(slice(part, 0, 64, 65), {-1}), i64)};
  };
  return {digits(train), digits(test)};
}

static void report(const Net& model, const Digits& test, const Device& device) {
  const double right = example::accuracy(model, device(test.images), device(test.labels));
  std::printf("accuracy on %lld held-out digits: %.2f %%\n", static_cast<long long>(test.labels.numel()), 100 * right);
}

static void predict(const std::string& path) {
  const Device device = get_device();
  Net model = Net{} | device;
  load(path, model);
  report(model, read_digits().second, device);
}

static void train_and_save(int epochs, const std::string& path) {
  seed(42);
  const Device device = get_device();
  const auto [train_set, test_set] = read_digits();
  Net model = Net{} | device;
  std::cout << "device: " << device << " (" << device.name() << "), because " << get_device_report().reason << "\n";
  print(model);
  auto loader = DataLoader({train_set.images, train_set.labels}, {.batchsize = 32, .shuffle = true}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  std::vector<double> losses;
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  train(loss, model, loader, state, {.epochs = epochs, .on_epoch = [&](const Epoch& e) { losses.push_back(e.loss); }});
  testmode(model);
  std::printf("loss %.4f -> %.4f  %s\n", losses.front(), losses.back(), example::curve(losses).c_str());
  report(model, test_set, device);
  save(path, model);
  std::printf("saved to %s; a fresh process loads it:\n", path.c_str());
}

int main(int argc, char** argv) try {
  int epochs = 40;
  std::string path = (std::filesystem::temp_directory_path() / "digits.safetensors").string();
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--load" && has_value) return predict(argv[i + 1]), 0;
    if (option == "--epochs" && has_value) epochs = std::max(1, std::atoi(argv[++i]));
    else if (option == "--save" && has_value) path = argv[++i];
    else return std::printf("usage: digits [--epochs N] [--save FILE] | digits --load FILE\n"), 2;
  }
  train_and_save(epochs, path);
  return example::run_again({"--load", path});
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits: %s\n", error.what());
  return 1;
}
