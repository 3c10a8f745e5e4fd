#include "tests/simulated/virtual_settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>

#include "tests/simulated/virtual_backend.hpp"

namespace virtual_gpu {
namespace {

constexpr int kMostDevices = 64;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(',');
    std::string_view piece = text.substr(0, end);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    pieces.push_back(piece);
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t read_number(std::string_view key, std::uint64_t otherwise, std::uint64_t most) {
  const std::optional<std::string> text = find_setting(key);
  if (!text) return otherwise;
  const std::optional<std::uint64_t> number = to_number(*text);
  if (!number || *number > most) {
    throw std::invalid_argument("VIRTUAL_GPU_" + std::string(key) + ": \"" + *text + "\" is no number from 0 to " +
                                std::to_string(most));
  }
  return *number;
}

std::vector<Kind> read_kinds(int count) {
  std::vector<Kind> kinds(static_cast<std::size_t>(count), Kind::discrete);
  const std::optional<std::string> text = find_setting("KIND");
  if (!text) return kinds;
  std::size_t number = 0;
  for (const std::string_view name : split(*text)) {
    const bool is_known = name == "discrete" || name == "integrated" || name == "cpu";
    if (!is_known || number == kinds.size()) {
      throw std::invalid_argument("VIRTUAL_GPU_KIND: \"" + *text + "\": too many kinds, or an unknown one");
    }
    kinds[number++] = name == "discrete" ? Kind::discrete : name == "integrated" ? Kind::integrated : Kind::cpu;
  }
  return kinds;
}

template <class T>
struct NamedValue {
  std::string_view name;
  T value;
};

constexpr NamedValue<std::uint32_t> kDialects[] = {{"cuda", SLUICE_DIALECT_CUDA},
                                                   {"hip", SLUICE_DIALECT_HIP},
                                                   {"opencl", SLUICE_DIALECT_OPENCL},
                                                   {"metal", SLUICE_DIALECT_METAL}};
constexpr NamedValue<Order> kOrders[] = {
    {"shuffled", Order::shuffled}, {"forward", Order::forward}, {"backward", Order::backward}};

template <class T>
T read_choice(std::string_view key, T otherwise, std::span<const NamedValue<T>> choices) {
  const std::optional<std::string> text = find_setting(key);
  if (!text) return otherwise;
  for (const NamedValue<T>& choice : choices) {
    if (choice.name == *text) return choice.value;
  }
  throw std::invalid_argument("VIRTUAL_GPU_" + std::string(key) + ": \"" + *text + "\" is unknown");
}

struct FaultName {
  std::string_view name;
  std::uint64_t FaultPlan::*place;
  bool has_number;
};

constexpr FaultName kFaults[] = {
    {"copy", &FaultPlan::copy, true},
    {"launch", &FaultPlan::wrong_launch, true},
    {"late", &FaultPlan::late, true},
    {"lost", &FaultPlan::lost, true},
    {"throw", &FaultPlan::throws, true},
    {"slow-open", &FaultPlan::slow_open, true},
    {"abort-probe", &FaultPlan::abort_probe, false},
    {"hang-probe", &FaultPlan::hang_probe, false},
    {"no-driver", &FaultPlan::no_driver, false},
    {"old-driver", &FaultPlan::old_driver, false},
    {"no-device", &FaultPlan::no_device, false},
    {"strict-exit", &FaultPlan::strict_exit, false},
};

struct FailingCall {
  std::string_view name;
  int call;
};

constexpr FailingCall kFailingCalls[] = {
    {"open", VIRTUAL_GPU_OPEN},
    {"properties", VIRTUAL_GPU_PROPERTIES},
    {"alloc", VIRTUAL_GPU_ALLOC},
    {"free", VIRTUAL_GPU_FREE},
    {"alloc-host", VIRTUAL_GPU_ALLOC_HOST},
    {"free-host", VIRTUAL_GPU_FREE_HOST},
    {"write", VIRTUAL_GPU_WRITE},
    {"read", VIRTUAL_GPU_READ},
    {"write-async", VIRTUAL_GPU_WRITE_ASYNC},
    {"read-async", VIRTUAL_GPU_READ_ASYNC},
    {"wait", VIRTUAL_GPU_WAIT},
    {"device-copy", VIRTUAL_GPU_COPY},
    {"peer-copy", VIRTUAL_GPU_PEER_COPY},
    {"compile", VIRTUAL_GPU_COMPILE},
    {"binary", VIRTUAL_GPU_BINARY},
    {"load", VIRTUAL_GPU_LOAD},
    {"launch-error", VIRTUAL_GPU_LAUNCH},
    {"probe", VIRTUAL_GPU_PROBE},
    {"native", VIRTUAL_GPU_NATIVE},
    {"wrap", VIRTUAL_GPU_WRAP},
    {"sync", VIRTUAL_GPU_SYNC},
    {"free-bytes", VIRTUAL_GPU_FREE_BYTES},
};

/// Where the number of such a fault goes; null for an unknown name or one that does not take what follows it.
std::uint64_t* find_fault(FaultPlan& plan, std::string_view name, bool has_number) {
  for (const FaultName& fault : kFaults) {
    if (fault.name == name && fault.has_number == has_number) return &(plan.*fault.place);
  }
  for (const FailingCall& fault : kFailingCalls) {
    if (fault.name == name && has_number) return &plan.fails[static_cast<std::size_t>(fault.call)];
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> find_setting(std::string_view key) {
  std::string own = "VIRTUAL_" + std::string(backend_name) + "_" + std::string(key);
  std::transform(own.begin(), own.end(), own.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string& name : {own, "VIRTUAL_GPU_" + std::string(key)}) {
    if (const char* const value = std::getenv(name.c_str())) return value;
  }
  return std::nullopt;
}

Settings read_settings() {
  Settings settings;
  settings.count = static_cast<int>(read_number("COUNT", 3, kMostDevices));
  settings.memory_bytes = read_number("MEMORY", settings.memory_bytes, std::uint64_t{1} << 40);
  settings.has_poison = read_number("POISON", 1, 1) == 1;
  settings.is_prompt = read_number("PROMPT", 0, 1) == 1;
  settings.dialect = read_choice<std::uint32_t>("DIALECT", identity.dialect, kDialects);
  settings.has_f64 = read_number("F64", settings.dialect == SLUICE_DIALECT_METAL ? 0 : 1, 1) == 1;
  settings.order = read_choice<Order>("ORDER", Order::shuffled, kOrders);
  settings.seed = read_number("SEED", 0, std::numeric_limits<std::uint64_t>::max());
  settings.kinds = read_kinds(settings.count);
  settings.card = find_setting("CARD").value_or("");
  for (int k = 0; k < settings.count; ++k) settings.visible.push_back(k);
  if (const auto list = find_setting("VISIBLE")) settings.visible = parse_visible(*list, settings.count);
  return settings;
}

std::vector<int> parse_visible(std::string_view text, int count) {
  std::vector<int> visible;
  for (const std::string_view piece : split(text)) {
    const std::optional<std::uint64_t> number = to_number(piece);
    if (!number || *number >= static_cast<std::uint64_t>(count)) break;
    const int device = static_cast<int>(*number);
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) break;
    visible.push_back(device);
  }
  return visible;
}

FaultPlan parse_faults(std::string_view text) {
  FaultPlan plan;
  if (text.empty()) return plan;
  for (const std::string_view entry : split(text)) {
    const std::size_t colon = entry.find(':');
    const bool has_number = colon != std::string_view::npos;
    const std::optional<std::uint64_t> number = has_number ? to_number(entry.substr(colon + 1)) : 1;
    std::uint64_t* const place = find_fault(plan, entry.substr(0, colon), has_number);
    if (place == nullptr || !number || *number == 0) {
      throw std::invalid_argument("VIRTUAL_GPU_FAULTS: \"" + std::string(entry) + "\" is no fault");
    }
    *place = *number;
  }
  return plan;
}

}  // namespace virtual_gpu
