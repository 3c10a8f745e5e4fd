// Columns picked and added by index.
#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_reference.hpp"

namespace sluice::conformance {
namespace {

struct Picture {
  Shape table, chosen;  // (features, n) and (features, indices)
  Shape indices_shape;
  std::vector<std::int64_t> indices;
};

const std::vector<Picture>& pictures() {
  static const std::vector<Picture> list = {{{3, 2, 5}, {3, 2, 3, 2}, {3, 2}, {3, 0, 3, 4, 3, 1}},
                                            {{5}, {6}, {6}, {3, 0, 3, 4, 3, 1}},
                                            {{7, 4}, {7, 0}, {0}, {}},
                                            {{0, 4}, {0, 2}, {2}, {1, 1}},
                                            {{1, 1}, {1, 1}, {1}, {0}}};
  return list;
}

std::int64_t features_of(const Picture& picture) {
  std::int64_t features = 1;
  for (int dim = 0; dim + 1 < picture.table.rank(); ++dim) features *= picture.table[dim];
  return features;
}

std::string text_of(const Picture& picture) {
  return to_string(picture.table) + " by " + std::to_string(picture.indices.size()) + " indices";
}

Tensor indices_on(const Picture& picture, const Device& device) {
  return from(picture.indices, picture.indices_shape) | device;
}

Call gather_call(const Picture& picture, DType dtype) {
  return {.operation = "gather",
          .where = text_of(picture),
          .run = [&](const std::vector<Tensor>& x) { return gather(x[0], indices_on(picture, x[0].device())); },
          .reference =
              [&](const std::vector<Array>& x) {
                Array y{picture.chosen, {}};
                const std::int64_t features = features_of(picture);
                for (const std::int64_t column : picture.indices) {
                  const auto first = x[0].at.begin() + column * features;
                  y.at.insert(y.at.end(), first, first + features);
                }
                return y;
              },
          .result = dtype};
}

Array scattered(const Picture& picture, const Array& updates) {
  Array y{picture.table, std::vector<Real>(static_cast<std::size_t>(picture.table.numel()))};
  const std::int64_t features = features_of(picture);
  for (std::size_t i = 0; i < updates.at.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t column = picture.indices[static_cast<std::size_t>(at / features)];
    y.at[static_cast<std::size_t>(column * features + at % features)] += updates.at[i];
  }
  return y;
}

Call scatter_call(const Picture& picture, DType dtype) {
  return {.operation = "scatter_add",
          .where = text_of(picture),
          .run =
              [&](const std::vector<Tensor>& x) {
                return scatter_add(x[0], indices_on(picture, x[0].device()), picture.table.back());
              },
          .reference = [&](const std::vector<Array>& x) { return scattered(picture, x[0]); },
          .magnitude =
              [&](const std::vector<Array>& x) {
                Array sizes = x[0];
                for (Real& value : sizes.at) value = std::fabs(value);
                return scattered(picture, sizes).at;
              },
          .result = dtype == boolean ? i32 : dtype,
          .bounds = {4, 16}};
}

/// An index out of range is an error that says which.
void check_wrong_index(Check& check, const char* operation, const std::function<void(const Tensor&)>& call) {
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{1} << 40}) {
    const std::string where = "index " + std::to_string(wrong) + " of 5";
    check.attempt(operation, f32, where, [&] {
      try {
        call(from(std::vector<std::int64_t>{0, 4, wrong, 1}) | check.device());
        check.report().fail(operation, f32, where, "no IndexError");
      } catch (const IndexError& error) {
        const bool names_it = std::string(error.what()).find(std::to_string(wrong)) != std::string::npos;
        if (names_it) check.report().pass(operation, f32, where, 0, 0);
        else check.report().fail(operation, f32, where, std::string("the message does not name it: ") + error.what());
      }
    });
  }
}

}  // namespace

void check_gather(Check& check) {
  for (const Picture& picture : pictures()) {
    for (const DType dtype : check.types()) {
      check_forward(check, gather_call(picture, dtype), dtype, {check.numbers(picture.table, dtype, -100, 100)});
    }
    if (picture.table.numel() == 0 || picture.chosen.numel() == 0) continue;
    for (const DType dtype : gradient_types(check)) {
      check_gradient(check, gather_call(picture, dtype), dtype, {check.numbers(picture.table, dtype, -2, 2)});
    }
  }
  check_wrong_index(check, "gather", [&](const Tensor& indices) {
    gather(check.move(tensor_of(check.numbers({2, 5}, f32, -1, 1), f32)), indices);
  });
}

void check_scatter_add(Check& check) {
  for (const Picture& picture : pictures()) {
    for (const DType dtype : check.types({u8, i64, bf16, f32, f64})) {
      check_forward(check, scatter_call(picture, dtype), dtype, {check.numbers(picture.chosen, dtype, -25, 25)});
    }
    if (picture.table.numel() == 0 || picture.chosen.numel() == 0) continue;
    for (const DType dtype : gradient_types(check)) {
      check_gradient(check, scatter_call(picture, dtype), dtype, {check.numbers(picture.chosen, dtype, -2, 2)});
    }
  }
  check_wrong_index(check, "scatter_add", [&](const Tensor& indices) {
    scatter_add(check.move(tensor_of(check.numbers({2, 4}, f32, -1, 1), f32)), indices, 5);
  });
}

}  // namespace sluice::conformance
