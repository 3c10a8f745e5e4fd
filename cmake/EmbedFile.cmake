# Files inside programs: sluice_embed(target file symbol) gives the target the bytes of a file, as
#   extern "C" const unsigned char <symbol>[];
#   extern "C" const std::size_t <symbol>_size;
# An edit of the file rebuilds. Nothing but CMake is needed.

if(CMAKE_SCRIPT_MODE_FILE AND SLUICE_EMBED_INPUT)
  file(READ "${SLUICE_EMBED_INPUT}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes
         "${bytes}")
  set(name "${SLUICE_EMBED_SYMBOL}")
  # One element more, because an empty file would give an empty array.
  file(WRITE "${SLUICE_EMBED_OUTPUT}"
       "#include <cstddef>\n\n"
       "extern \"C\" const unsigned char ${name}[];\nextern \"C\" const std::size_t ${name}_size;\n\n"
       "const unsigned char ${name}[] = {\n${bytes}0};\nconst std::size_t ${name}_size = sizeof ${name} - 1;\n")
  return()
endif()

set(sluice_embed_script "${CMAKE_CURRENT_LIST_FILE}")

function(sluice_embed target file symbol)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE input)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${target}/${symbol}.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DSLUICE_EMBED_INPUT=${input}" "-DSLUICE_EMBED_OUTPUT=${output}"
            "-DSLUICE_EMBED_SYMBOL=${symbol}" -P "${sluice_embed_script}"
    DEPENDS "${input}" "${sluice_embed_script}"
    COMMENT "Embedding ${file}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
