# The plug-ins that tests open: virtual devices under the names of real backends, and plug-ins with something wrong. Each
# lies in a folder of its own, tests/plugins/<name>/ or tests/plugins/odd/<kind>/, so a test chooses with
# $SLUICE_BACKEND_PATH which ones are found. Needs sluice_set_test_flags.

set(simulated "${PROJECT_SOURCE_DIR}/tests/simulated")
set(test_plugins "${PROJECT_BINARY_DIR}/tests/plugins")

# Everything that tests need beside their own program.
add_custom_target(sluice_test_backends)

function(sluice_set_test_backend_flags target)
  sluice_set_test_flags(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# The same objects in every plug-in; what differs is in the one file that is compiled for each.
add_library(sluice_virtual_gpu OBJECT
  "${simulated}/virtual_backend.cpp" "${simulated}/virtual_compiler.cpp" "${simulated}/virtual_device.cpp"
  "${simulated}/virtual_driver.cpp" "${simulated}/virtual_gpu.cpp" "${simulated}/virtual_gpu_controls.cpp"
  "${simulated}/virtual_group.cpp" "${simulated}/virtual_kernels.cpp" "${simulated}/virtual_settings.cpp")
sluice_set_test_backend_flags(sluice_virtual_gpu)
# The virtual GPU compiles kernels with this compiler and keeps them in the build folder.
target_compile_definitions(sluice_virtual_gpu PRIVATE SLUICE_VIRTUAL_COMPILER="${CMAKE_CXX_COMPILER}"
                                                      SLUICE_VIRTUAL_DIALECTS="${simulated}/dialects"
                                                      SLUICE_VIRTUAL_CACHE="${PROJECT_BINARY_DIR}/tests/kernels")

# sluice_add_test_backend(<folder> <definition>...): a plug-in libsluice-<first part of folder>.so.
function(sluice_add_test_backend folder)
  string(REGEX REPLACE "/.*" "" stem "${folder}")
  string(REPLACE "/" "_" target "sluice_test_backend_${folder}")
  set(sources "${simulated}/virtual_plugin.cpp" $<TARGET_OBJECTS:sluice_virtual_gpu>)
  if("${ARGN}" MATCHES "SLUICE_ODD=")
    list(APPEND sources "${simulated}/odd_plugin.cpp")
  endif()
  add_library(${target} MODULE ${sources})
  sluice_set_test_backend_flags(${target})
  target_compile_definitions(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sluice-${stem} PREFIX lib
                                             SUFFIX "${CMAKE_SHARED_LIBRARY_SUFFIX}"
                                             LIBRARY_OUTPUT_DIRECTORY "${test_plugins}/${folder}")
  if(NOT APPLE)
    target_link_options(${target} PRIVATE "-Wl,--version-script=${simulated}/exports.map")
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${simulated}/exports.map")
  endif()
  add_dependencies(sluice_test_backends ${target})
endfunction()

sluice_add_test_backend(virtual SLUICE_VIRTUAL_NAME=Virtual)
sluice_add_test_backend(cuda SLUICE_VIRTUAL_NAME=CUDA SLUICE_VIRTUAL_DIALECT=SLUICE_DIALECT_CUDA
                        SLUICE_VIRTUAL_BLAS=cuBLAS SLUICE_VIRTUAL_DNN=cuDNN)
sluice_add_test_backend(amdgpu SLUICE_VIRTUAL_NAME=AMDGPU SLUICE_VIRTUAL_DIALECT=SLUICE_DIALECT_HIP
                        SLUICE_VIRTUAL_BLAS=rocBLAS SLUICE_VIRTUAL_DNN=MIOpen)
sluice_add_test_backend(metal SLUICE_VIRTUAL_NAME=Metal SLUICE_VIRTUAL_DIALECT=SLUICE_DIALECT_METAL
                        SLUICE_VIRTUAL_BLAS=MPS SLUICE_VIRTUAL_DNN=MPSGraph)
sluice_add_test_backend(opencl SLUICE_VIRTUAL_NAME=OpenCL SLUICE_VIRTUAL_DIALECT=SLUICE_DIALECT_OPENCL
                        SLUICE_VIRTUAL_BLAS=CLBlast)

set(odd SLUICE_VIRTUAL_NAME=Odd SLUICE_VIRTUAL_ODD)
sluice_add_test_backend(odd/abi ${odd} SLUICE_ODD=SLUICE_ODD_ABI)
sluice_add_test_backend(odd/no-abi ${odd} SLUICE_ODD=SLUICE_ODD_NO_ABI)
sluice_add_test_backend(odd/null-open ${odd} SLUICE_ODD=SLUICE_ODD_NULL_OPEN)
sluice_add_test_backend(odd/dependency ${odd} SLUICE_ODD=SLUICE_ODD_DEPENDENCY)
sluice_add_test_backend(odd/small ${odd} SLUICE_ODD=SLUICE_ODD_SMALL)
sluice_add_test_backend(odd/null-name ${odd} SLUICE_ODD=SLUICE_ODD_NULL_NAME)
sluice_add_test_backend(odd/forgetful SLUICE_VIRTUAL_NAME=Odd SLUICE_VIRTUAL_FORGETS_CURRENT=true)

# Nothing says at run time where this library is, so the plug-in that needs it cannot be opened.
add_library(sluice_absent SHARED "${simulated}/absent_library.cpp")
sluice_set_test_backend_flags(sluice_absent)
set_target_properties(sluice_absent PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/absent")
target_link_libraries(sluice_test_backend_odd_dependency PRIVATE sluice_absent)
set_target_properties(sluice_test_backend_odd_dependency PROPERTIES SKIP_BUILD_RPATH ON)

# backend.h is valid C11 and C++20, and its structs have the layout that is promised: every build compiles this.
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/backend_header.cpp"
     CONTENT "#include \"${PROJECT_SOURCE_DIR}/tests/backend_header.c\"\n")
foreach(language c cpp)
  set(source "${PROJECT_SOURCE_DIR}/tests/backend_header.c")
  if(language STREQUAL cpp)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/backend_header.cpp")
  endif()
  add_library(sluice_backend_header_${language} OBJECT "${source}")
  target_include_directories(sluice_backend_header_${language} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  set_target_properties(sluice_backend_header_${language} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(sluice_backend_header_${language} PRIVATE -Wall -Wextra -Wpedantic -Werror)
  add_dependencies(sluice_test_backends sluice_backend_header_${language})
endforeach()

# The drivers without a GPU, which tests of the backends with streams open.
if(TARGET sluice_simulated_streams)
  add_dependencies(sluice_test_backends sluice_simulated_cuda sluice_simulated_hip)
  target_compile_definitions(sluice_test_support INTERFACE
                             SLUICE_TEST_SIMULATED="${PROJECT_BINARY_DIR}/tests/simulated")
endif()

# Metal without Apple's machines.
if(TARGET sluice_simulated_metal)
  add_dependencies(sluice_test_backends sluice_simulated_metal)
  target_compile_definitions(sluice_test_support INTERFACE SLUICE_TEST_SIMULATED_METAL="${simulated_metal_folder}")
endif()

target_compile_definitions(sluice_test_support INTERFACE SLUICE_TEST_PLUGINS="${test_plugins}"
                                                         SLUICE_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
