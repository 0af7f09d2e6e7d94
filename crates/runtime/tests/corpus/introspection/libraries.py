import ctypes
import ctypes.util
import os
import platform
import sys
import sysconfig

print(ctypes.util.find_library("c"), ctypes.util.find_library("m"), ctypes.util.find_library("nope"))
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
print(libc.getpid() == os.getpid(), libc.close(-1), os.strerror(ctypes.get_errno()))
print(platform.libc_ver()[0], sys.prefix == sys.base_prefix, sysconfig.get_python_version() == "%d.%d" % sys.version_info[:2])
print(os.path.isdir(sysconfig.get_path("stdlib")), sysconfig.get_config_var("SIZEOF_VOID_P"))
