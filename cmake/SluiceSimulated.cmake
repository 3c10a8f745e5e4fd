# Vendors' drivers, run-time compilers and BLAS without a GPU, under the names of the real ones: tests/simulated/{cuda,hip}/,
# with what they have in common in tests/simulated/streams/. Each vendor's lie in a folder of their own,
# <build>/tests/simulated/<vendor>, which programs find by $LD_LIBRARY_PATH; nothing links them.

set(simulated_sources "${PROJECT_SOURCE_DIR}/tests/simulated")
set(simulated_folder "${PROJECT_BINARY_DIR}/tests/simulated")
find_package(Threads REQUIRED)

function(sluice_set_simulated_flags target)
  sluice_set_flags(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# The driver's state, compiled once for all vendors; and what a compiler and a BLAS need.
file(GLOB simulated_streams CONFIGURE_DEPENDS "${simulated_sources}/streams/*.cpp")
add_library(sluice_simulated_streams OBJECT EXCLUDE_FROM_ALL ${simulated_streams}
            "${simulated_sources}/virtual_compiler.cpp" "${simulated_sources}/virtual_device.cpp"
            "${simulated_sources}/virtual_group.cpp" "${simulated_sources}/virtual_kernels.cpp"
            "${simulated_sources}/virtual_settings.cpp")
sluice_set_simulated_flags(sluice_simulated_streams)
target_compile_definitions(sluice_simulated_streams PRIVATE SLUICE_VIRTUAL_COMPILER="${CMAKE_CXX_COMPILER}"
                                                            SLUICE_VIRTUAL_DIALECTS="${simulated_sources}/dialects"
                                                            SLUICE_VIRTUAL_CACHE="${PROJECT_BINARY_DIR}/tests/kernels")

# sluice_add_simulated_library(<vendor> <file> <source>...): a library with these files of the vendor's folder. Only the
# driver's own has a driver in it; the others take the settings and what else they need from the common objects.
function(sluice_add_simulated_library vendor file)
  list(TRANSFORM ARGN PREPEND "${simulated_sources}/${vendor}/" OUTPUT_VARIABLE sources)
  string(MAKE_C_IDENTIFIER "sluice_simulated_${vendor}_${file}" target)
  add_library(${target} MODULE EXCLUDE_FROM_ALL "${simulated_sources}/${vendor}/vendor.cpp" ${sources}
              $<TARGET_OBJECTS:sluice_simulated_streams>)
  sluice_set_simulated_flags(${target})
  set(exports "${simulated_sources}/streams/exports.map")
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE "-Wl,--version-script=${exports}" "-Wl,-soname,${file}")
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME "${file}" LINK_DEPENDS "${exports}"
                                             LIBRARY_OUTPUT_DIRECTORY "${simulated_folder}/${vendor}")
  # All of a vendor's, for tests and for `make run SIMULATE=cuda:2`.
  if(NOT TARGET sluice_simulated_${vendor})
    add_custom_target(sluice_simulated_${vendor})
  endif()
  add_dependencies(sluice_simulated_${vendor} ${target})
endfunction()

sluice_add_simulated_library(cuda libcuda.so.1 cuda.cpp)
sluice_add_simulated_library(cuda libnvrtc.so.12 nvrtc.cpp)
sluice_add_simulated_library(cuda libcublas.so.13 cublas.cpp)
sluice_add_simulated_library(hip libamdhip64.so.7 hip.cpp)
sluice_add_simulated_library(hip libhiprtc.so.7 hiprtc.cpp)
sluice_add_simulated_library(hip libamd_comgr.so.3 comgr.cpp)
sluice_add_simulated_library(hip librocblas.so.5 rocblas.cpp)
# As in ROCm 5.
sluice_add_simulated_library(hip libamdhip64.so.5 hip.cpp hiprtc.cpp)
sluice_add_simulated_library(hip libamd_comgr.so.2 comgr.cpp)
