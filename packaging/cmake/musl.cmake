# SPDX-License-Identifier: MIT
#
# Toolchain file for musl and libc++: the compiler and the libraries that packaging/build-musl has put into
# build/musl-root.
cmake_path(SET redlock_root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../build/musl-root)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER ${redlock_root}/bin/cc)
set(CMAKE_CXX_COMPILER ${redlock_root}/bin/c++)
set(CMAKE_AR ${redlock_root}/bin/ar)
set(CMAKE_RANLIB ${redlock_root}/bin/ranlib)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu)  # the folder of Debian's headers
set(CMAKE_CROSSCOMPILING_EMULATOR env)  # it runs here

set(CMAKE_FIND_ROOT_PATH ${redlock_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${redlock_root}/usr/lib/pkgconfig)
