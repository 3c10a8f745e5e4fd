// The leaves a model may have besides tensors, and the visitor that is shown them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/expr.hpp"
#include "sluice/random.hpp"
#include "sluice/tensor.hpp"

namespace sluice::inline v0 {

/// A tensor that is moved and saved with a model but never trained, for example a running mean. A const layer may `set`
/// it; both functions may be called from any thread. A copy holds what the original held at that moment.
class SLUICE_API Buffer {
 public:
  Buffer() = default;
  Buffer(Tensor value);  // NOLINT(google-explicit-constructor): a buffer is initialised with a tensor
  Buffer(const Buffer& other) : value_(other.get()) {}
  Buffer& operator=(const Buffer& other);
  ~Buffer() = default;

  Tensor get() const;
  /// Holds `value`, without its place on a tape.
  void set(Tensor value) const;

 private:
  mutable Tensor value_;
};

/// A generator that a const layer may advance, for example Dropout's. Moved and saved with a model; any thread may call
/// it. A new one has a stream of its own, which `seed` determines.
class SLUICE_API Counter {
 public:
  Counter();
  explicit Counter(const Generator& generator) : generator_(generator) {}
  Counter(const Counter& other) : generator_(other.get()) {}
  Counter& operator=(const Counter& other);
  ~Counter() = default;

  RandomKey next() const;
  Generator get() const;
  void set(const Generator& generator) const;

 private:
  mutable Generator generator_;
};

/// Whether a layer that behaves differently in training does so: inside `gradient` only, always, or never.
enum class Mode : std::uint8_t { automatic, train, test };
inline bool is_active(Mode mode) { return mode == Mode::automatic ? training() : mode == Mode::train; }

/// Where something that makes tensors should put them: what a data loader holds. Moving sets it, moving to the CPU
/// clears it.
struct Target {
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
  bool only_narrow = false;  ///< convert f64 to `dtype` and nothing else, as `gpu` does
};

/// How a layer's field is called and laid out in PyTorch. A layer that differs says so in a static member function
///
///   static std::span<const TorchRule> torch_rules() {
///     static const TorchRule rules[] = {{"weight", {"weight"}, transposed}, {"", {"num_batches_tracked"}}};
///     return rules;
///   }
///
/// A field without a rule has its own name, and its sizes in reverse order.
struct TorchRule {
  /// Gets the tensors called `names`, with their sizes reversed as `read_tensors` gives them, and the shape of the
  /// field.
  using Convert = Tensor (*)(std::span<const Tensor> stored, const Shape& wanted);

  std::string_view field;               ///< empty: `names` are there in PyTorch only, and ignored
  std::vector<std::string_view> names;  ///< below the name of the layer
  Convert convert = nullptr;            ///< null: the one tensor as it is
};

/// A field of the layer in Flux, and the one here that it stands for. Flux loads a state only where the fields are its
/// own, in their order, so a layer that differs lists them all in a static member function
///
///   static std::span<const FluxField> flux_fields() {
///     static const FluxField fields[] = {{"weight", "weight"}, {"bias", "bias"}, {"σ", "activation"}};
///     return fields;
///   }
struct FluxField {
  std::string_view name;   ///< in Flux
  std::string_view field;  ///< empty: there is none here, and Flux keeps what it has
};

}  // namespace sluice::inline v0

namespace sluice::detail {

using Describe = std::string (*)(const void* object);
using TorchRules = std::span<const TorchRule> (*)();
using FluxFields = std::span<const FluxField> (*)();

/// A field that is a number, text, or neither (monostate).
using KeptValue = std::variant<std::monostate, bool, std::int64_t, double, std::string_view>;

/// Where a traversal is: one field or element.
struct Part {
  std::string_view name = {};  ///< empty for elements and unnamed fields
  std::int64_t index = 0;      ///< place among its siblings
  std::string_view type = {};  ///< "Net"; empty for sequences
  const void* object = nullptr;
  Describe describe = nullptr;  ///< null where the value has no line of its own
  bool sequence = false;        ///< std::vector, array, tuple, pair or map
  bool container = false;       ///< Chain or Sequential
  TorchRules torch_rules = nullptr;
  FluxFields flux_fields = nullptr;
};

/// Is shown the leaves of a model by `visit`.
class SLUICE_API LeafVisitor {
 public:
  /// A visitor that writes to a copy of a model clones what its shared pointers point at, so that the original is not
  /// written.
  enum class Sharing : std::uint8_t { keep, clone };
  /// Whether it is shown the fields that are no tensors as well: generators, settings and what is kept.
  enum class Shown : std::uint8_t { tensors, everything };

  explicit LeafVisitor(Sharing sharing = Sharing::keep, Shown shown = Shown::tensors)
      : sharing_(sharing), shown_(shown) {}
  virtual ~LeafVisitor();

  virtual void tensor(Tensor& x);
  virtual void buffer(Buffer& x);
  virtual void counter(Counter& x);
  virtual void mode(Mode& x);
  virtual void target(Target& x);
  virtual void generator(Generator& x);
  /// A number that is saved and loaded with the tensors, such as a learning rate.
  virtual void setting(double& x);
  /// Any other field without tensors, only to be seen.
  virtual void kept(const KeptValue& x);
  /// Before and after each part, leaves included.
  virtual void enter(const Part& part);
  virtual void leave();

  /// Of the part at hand: "layers.0.bias".
  std::string path() const;

  // For the traversal.
  void push(const Part& part);
  void pop();
  bool clones() const { return sharing_ == Sharing::clone; }
  bool sees_everything() const { return shown_ == Shown::everything; }
  std::shared_ptr<void> shared(const void* address, const void* type) const;
  void remember(const void* address, const void* type, std::shared_ptr<void> value);

 protected:
  LeafVisitor(const LeafVisitor&) = default;
  LeafVisitor& operator=(const LeafVisitor&) = default;

 private:
  struct Shared {
    const void* address;
    const void* type;
    std::shared_ptr<void> value;
  };
  static constexpr std::size_t kUsualDepth = 12;  // so deep a path needs no memory of its own
  const Part& part(std::size_t depth) const { return depth < kUsualDepth ? first_[depth] : rest_[depth - kUsualDepth]; }

  Sharing sharing_;
  Shown shown_;
  std::size_t depth_ = 0;
  std::array<Part, kUsualDepth> first_;
  std::vector<Part> rest_;
  std::vector<Shared> shared_;
};

/// "softmax" for the library's functions, else "<function>".
SLUICE_API std::string function_name(void (*function)());

}  // namespace sluice::detail
