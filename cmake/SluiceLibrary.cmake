# The library. Its objects are compiled once and linked twice: into `sluice`, which exports only the public interface, and
# into the archive `sluice_internal`, through which the tests reach hidden symbols as well.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
# Only the header of toml++: the target of Debian's package links the shared library.
find_path(SLUICE_TOML_INCLUDE toml++/toml.h REQUIRED)
mark_as_advanced(SLUICE_TOML_INCLUDE)

set(sluice_root "${PROJECT_SOURCE_DIR}")
file(GLOB_RECURSE sluice_sources CONFIGURE_DEPENDS "${sluice_root}/src/*.cpp")
file(GLOB_RECURSE sluice_kernel_sources CONFIGURE_DEPENDS "${sluice_root}/src/device/*_kernel.cpp")
list(FILTER sluice_sources EXCLUDE REGEX "_kernel\\.cpp$")

# Includes and private dependencies of everything that is compiled into the library.
add_library(sluice_private INTERFACE)
target_include_directories(sluice_private INTERFACE "${sluice_root}/include" "${sluice_root}")
target_include_directories(sluice_private SYSTEM INTERFACE "${SLUICE_TOML_INCLUDE}")
target_link_libraries(sluice_private INTERFACE nlohmann_json::nlohmann_json ZLIB::ZLIB Threads::Threads
                                               ${CMAKE_DL_LIBS})

# fmt is compiled in, never linked as a shared library. The version 9 has a compiled part (see fmt_library.cpp).
set(sluice_objects "")
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  get_target_property(fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(sluice_private SYSTEM INTERFACE ${fmt_include})
  add_library(sluice_fmt OBJECT "${sluice_root}/cmake/fmt_library.cpp")
  sluice_set_flags(sluice_fmt)
  set_target_properties(sluice_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(sluice_fmt PRIVATE sluice_private)
  list(APPEND sluice_objects $<TARGET_OBJECTS:sluice_fmt>)
else()
  target_link_libraries(sluice_private INTERFACE fmt::fmt-header-only)
endif()

# Kernels: the same file once per instruction set, in a namespace named by SLUICE_ISA; which one runs is decided at run time.
# The -fno-*-math flags change no value; they let g++ vectorise the polynomials.
set(sluice_isas baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND sluice_isas avx2 avx512)
endif()
set(sluice_isa_flags_baseline "")
set(sluice_isa_flags_avx2 -mavx2 -mfma -mf16c)
set(sluice_isa_flags_avx512 ${sluice_isa_flags_avx2} -mavx512f -mavx512dq -mavx512bw -mavx512vl
                            -mprefer-vector-width=512)

foreach(source IN LISTS sluice_kernel_sources)
  if(source MATCHES "gemm[^/]*_kernel\\.cpp$")
    set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
  endif()
endforeach()

if(sluice_kernel_sources)
  foreach(isa IN LISTS sluice_isas)
    set(kernels sluice_kernels_${isa})
    add_library(${kernels} OBJECT ${sluice_kernel_sources})
    sluice_set_flags(${kernels})
    set_target_properties(${kernels} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${kernels} PRIVATE sluice_private)
    target_compile_definitions(${kernels} PRIVATE SLUICE_ISA=${isa})
    target_compile_options(${kernels} PRIVATE -O3 -fno-math-errno -fno-trapping-math ${sluice_isa_flags_${isa}})
    list(APPEND sluice_objects $<TARGET_OBJECTS:${kernels}>)
  endforeach()
endif()

# The loops that fill a tile with a broadcast operand are vectorised at -O3 only.
set_source_files_properties(src/device/tile_interpreter.cpp PROPERTIES COMPILE_OPTIONS -O3)
set_source_files_properties(src/device/preference_file.cpp PROPERTIES COMPILE_DEFINITIONS
                            "TOML_HEADER_ONLY=1;TOML_ENABLE_FORMATTERS=0")
add_library(sluice_core OBJECT ${sluice_sources})
sluice_set_flags(sluice_core)
set_target_properties(sluice_core PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(sluice_core PRIVATE sluice_private)
target_compile_definitions(sluice_core PRIVATE SLUICE_VERSION_STRING="${PROJECT_VERSION}")
# The text of the kernels, for devices that compile it: symbol sluice_kernels_<name>.
include("${CMAKE_CURRENT_LIST_DIR}/EmbedFile.cmake")
file(GLOB sluice_kernel_texts CONFIGURE_DEPENDS "${sluice_root}/kernels/*.k" "${sluice_root}/kernels/dialect*.h"
     "${sluice_root}/kernels/math.h" "${sluice_root}/kernels/scalar.h")
foreach(text IN LISTS sluice_kernel_texts)
  cmake_path(GET text STEM name)
  sluice_embed(sluice_core "${text}" sluice_kernels_${name})
endforeach()
if(SLUICE_PRECOMPILED_HEADERS)
  target_precompile_headers(sluice_core PRIVATE
    <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex> <optional> <span>
    <string> <string_view> <tuple> <utility> <vector> <fmt/format.h>)
endif()
list(APPEND sluice_objects $<TARGET_OBJECTS:sluice_core>)

if(SLUICE_STATIC)
  set(sluice_kind STATIC)
else()
  set(sluice_kind SHARED)
endif()
add_library(sluice ${sluice_kind} ${sluice_objects})
add_library(Sluice::sluice ALIAS sluice)
sluice_set_flags(sluice)
set_target_properties(sluice PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(sluice INTERFACE cxx_std_20)
target_include_directories(sluice INTERFACE $<BUILD_INTERFACE:${sluice_root}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(sluice PRIVATE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
if(NOT SLUICE_STATIC AND NOT APPLE)
  # libstdc++ gives its templates default visibility, so hiding alone would export std:: instantiations.
  target_link_options(sluice PRIVATE -Wl,--exclude-libs,ALL "-Wl,--version-script=${sluice_root}/cmake/exports.map")
  set_target_properties(sluice PROPERTIES LINK_DEPENDS "${sluice_root}/cmake/exports.map")
endif()

add_library(sluice_internal STATIC EXCLUDE_FROM_ALL ${sluice_objects})
set_target_properties(sluice_internal PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(sluice_internal PUBLIC sluice_private)
