#include "src/core/rethrow.hpp"

#include <exception>

namespace sluice::detail {
namespace {

template <class E>
[[noreturn]] void rethrow_as(const std::string& where, const E& error) {
  std::throw_with_nested(E(where + ": " + error.what()));
}

}  // namespace

void rethrow_in(const std::string& where) {
  try {
    throw;
  } catch (const ShapeError& error) {
    rethrow_as(where, error);
  } catch (const TypeError& error) {
    rethrow_as(where, error);
  } catch (const IndexError& error) {
    rethrow_as(where, error);
  } catch (const ArgumentError& error) {
    rethrow_as(where, error);
  } catch (const FileError& error) {
    rethrow_as(where, error);
  } catch (const OutOfMemory& error) {
    rethrow_as(where, error);
  } catch (const DeviceLost& error) {
    rethrow_as(where, error);
  } catch (const Unsupported& error) {
    rethrow_as(where, error);
  } catch (const DeviceError& error) {
    rethrow_as(where, error);
  }
}

}  // namespace sluice::detail
