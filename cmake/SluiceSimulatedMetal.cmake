# An Objective-C runtime, Metal and Metal Performance Shaders without Apple's machines, under the names of the real ones:
# tests/simulated/metal/. They lie in a folder of their own, <build>/tests/simulated/metal, which programs find by
# $LD_LIBRARY_PATH.

set(simulated_metal "${PROJECT_SOURCE_DIR}/tests/simulated/metal")
set(simulated_metal_folder "${PROJECT_BINARY_DIR}/tests/simulated/metal")

# sluice_add_simulated_framework(<target> <file name> <source>...)
function(sluice_add_simulated_framework target file)
  add_library(${target} SHARED EXCLUDE_FROM_ALL ${ARGN})
  sluice_set_flags(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_options(${target} PRIVATE "-Wl,-soname,${file}")
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME "${file}" NO_SONAME ON
                                             BUILD_RPATH "$ORIGIN" LIBRARY_OUTPUT_DIRECTORY "${simulated_metal_folder}")
endfunction()

find_package(Threads REQUIRED)
sluice_add_simulated_framework(sluice_simulated_objc libobjc.A.dylib "${simulated_metal}/objc.cpp"
                               "${simulated_metal}/objc_msgsend.cpp")

set(virtual "${PROJECT_SOURCE_DIR}/tests/simulated")
sluice_add_simulated_framework(sluice_simulated_metal_framework Metal
  "${simulated_metal}/commands.cpp" "${simulated_metal}/device.cpp" "${simulated_metal}/encoders.cpp"
  "${simulated_metal}/foundation.cpp" "${simulated_metal}/library.cpp" "${simulated_metal}/settings.cpp"
  "${virtual}/virtual_compiler.cpp" "${virtual}/virtual_device.cpp" "${virtual}/virtual_group.cpp"
  "${virtual}/virtual_kernels.cpp" "${virtual}/virtual_settings.cpp")
target_compile_definitions(sluice_simulated_metal_framework PRIVATE SLUICE_VIRTUAL_COMPILER="${CMAKE_CXX_COMPILER}"
                                                          SLUICE_VIRTUAL_DIALECTS="${virtual}/dialects"
                                                          SLUICE_VIRTUAL_CACHE="${PROJECT_BINARY_DIR}/tests/kernels")
target_link_libraries(sluice_simulated_metal_framework PRIVATE sluice_simulated_objc Threads::Threads ${CMAKE_DL_LIBS})

sluice_add_simulated_framework(sluice_simulated_mps MetalPerformanceShaders "${simulated_metal}/mps.cpp")
target_link_libraries(sluice_simulated_mps PRIVATE sluice_simulated_metal_framework sluice_simulated_objc)

# All of them, for tests and for `make run SIMULATE=metal:2`.
add_custom_target(sluice_simulated_metal DEPENDS sluice_simulated_objc sluice_simulated_metal_framework sluice_simulated_mps)
