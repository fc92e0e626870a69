# SPDX-License-Identifier: GPL-3.0-or-later
# Each row is a tree of two sources, a.cpp and b.cpp. Where a class is in both, the check must name it; the last rows must pass.
function(pair class first second)
  file(REMOVE_RECURSE "${WORK}")
  file(WRITE "${WORK}/core/a.cpp" "namespace qs::a {\n${first}\n}\n")
  file(WRITE "${WORK}/core/b.cpp" "${second}\n}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} "-DROOT=${WORK}" -P "${RULES}" RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE said)
  string(FIND "${said}" "${class} is defined in core/a.cpp and core/b.cpp" at)
  if(class STREQUAL "" AND NOT code EQUAL 0)
    message(SEND_ERROR "${first} and ${second} are allowed, but the check says: ${said}")
  elseif(NOT class STREQUAL "" AND (code EQUAL 0 OR at EQUAL -1))
    message(SEND_ERROR "${first} and ${second} must fail with \"${class} is defined in\"; it said: ${said}")
  endif()
endfunction()

set(a "namespace qs::a {\n")
pair(qs::a::Big "int Big::one() { return 1; }" "${a}int Big::two() { return 2; }")
pair(qs::a::Big "Big::Big() : x_(1) {}" "${a}Big::~Big() {}")
pair(qs::a::Big "void Big::one() {}" "${a}std::function<void(int)> Big::two() const {")
pair(qs::a::Big "void Big::one() {}" "${a}Result<std::vector<std::pair<int, int>>>\nBig::two(\n    int x) {")
pair(qs::a::Big "bool Big::operator==(const Big& b) const {" "${a}auto Big::Part::two() {")
pair(qs::a::Big "template<class T> void Big<T>::one() {" "${a}const Big& Big::two()[1];")

pair("" "void Big::one() {}" "namespace qs::b {\nvoid Big::two() {}") # two classes of one name
pair("" "void Big::one() {}" "${a}class Big {\n};\nvoid Big::two() {}") # a class of that source alone
pair("" "void Big::one() {}" "${a}int two() { return Big::one(); }\nconst int kTwo = Big::one();")
pair("" "void part::one() {}" "${a}void part::two() {}") # functions of a namespace
file(REMOVE_RECURSE "${WORK}")
