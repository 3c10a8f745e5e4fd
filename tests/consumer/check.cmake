# Installs a built Sluice to a scratch prefix, moves the prefix, builds the consumer against it and runs it. A plug-in in
# the moved prefix is found from another working folder with an empty environment.
# cmake -DBUILD=<build folder> -DCONSUMER=<tests/consumer> -DSCRATCH=<folder> -DGENERATOR=<name> -DPLUGIN=<file> -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/first")
file(RENAME "${SCRATCH}/first" "${SCRATCH}/moved")
run("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${SCRATCH}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/moved" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build")
run("${SCRATCH}/build/consumer")

# Whoever wishes for the CPU opens no GPU software, neither when the program starts nor in a training step.
execute_process(COMMAND "${CMAKE_COMMAND}" -E env LD_DEBUG=libs SLUICE_GPU_BACKEND=CPU "${SCRATCH}/build/consumer" RESULT_VARIABLE status
                OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0 OR text MATCHES "libOpenCL|libcuda|libamdhip|libnvrtc|libclblast")
  message(FATAL_ERROR "the consumer failed or opened GPU software (${status}):\n${text}")
endif()

file(GLOB library "${SCRATCH}/moved/lib*/libsluice.so" "${SCRATCH}/moved/lib/*/libsluice.so")
cmake_path(GET library PARENT_PATH library_folder)
file(COPY "${PLUGIN}" DESTINATION "${library_folder}/sluice")

# Nothing but PATH, which PoCL's compiler needs.
execute_process(COMMAND env -i "PATH=$ENV{PATH}" "${SCRATCH}/moved/bin/sluice" devices --require-gpu
                WORKING_DIRECTORY / RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0 OR NOT text MATCHES "CUDA")
  message(FATAL_ERROR "the plug-in of a moved prefix is not found (${status}):\n${text}")
endif()
