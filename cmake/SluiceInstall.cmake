# `cmake --install`: the library, its headers and a relocatable package for find_package(Sluice).

include(CMakePackageConfigHelpers)

set(sluice_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Sluice")
install(TARGETS sluice EXPORT SluiceTargets)
install(TARGETS sluice_probe RUNTIME DESTINATION libexec)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sluice" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION "${sluice_package_dir}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/SluiceConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/SluiceConfig.cmake" INSTALL_DESTINATION "${sluice_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/SluiceConfig.cmake" "${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake"
        DESTINATION "${sluice_package_dir}")
