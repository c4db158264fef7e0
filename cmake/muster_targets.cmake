# Settings that every target of this project shares, kept on targets.

add_library(muster_build_settings INTERFACE)
target_compile_features(muster_build_settings INTERFACE cxx_std_20)
target_compile_options(muster_build_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>)
if(MUSTER_SANITIZE)
  target_compile_options(muster_build_settings INTERFACE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(muster_build_settings INTERFACE -fsanitize=${MUSTER_SANITIZE})
  if(MUSTER_SANITIZE MATCHES "address|thread")
    target_sources(muster_build_settings INTERFACE
      $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${PROJECT_SOURCE_DIR}/tests/support/keep_modules.cpp>)
  endif()
endif()

# muster_library(name SOURCES ...): one layer. Public headers in include/, private ones in src/.
function(muster_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(muster_${name} ${ARG_SOURCES})
  add_library(muster::${name} ALIAS muster_${name})
  target_include_directories(muster_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE src)
  target_compile_features(muster_${name} PUBLIC cxx_std_20)
  target_link_libraries(muster_${name} PRIVATE $<BUILD_INTERFACE:muster_build_settings>)
  set_target_properties(muster_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  install(TARGETS muster_${name} EXPORT muster)
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
