# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  bench/abi_values.cpp
  bench/backend.cpp
  bench/backend_columns.cpp
  bench/backend_list.cpp
  bench/backend_sources.cpp
  bench/elf_exports.cpp
  bench/local_backend.cpp
  bench/open_backend.cpp
  bench/plugin_table.cpp
  bench/quarantine.cpp
  bench/remote_backend.cpp
  bench/shared_buffer.cpp
  bench/spawn.cpp
  bench/tpu_presence.cpp
  bench/wire.cpp
  bench/wire_fields.cpp
  bench/wire_values.cpp
  bench/worker_environment.cpp
  bench/worker_process.cpp
  bench/worker_session.cpp
)
# The benchmark itself.
target_sources(qs_core PRIVATE
  bench/bench_charts.cpp
  bench/bench_columns.cpp
  bench/bench_plan.cpp
  bench/bench_plots.cpp
  bench/bench_report.cpp
  bench/bench_table.cpp
  bench/busy_rows.cpp
  bench/benchmark.cpp
  bench/capabilities.cpp
  bench/check_output.cpp
  bench/compare.cpp
  bench/conformance.cpp
  bench/conformance_products.cpp
  bench/conformance_questions.cpp
  bench/contender.cpp
  bench/figures.cpp
  bench/gate.cpp
  bench/group.cpp
  bench/host.cpp
  bench/opened.cpp
  bench/operands.cpp
  bench/random_values.cpp
  bench/reference.cpp
  bench/rounds.cpp
  bench/shapes.cpp
  bench/statistics.cpp
  bench/weights.cpp
)
# What a run says of its build.
set(QS_COMMIT_HEADER "${CMAKE_BINARY_DIR}/generated/qs_commit.h")
add_custom_target(qs_commit BYPRODUCTS "${QS_COMMIT_HEADER}"
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${QS_COMMIT_HEADER}
          -P "${CMAKE_CURRENT_SOURCE_DIR}/bench/commit.cmake")
add_dependencies(qs_core qs_commit)
set_source_files_properties(bench/host.cpp PROPERTIES OBJECT_DEPENDS "${QS_COMMIT_HEADER}"
  COMPILE_OPTIONS "-I${CMAKE_BINARY_DIR}/generated"
  COMPILE_DEFINITIONS "QS_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";QS_BUILD_FLAGS=\"${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS}\"")
