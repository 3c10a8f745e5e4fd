// What only moves elements, whose bits must not change: copies within a device, and moves between devices and the CPU.
#include <cstring>

#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_reference.hpp"

namespace sluice::conformance {
namespace {

/// Elements of any type with bits that differ from element to element as far as the type has room.
Tensor distinct_bits(const Shape& shape, DType dtype) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.numel()) * dtype.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.numel()); ++i) {
    std::uint64_t bits = (i + 1) * 0x9E3779B97F4A7C15U >> 7;
    if (dtype == boolean) bits &= 1;
    std::memcpy(bytes.data() + i * dtype.size(), &bits, dtype.size());
  }
  return from_bytes(bytes.data(), bytes.size(), shape, dtype);
}

using Source = std::function<Index(const Index&)>;

/// The tensor whose element at an index is that of x at source(index).
Tensor moved(const Tensor& x, const Shape& shape, const Source& source) {
  const std::size_t size = x.dtype().size();
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.numel()) * size);
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const std::int64_t from = flat_at(x.shape(), source(index_at(shape, i)));
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size,
                x.bytes().data() + static_cast<std::size_t>(from) * size, size);
  }
  return from_bytes(bytes.data(), bytes.size(), shape, x.dtype());
}

/// An operation that moves elements of one tensor.
struct Move {
  const char* name;
  Shape from;
  std::function<Tensor(const Tensor&)> run;
  Shape to;
  Source source;
};

std::vector<Move> moves() {
  return {
      {"permute",
       {5, 3, 7},
       [](const Tensor& x) {
         return permute(x, {2, 0, 1});
       },
       {7, 5, 3},
       [](const Index& i) {
         return Index{i[1], i[2], i[0]};
       }},
      {"permute",
       {2, 3, 1, 4},
       [](const Tensor& x) {
         return permute(x, {3, 2, 1, 0});
       },
       {4, 1, 3, 2},
       [](const Index& i) {
         return Index{i[3], i[2], i[1], i[0]};
       }},
      {"permute",
       {0, 3},
       [](const Tensor& x) { return transpose(x); },
       {3, 0},
       [](const Index& i) {
         return Index{i[1], i[0]};
       }},
      {"transpose",
       {65, 33},
       [](const Tensor& x) { return transpose(x); },
       {33, 65},
       [](const Index& i) {
         return Index{i[1], i[0]};
       }},
      {"slice",
       {9, 5},
       [](const Tensor& x) { return slice(x, 0, 1, 8, 2); },
       {4, 5},
       [](const Index& i) {
         return Index{1 + 2 * i[0], i[1]};
       }},
      {"slice",
       {9, 5},
       [](const Tensor& x) { return slice(x, 1, 2, 5); },
       {9, 3},
       [](const Index& i) {
         return Index{i[0], i[1] + 2};
       }},
      {"slice",
       {4, 6, 3},
       [](const Tensor& x) { return slice(x, 1, 3, 3); },
       {4, 0, 3},
       [](const Index& i) { return i; }},
      {"transpose", {1, 1}, [](const Tensor& x) { return transpose(x); }, {1, 1}, [](const Index& i) { return i; }},
      {"cat",
       {5, 3},
       [](const Tensor& x) {
         return cat({x, slice(x, 0, 0, 2), x}, 0);
       },
       {12, 3},
       [](const Index& i) {
         return Index{i[0] < 5 ? i[0] : i[0] < 7 ? i[0] - 5 : i[0] - 7, i[1]};
       }},
      {"cat",
       {5, 3},
       [](const Tensor& x) {
         return cat({x, x}, 1);
       },
       {5, 6},
       [](const Index& i) {
         return Index{i[0], i[1] % 3};
       }},
      {"stack",
       {5, 3},
       [](const Tensor& x) {
         return stack({x, x}, 0);
       },
       {2, 5, 3},
       [](const Index& i) {
         return Index{i[1], i[2]};
       }},
      {"expand",
       {5, 1, 7},
       [](const Tensor& x) {
         return expand(x, {5, 4, 7});
       },
       {5, 4, 7},
       [](const Index& i) {
         return Index{i[0], 0, i[2]};
       }},
      {"take_along",
       {6, 5},
       [](const Tensor& x) {
         const Tensor places = from(std::vector<std::int64_t>{4, 0, 2, 3, 3, 1}, {6, 1});
         return take_along(x, places | x.device(), 1);
       },
       {6, 1},
       [](const Index& i) {
         return Index{i[0], std::vector<std::int64_t>{4, 0, 2, 3, 3, 1}[static_cast<std::size_t>(i[0])]};
       }},
  };
}

/// A copy's kernel depends on the size of elements alone: some of the types, others for each move.
std::vector<DType> types_for(const Check& check, std::size_t number) {
  switch ((number + number / 4) % 4) {
    case 0: return check.types({boolean, u8, i8});
    case 1: return check.types({i16, f16, bf16});
    case 2: return check.types({i32, f32});
    default: return check.types({i64, f64});
  }
}

void check_move(Check& check, const Move& move, std::size_t number) {
  for (const DType dtype : types_for(check, number)) {
    const std::string where = to_string(move.from) + " to " + to_string(move.to);
    check.attempt(move.name, dtype, where, [&] {
      const Tensor x = distinct_bits(move.from, dtype);
      check.compare_bits(move.name, dtype, where, move.run(check.move(x)), moved(x, move.to, move.source));
    });
  }
  if (check.spares_kernels() && number % 4 != 0) return;
  for (const DType dtype : gradient_types(check)) {
    const auto reference = [&](const std::vector<Array>& x) {
      return filled(move.to, [&](const Index& i) {
        return x[0].at[static_cast<std::size_t>(flat_at(move.from, move.source(i)))];
      });
    };
    if (move.from.numel() > 120 || move.to.numel() == 0) continue;
    check_gradient(check,
                   {.operation = move.name,
                    .where = to_string(move.from) + " to " + to_string(move.to),
                    .run = [&](const std::vector<Tensor>& x) { return move.run(x[0]); },
                    .reference = reference},
                   dtype, {check.numbers(move.from, dtype, -2, 2)});
  }
}

}  // namespace

void check_copy(Check& check) {
  std::size_t number = 0;
  for (const Move& move : moves()) check_move(check, move, number++);
}

void check_moves(Check& check) {
  for (const DType dtype : check.types()) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{3, 5}, Shape{70001}}) {
      const std::string where = to_string(shape);
      const Tensor x = distinct_bits(shape, dtype);
      check.attempt("move", dtype, where, [&] { check.compare_bits("move", dtype, where, check.move(x), x); });
      for (const Device& other : devices(check.device().backend())) {
        if (other == check.device()) continue;
        const std::string through = where + " through device " + std::to_string(other.id());
        check.attempt("move", dtype, through,
                      [&] { check.compare_bits("move", dtype, through, check.move(check.move(x) | other), x); });
      }
    }
  }
}

}  // namespace sluice::conformance
