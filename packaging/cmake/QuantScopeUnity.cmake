# SPDX-License-Identifier: GPL-3.0-or-later
# qs_unite(target), under QS_UNITY: CMake compiles its sources some twelve at a time, because what they instantiate of the standard library,
# fmt and nlohmann is then compiled once. For builds that are made once, as in .ci/run and packaging/run: a changed line compiles its whole
# unit. Names in unnamed namespaces must differ within a unit; qs_alone(source ...) keeps sources out that share theirs by design.
function(qs_unite target)
  if(QS_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

function(qs_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
