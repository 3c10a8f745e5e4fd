// Kernels on disk. The driver's bytes are wrapped, so that damage and foreign files are refused with a reason.
#include <cstring>
#include <string_view>

#include "backends/streams/kernel.hpp"

namespace sluice::streams {
namespace {

using plugin::Failure;

constexpr char kMagic[8] = {'S', 'l', 'u', 'i', 'c', 'e', 'S', '1'};

/// In front of the image.
struct BinaryHeader {
  char magic[8];
  std::uint64_t device;  // which device and driver
  std::uint64_t bytes;
  std::uint64_t content;
};

// FNV-1a, against damage and not against malice.
std::uint64_t hash(std::string_view text) {
  std::uint64_t result = 14695981039346656037U;
  for (const char c : text) result = (result ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return result;
}

}  // namespace

std::string LoadedKernel::binary() const {
  BinaryHeader header{{}, hash(kBackendName + identity(device_.number())), image_.size(), hash(image_)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + image_;
}

std::string unpack_binary(DeviceNumber device, const void* binary, std::uint64_t bytes) {
  BinaryHeader header{};
  if (bytes < sizeof header) throw Failure(SLUICE_ERROR, "not a kernel binary: too short");
  std::memcpy(&header, binary, sizeof header);
  const std::string_view content(static_cast<const char*>(binary) + sizeof header, bytes - sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) throw Failure(SLUICE_ERROR, "not a kernel binary");
  if (header.device != hash(kBackendName + identity(device))) {
    throw Failure(SLUICE_ERROR, "a kernel binary of another device or another version of its driver");
  }
  if (header.bytes != content.size() || header.content != hash(content)) {
    throw Failure(SLUICE_ERROR, "a damaged kernel binary");
  }
  return std::string(content);
}

}  // namespace sluice::streams
