# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_test(test_wire SOURCES bench/test_wire.cpp LIBS qs_core)
