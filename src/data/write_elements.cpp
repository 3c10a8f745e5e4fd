#include "src/data/write_elements.hpp"

#include <algorithm>
#include <vector>

#include "src/core/tensor_rep.hpp"

namespace sluice::detail {

void write_elements(AtomicFile& file, const Tensor& tensor) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  const std::size_t bytes = static_cast<std::size_t>(tensor.numel()) * tensor.dtype().size();
  DeviceImpl* const device = device_of_rep(tensor);
  if (device->is_host() || bytes == 0) {
    if (bytes > 0) file.write(tensor.bytes());
    return;
  }
  const std::size_t start = static_cast<std::size_t>(tensor.rep()->offset) * tensor.dtype().size();
  std::vector<std::byte> piece(std::min(bytes, kPiece));
  for (std::size_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(std::min(piece.size(), bytes - done));
    device->read(*tensor.rep()->storage, start + done, piece.data(), piece.size());
    file.write(piece);
  }
}

}  // namespace sluice::detail
