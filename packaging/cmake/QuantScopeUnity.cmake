# SPDX-License-Identifier: GPL-3.0-or-later
# qs_unite(target): with QS_UNITY, CMake compiles up to 24 sources as one, neighbours by path. Templates of the standard library, fmt and
# nlohmann-json are then instantiated once. This is for builds that are made once, as in .ci/run and packaging/run: after a change the whole
# unit is compiled again. Names in unnamed namespaces must differ within a library or a test program. qs_alone(source ...) excludes sources
# that share names by design.
set(QS_SOURCES_PER_UNIT 24)
function(qs_unite target)
  if(NOT QS_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # CMake's units include absolute paths. Without them in assertions, objects of all checkouts are equal, and one compiler cache serves them.
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  list(SORT sources)
  list(LENGTH sources count)
  math(EXPR units "(${count} + ${QS_SOURCES_PER_UNIT} - 1) / ${QS_SOURCES_PER_UNIT}")
  set(at 0)
  foreach(source IN LISTS sources)
    math(EXPR unit "${at} * ${units} / ${count}")
    math(EXPR at "${at} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${unit}")
  endforeach()
endfunction()

function(qs_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
