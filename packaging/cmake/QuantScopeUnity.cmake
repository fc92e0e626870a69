# SPDX-License-Identifier: GPL-3.0-or-later
# qs_unite(target): with QS_UNITY, CMake compiles up to twelve sources of a folder as one. Templates of the standard library, fmt and
# nlohmann-json are then instantiated once. This is for builds that are made once, as in .ci/run and packaging/run: after a change the whole
# unit is compiled again. Names in unnamed namespaces must differ within a folder. qs_alone(source ...) excludes sources that share names by
# design.
set(QS_SOURCES_PER_UNIT 12)
function(qs_unite target)
  if(NOT QS_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(QS_SANITIZE)
    # CMake's units include absolute paths. Without them in assertions, objects of all checkouts are equal, and one compiler cache serves them.
    target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "[.]cpp$")
      get_filename_component(folder "${source}" DIRECTORY)
      string(MAKE_C_IDENTIFIER "unit_${folder}" folder)
      math(EXPR unit "${count_${folder}} + 0")
      math(EXPR count_${folder} "${unit} + 1")
      math(EXPR unit "${unit} / ${QS_SOURCES_PER_UNIT}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${unit}")
    endif()
  endforeach()
endfunction()

function(qs_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
