// Compression, for tests of what decompresses.
#pragma once

#include <zlib.h>

#include <stdexcept>
#include <string>

namespace sluice::tests {

/// What zlib makes of `content`; `window` says what encloses it, as for deflateInit2.
inline std::string compressed(const std::string& content, int window) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
  std::string result(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int status = deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib");
  return result;
}

inline std::string gzip(const std::string& content) { return compressed(content, 15 + 16); }
/// With the header and the checksum of zlib.
inline std::string zlib_deflated(const std::string& content) { return compressed(content, 15); }
/// Without any.
inline std::string raw_deflated(const std::string& content) { return compressed(content, -15); }

}  // namespace sluice::tests
