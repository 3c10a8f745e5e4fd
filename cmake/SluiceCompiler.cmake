# Language level and flags. `sluice_set_flags(target)` gives a target of this project the house flags; nothing here reaches
# the users of the installed library.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
  endif()
endif()

# Half of the time to compile a file goes into the headers of the standard library. A launcher that the user chose may not
# know precompiled headers; ccache does with these settings.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(sluice_precompile OFF)
else()
  set(sluice_precompile ON)
endif()
option(SLUICE_PRECOMPILED_HEADERS "Precompile headers that are not ours" ${sluice_precompile})
find_program(SLUICE_CCACHE ccache)
mark_as_advanced(SLUICE_CCACHE)
if(PROJECT_IS_TOP_LEVEL AND SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${SLUICE_CCACHE}")
  if(SLUICE_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

set(SLUICE_WARNINGS -Wall -Wextra -Wconversion)
if(SLUICE_WERROR)
  list(APPEND SLUICE_WARNINGS -Werror)
endif()

function(sluice_set_flags target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE ${SLUICE_WARNINGS} -ffp-contract=off)
  if(SLUICE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE})
  endif()
endfunction()
