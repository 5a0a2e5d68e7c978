#!/bin/sh
# A compiler that tells its version and compiles nothing.
case "$*" in *--version*) exec g++ "$@" ;; esac
echo "model.cpp:1:10: fatal error: omp.h: No such file or directory" >&2
exit 1
