#include "src/data/jld2_chunk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/inflate.hpp"
#include "src/data/julia_tensor.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint8_t kChunked = 2;  // the class of a layout
constexpr std::string_view kSeveral =
    "the array is not stored as one chunk of its size, which is what JLD2 makes of it but for `write_chunked`; in "
    "Julia, save it again with jldsave";
constexpr std::uint64_t kMostInflated = std::uint64_t{1} << 32;

enum Filter : std::uint16_t { kDeflate = 1, kShuffle = 2 };

/// The array that the content of a chunk is.
struct H5Elements {
  std::span<const std::int64_t> sizes;
  std::uint64_t size = 0;   // of an element
  std::uint64_t bytes = 0;  // of all
};

/// The one chunk of an array.
struct H5Chunk {
  FileRange stored;
  std::uint32_t skipped = 0;  // a bit for each filter that was left out
};

/// What the content of a chunk went through on its way to the file, in this order.
struct H5Filters {
  bool is_shuffled = false, is_deflated = false;
};

/// "zstd (32015)".
std::string filter_name(std::uint16_t id) {
  constexpr struct {
    std::uint16_t id;
    std::string_view name;
  } kNames[] = {{1, "deflate"},          {2, "shuffle"}, {3, "fletcher32"}, {4, "szip"},      {5, "nbit"},
                {6, "scale and offset"}, {307, "bzip2"}, {32000, "lzf"},    {32001, "blosc"}, {32004, "lz4"},
                {32008, "bitshuffle"},   {32013, "zfp"}, {32015, "zstd"},   {32026, "blosc2"}};
  const auto found =
      std::find_if(std::begin(kNames), std::end(kNames), [id](const auto& each) { return each.id == id; });
  return found == std::end(kNames) ? fmt::format("of number {}", id) : fmt::format("{} ({})", found->name, id);
}

/// Reads a message from its start.
class Cursor {
 public:
  Cursor(ByteSource& source, FileRange range) : source_(source), at_(range.at), end_(range.end()) {}

  std::uint64_t at() const { return at_; }
  bool is_at_end() const { return at_ == end_; }
  void skip(std::uint64_t size) {
    if (size > end_ - at_) source_.fail(at_, "a message about chunks is cut off");
    at_ += size;
  }
  /// A number of up to 8 bytes.
  std::uint64_t number(std::uint64_t width) {
    const std::uint64_t from = at_;
    skip(width);
    std::uint64_t value = 0;
    source_.read(from, std::as_writable_bytes(std::span(&value, 1)).first(static_cast<std::size_t>(width)));
    return value;
  }

 private:
  ByteSource& source_;
  std::uint64_t at_, end_;
};

/// The sizes of the chunks, last dimension first, then that of an element.
void check_sizes(ByteSource& source, Cursor& cursor, std::uint64_t rank, std::uint64_t width,
                 const H5Elements& elements) {
  const std::uint64_t at = cursor.at();
  bool is_whole = rank == elements.sizes.size() + 1;
  for (std::uint64_t i = 0; i < rank; ++i) {
    const std::uint64_t size = cursor.number(width);
    if (!is_whole) continue;
    is_whole = size == (i + 1 == rank ? elements.size : static_cast<std::uint64_t>(elements.sizes[rank - 2 - i]));
  }
  if (!is_whole) source.fail(at, std::string(kSeveral));
}

/// The chunk of a B-tree that has one: the size of the chunk, a bit for each filter that was left out, where the chunk
/// is in the array, and its address.
H5Chunk read_leaf(Jld2File& file, std::uint64_t root, std::uint64_t rank) {
  constexpr std::uint64_t kHead = 24, kSizes = 8, kNumber = 8;
  ByteSource& source = file.source();
  const FileRange node = file.place(root, kHead + kSizes + rank * kNumber + kNumber);
  Cursor cursor(source, node);
  if (source.text(node.at, 4) != "TREE" || source.number<std::uint8_t>(node.at + 4) != 1) {
    source.fail(node.at, "expected the chunks of an array");
  }
  cursor.skip(5);
  const std::uint64_t level = cursor.number(1), entries = cursor.number(2);
  if (level != 0 || entries != 1) source.fail(node.at, std::string(kSeveral));
  cursor.skip(kHead - 8);
  const std::uint64_t size = cursor.number(4);
  const auto skipped = static_cast<std::uint32_t>(cursor.number(4));
  for (std::uint64_t i = 0; i < rank; ++i) {
    if (cursor.number(kNumber) != 0) source.fail(node.at, std::string(kSeveral));
  }
  return {file.place(cursor.number(kNumber), size), skipped};
}

void add_filter(ByteSource& source, std::uint64_t at, std::uint16_t id, std::uint64_t value, const H5Elements& elements,
                H5Filters& filters) {
  if (id == kDeflate && !filters.is_deflated) {
    filters.is_deflated = true;
  } else if (id == kShuffle && !filters.is_deflated && !filters.is_shuffled) {
    // JLD2 need not say the size of an element.
    if (value != 0 && value != elements.size) {
      source.fail(at, fmt::format("elements of {} bytes are shuffled as if they had {}", elements.size, value));
    }
    filters.is_shuffled = true;
  } else {
    source.fail(at, fmt::format("the data went through the filter {}; what is read is deflate, after shuffle or alone. "
                                "In Julia, save again with `compress = true` or without `compress`",
                                filter_name(id)));
  }
}

/// Puts the first bytes of all elements, then the second ones and so on, where they belong.
template <class Next>
void unshuffle(const Next& next, std::uint64_t element, std::span<std::byte> to) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  const std::size_t count = to.size() / element;
  std::vector<std::byte> buffer(std::min(kPiece, count));
  for (std::size_t place = 0; place < element; ++place) {
    for (std::size_t done = 0; done < count;) {
      const std::span<std::byte> piece = std::span(buffer).first(std::min(kPiece, count - done));
      next(piece);
      for (std::size_t i = 0; i < piece.size(); ++i) to[(done + i) * element + place] = piece[i];
      done += piece.size();
    }
  }
}

/// What a Layout message says.
H5Chunk read_chunk_layout(Jld2File& file, FileRange layout, const H5Elements& elements) {
  ByteSource& source = file.source();
  Cursor cursor(source, layout);
  const std::uint64_t version = cursor.number(1);
  if (cursor.number(1) != kChunked) source.fail(layout.at, "filters are for data in chunks, which these are not");
  if (version == 3) {
    const std::uint64_t rank = cursor.number(1), root = cursor.number(8);
    check_sizes(source, cursor, rank, 4, elements);
    return read_leaf(file, root, rank);
  }
  if (version != 4) source.fail(layout.at, fmt::format("a data layout of version {}", version));
  const bool has_size = (cursor.number(1) & 2) != 0;
  const std::uint64_t rank = cursor.number(1), width = cursor.number(1);
  if (width == 0 || width > 8) source.fail(layout.at, fmt::format("sizes of chunks in {} bytes each", width));
  check_sizes(source, cursor, rank, width, elements);
  constexpr std::uint64_t kOneChunk = 1;
  if (cursor.number(1) != kOneChunk) source.fail(layout.at, std::string(kSeveral));
  const std::uint64_t size = has_size ? cursor.number(8) : elements.bytes;
  const auto skipped = static_cast<std::uint32_t>(has_size ? cursor.number(4) : 0);
  const std::uint64_t address = cursor.number(8);
  if (!cursor.is_at_end()) source.fail(cursor.at(), "a data layout is longer than its parts");
  return {file.place(address, size), skipped};
}

/// What a Filters message says, without those that `skipped` has.
H5Filters read_filters(ByteSource& source, FileRange message, std::uint32_t skipped, const H5Elements& elements) {
  Cursor cursor(source, message);
  const std::uint64_t version = cursor.number(1), count = cursor.number(1);
  constexpr std::uint64_t kMost = 32, kWithoutName = 256;  // smaller numbers have no name, from version 2 on
  if ((version != 1 && version != 2) || count > kMost) {
    source.fail(message.at, fmt::format("{} filters of version {}", count, version));
  }
  if (version == 1) cursor.skip(6);
  H5Filters filters;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = cursor.at();
    const auto id = static_cast<std::uint16_t>(cursor.number(2));
    const std::uint64_t name = version == 1 || id >= kWithoutName ? cursor.number(2) : 0;
    cursor.skip(2);  // flags
    const std::uint64_t values = cursor.number(2);
    cursor.skip(name);
    const std::uint64_t first = values > 0 ? cursor.number(4) : 0;
    const std::uint64_t padding = version == 1 ? values % 2 : 0;
    cursor.skip(4 * (values + padding - (values > 0 ? 1 : 0)));
    if ((skipped >> i & 1) == 0) add_filter(source, at, id, first, elements, filters);
  }
  return filters;
}

/// Throws FileError if a chunk cannot hold its content: memory for this is asked for afterwards.
void check_chunk_size(ByteSource& source, FileRange stored, const H5Filters& filters, const H5Elements& elements) {
  const bool is_possible =
      filters.is_deflated ? can_inflate(stored.size, elements.bytes) : stored.size == elements.bytes;
  if (is_possible) return;
  source.fail(stored.at, fmt::format("an array of size ({}) takes {} bytes, which {} {} bytes cannot hold",
                                     fmt::join(elements.sizes, ", "), elements.bytes, stored.size,
                                     filters.is_deflated ? "deflated" : "stored"));
}

/// Fills `to` with the content of a chunk, which must be just that.
void read_chunk(ByteSource& source, FileRange stored, const H5Filters& filters, const H5Elements& elements,
                std::span<std::byte> to) {
  const auto check = [&](const std::string& wrong) {
    if (!wrong.empty()) source.fail(stored.at, wrong);
  };
  std::optional<Inflater> inflater;
  if (filters.is_deflated) {
    inflater.emplace(Inflater::Wrapping::zlib, stored.size,
                     [&](std::uint64_t at, std::span<std::byte> piece) { source.read(stored.at + at, piece); });
  }
  std::uint64_t position = 0;
  const auto next = [&](std::span<std::byte> piece) {
    if (inflater) check(inflater->read(piece));
    else source.read(stored.at + position, piece);
    position += piece.size();
  };
  if (filters.is_shuffled && elements.size > 1) unshuffle(next, elements.size, to);
  else next(to);
  if (inflater) check(inflater->finish());
}

}  // namespace

bool is_chunked(ByteSource& source, FileRange layout) {
  return layout.size >= 2 && source.number<std::uint8_t>(layout.at + 1) == kChunked;
}

Tensor Jld2Chunks::read(FileRange layout, const H5Message* filters_at, DType dtype, std::span<const std::int64_t> sizes,
                        std::uint64_t element) {
  const H5Elements elements{sizes, element, array_bytes(sizes, element).value_or(0)};
  if (const std::string wrong = wrong_size(dtype, sizes, elements.bytes); !wrong.empty()) {
    source_.fail(layout.at, wrong);
  }
  const H5Chunk chunk = read_chunk_layout(file_, layout, elements);
  const H5Filters filters =
      filters_at == nullptr ? H5Filters{} : read_filters(source_, filters_at->content, chunk.skipped, elements);
  file_.claim(chunk.stored);
  check_chunk_size(source_, chunk.stored, filters, elements);
  if (filters.is_deflated) spend(elements.bytes);
  const auto fill = [&](std::span<std::byte> to) { read_chunk(source_, chunk.stored, filters, elements, to); };
  return read_julia_tensor(source_, chunk.stored.at, dtype, Shape({sizes.begin(), sizes.end()}), fill);
}

void Jld2Chunks::spend(std::uint64_t bytes) {
  if (bytes > kMostInflated - inflated_) {
    source_.fail("the compressed arrays take more than 4 GiB together; in Julia, save again without `compress`");
  }
  inflated_ += bytes;
}

}  // namespace sluice::detail
