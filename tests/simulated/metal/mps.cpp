// A stand-in for Metal Performance Shaders: products of matrices by three loops, encoded like the real ones.
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/simulated/metal/metal.hpp"

namespace simulated_metal {
namespace {

constexpr unsigned kFloat32 = 0x10000000U | 32U, kFloat16 = 0x10000000U | 16U;

struct Shape : State {
  Integer rows = 0, columns = 0, matrices = 0, row_bytes = 0, matrix_bytes = 0;
  unsigned type = 0;
};
struct Matrix : State {
  Kept buffer;
  Integer offset = 0;
  Shape shape;
};
struct Product : State {
  bool transpose_left = false, transpose_right = false;
  Integer rows = 0, columns = 0, interior = 0, batch = 1;
  double alpha = 1, beta = 0;
};

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

/// Rounds to nearest even, to infinity where it is too large.
std::uint16_t double_to_half(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7E00;
  if (size >= 65520) return static_cast<std::uint16_t>(sign | 0x7C00);
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));  // 1024 is the hidden bit
  return static_cast<std::uint16_t>(sign | (units + ((exponent + 14) << 10)));
}

/// The place of an element in the buffer's bytes.
std::byte* place(const Matrix& m, Integer t, Integer row, Integer column) {
  std::uint64_t length = 0;
  std::byte* const bytes = bytes_of(m.buffer.get(), &length);
  const Integer unit = (m.shape.type & 0xFFU) / 8;
  const Integer at = m.offset + t * m.shape.matrix_bytes + row * m.shape.row_bytes + column * unit;
  if (at + unit > length) die("a matrix that ends behind its buffer");
  return bytes + at;
}

double get(const Matrix& m, Integer t, Integer row, Integer column) {
  const std::byte* const from = place(m, t, row, column);
  if (m.shape.type == kFloat32) {
    float number = 0;
    std::memcpy(&number, from, sizeof number);
    return static_cast<double>(number);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return half_to_double(bits);
}

void put(const Matrix& m, Integer t, Integer row, Integer column, double value) {
  std::byte* const to = place(m, t, row, column);
  const auto number = static_cast<float>(value);
  const std::uint16_t bits = double_to_half(value);
  if (m.shape.type == kFloat32) std::memcpy(to, &number, sizeof number);
  else std::memcpy(to, &bits, sizeof bits);
}

void multiply(const Product& p, Integer t, const Matrix& left, const Matrix& right, const Matrix& result) {
  for (Integer i = 0; i < p.rows; ++i) {
    for (Integer j = 0; j < p.columns; ++j) {
      double sum = 0;
      for (Integer l = 0; l < p.interior; ++l) {
        sum += (p.transpose_left ? get(left, t, l, i) : get(left, t, i, l)) *
               (p.transpose_right ? get(right, t, j, l) : get(right, t, l, j));
      }
      put(result, t, i, j, p.alpha * sum + (p.beta == 0 ? 0 : p.beta * get(result, t, i, j)));
    }
  }
}

void require_shape(const Matrix& m, bool is_transposed, Integer rows, Integer columns, Integer batch) {
  const bool fits = is_transposed ? m.shape.rows == columns && m.shape.columns == rows
                                  : m.shape.rows == rows && m.shape.columns == columns;
  if (!fits || m.shape.matrices < batch) die("a matrix whose shape does not fit the product");
}

Object* make_shape(Object*, Selector, Integer rows, Integer columns, Integer matrices, Integer row_bytes,
                   Integer matrix_bytes, unsigned type) {
  if (type != kFloat32 && type != kFloat16) die("a matrix of an unknown type");
  const Integer unit = (type & 0xFFU) / 8;
  if (rows * columns * matrices == 0) die("an empty matrix");
  if (row_bytes < columns * unit || row_bytes % unit != 0) die("rows of a matrix overlap");
  if (matrix_bytes < rows * row_bytes || matrix_bytes % row_bytes != 0) die("matrices that are no whole rows apart");
  auto shape = std::make_unique<Shape>();
  shape->rows = rows, shape->columns = columns, shape->matrices = matrices;
  shape->row_bytes = row_bytes, shape->matrix_bytes = matrix_bytes, shape->type = type;
  return autorelease(make_object("MPSMatrixDescriptor", std::move(shape)));
}

Object* init_matrix(Object* self, Selector, Object* buffer, Integer offset, Object* shape) {
  auto matrix = std::make_unique<Matrix>();
  matrix->buffer = Kept(buffer);
  matrix->offset = offset;
  matrix->shape = as<Shape>(shape);
  if (offset % ((matrix->shape.type & 0xFFU) / 8) != 0) die("a matrix that begins within an element");
  set_state(self, std::move(matrix));
  return self;
}

Object* init_product(Object* self, Selector, Object* device, Boolean transpose_left, Boolean transpose_right,
                     Integer rows, Integer columns, Integer interior, double alpha, double beta) {
  if (!is_device(device)) die("a product on something that is no device");
  auto product = std::make_unique<Product>();
  product->transpose_left = transpose_left != 0, product->transpose_right = transpose_right != 0;
  product->rows = rows, product->columns = columns, product->interior = interior;
  product->alpha = alpha, product->beta = beta;
  set_state(self, std::move(product));
  return self;
}

void encode_product(Object* self, Selector, Object* command_buffer, Object* left, Object* right, Object* result) {
  const Product& p = as<Product>(self);
  require_shape(as<Matrix>(left), p.transpose_left, p.rows, p.interior, p.batch);
  require_shape(as<Matrix>(right), p.transpose_right, p.interior, p.columns, p.batch);
  require_shape(as<Matrix>(result), false, p.rows, p.columns, p.batch);
  encode_alone(command_buffer, {self, left, right, result}, [=]() -> std::string {
    const Product& product = as<Product>(self);
    for (Integer t = 0; t < product.batch; ++t) {
      multiply(product, t, as<Matrix>(left), as<Matrix>(right), as<Matrix>(result));
    }
    return {};
  });
}

__attribute__((constructor)) void add_classes() {
  on_class("MPSMatrixDescriptor",
           "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:", make_shape);
  on("MPSMatrix", "initWithBuffer:offset:descriptor:", init_matrix);
  on("MPSMatrixMultiplication",
     "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:", init_product);
  on("MPSMatrixMultiplication",
     "setBatchSize:", [](Object* self, Selector, Integer count) { as<Product>(self).batch = count; });
  on("MPSMatrixMultiplication", "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", encode_product);
}

}  // namespace

SIMULATED_EXPORT Boolean MPSSupportsMTLDevice(Object* device) { return is_device(device); }

}  // namespace simulated_metal
