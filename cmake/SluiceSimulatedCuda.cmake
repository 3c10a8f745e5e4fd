# A CUDA driver, an NVRTC and a cuBLAS without a GPU, under the names of the real ones: tests/simulated/cuda/. They lie in a folder
# of their own, <build>/tests/simulated/cuda, which programs find by $LD_LIBRARY_PATH; nothing links them.

set(simulated_cuda "${PROJECT_SOURCE_DIR}/tests/simulated/cuda")
set(simulated_cuda_folder "${PROJECT_BINARY_DIR}/tests/simulated/cuda")

# sluice_add_simulated_library(<target> <file name> <source>...): with what all of them share.
function(sluice_add_simulated_library target file)
  set(virtual "${PROJECT_SOURCE_DIR}/tests/simulated")
  add_library(${target} MODULE EXCLUDE_FROM_ALL ${ARGN} "${simulated_cuda}/image.cpp" "${simulated_cuda}/settings.cpp"
              "${virtual}/virtual_compiler.cpp" "${virtual}/virtual_settings.cpp" "${virtual}/virtual_group.cpp")
  sluice_set_flags(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE SLUICE_VIRTUAL_COMPILER="${CMAKE_CXX_COMPILER}"
                                               SLUICE_VIRTUAL_DIALECTS="${virtual}/dialects"
                                               SLUICE_VIRTUAL_CACHE="${PROJECT_BINARY_DIR}/tests/kernels")
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE "-Wl,--version-script=${simulated_cuda}/exports.map" "-Wl,-soname,${file}")
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME "${file}" POSITION_INDEPENDENT_CODE ON
                                             LINK_DEPENDS "${simulated_cuda}/exports.map"
                                             LIBRARY_OUTPUT_DIRECTORY "${simulated_cuda_folder}")
endfunction()

find_package(Threads REQUIRED)
sluice_add_simulated_library(sluice_simulated_cuda libcuda.so.1
  "${simulated_cuda}/cuda.cpp" "${simulated_cuda}/cuda_work.cpp" "${simulated_cuda}/driver.cpp"
  "${PROJECT_SOURCE_DIR}/tests/simulated/virtual_device.cpp"
  "${PROJECT_SOURCE_DIR}/tests/simulated/virtual_kernels.cpp")
sluice_add_simulated_library(sluice_simulated_nvrtc libnvrtc.so.12 "${simulated_cuda}/nvrtc.cpp")
sluice_add_simulated_library(sluice_simulated_cublas libcublas.so.13 "${simulated_cuda}/cublas.cpp")

# All of them, for tests and for `make run SIMULATE=cuda:2`.
add_custom_target(sluice_simulated DEPENDS sluice_simulated_cuda sluice_simulated_nvrtc sluice_simulated_cublas)
