// Trains a small network on 1,797 handwritten digits of 8 x 8 pixels, on the best device found, saves it, and lets a
// fresh process load it and predict again.
//
//   digits [--epochs N] [--save FILE]      trains; FILE is digits.safetensors in the temporary folder by default
//   digits --load FILE                     predicts only
//   --device OpenCL:0                      on that device instead
#include <filesystem>
#include <iostream>
#include <optional>

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

struct Options {
  std::string device;  ///< empty: the best one
  std::string save = (std::filesystem::temp_directory_path() / "digits.safetensors").string();
  std::string load;
  int epochs = 40;
};

static Device chosen(const Options& options) {
  return options.device.empty() ? get_device() : get_device(options.device);
}

static void predict(const Options& options) {
  const Device device = chosen(options);
  Net model = Net{} | device;
  load(options.load, model);
  report(model, read_digits().second, device);
}

static void train_and_save(const Options& options) {
  seed(42);
  const Device device = chosen(options);
  const auto [train_set, test_set] = read_digits();
  Net model = Net{} | device;
  const std::string reason = options.device.empty() ? get_device_report().reason : "it was asked for";
  std::cout << "device: " << device << ", because " << reason << "\n";
  print(model);
  auto loader = DataLoader({train_set.images, train_set.labels}, {.batchsize = 32, .shuffle = true}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  std::vector<double> losses;
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  const auto keep = [&](const Epoch& epoch) { losses.push_back(epoch.loss); };
  train(loss, model, loader, state, {.epochs = options.epochs, .on_epoch = keep});
  testmode(model);
  std::printf("loss %.4f -> %.4f  %s\n", losses.front(), losses.back(), example::curve(losses).c_str());
  report(model, test_set, device);
  save(options.save, model);
  std::printf("saved to %s; a fresh process loads it:\n", options.save.c_str());
}

static std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--epochs") options.epochs = std::max(1, std::atoi(value.c_str()));
    else if (option == "--save") options.save = value;
    else if (option == "--load") options.load = value;
    else if (option == "--device") options.device = value;
    else return std::nullopt;
  }
  if (argc % 2 == 0) return std::nullopt;
  return options;
}

int main(int argc, char** argv) try {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::printf("usage: digits [--device NAME:N] [--epochs N] [--save FILE] | digits [--device NAME:N] --load FILE\n");
    return 2;
  }
  if (!options->load.empty()) return predict(*options), 0;
  train_and_save(*options);
  std::vector<std::string> again = {"--load", options->save};
  if (!options->device.empty()) again.insert(again.end(), {"--device", options->device});
  return example::run_again(again);
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits: %s\n", error.what());
  return 1;
}
