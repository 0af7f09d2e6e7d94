import ctypes
import ctypes.util

libc = ctypes.CDLL(None)
libc.strlen.argtypes = [ctypes.c_char_p]
print(libc.strlen(b"four"), libc.abs(-5), libc.toupper(ord("a")))


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]


p = Point(1, 2.5)
print(p.x, p.y, ctypes.sizeof(Point))
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
libc.qsort(numbers, 5, ctypes.sizeof(ctypes.c_int), Compare(lambda a, b: a[0] - b[0]))
print(list(numbers))
print(ctypes.cast(ctypes.create_string_buffer(b"hello"), ctypes.c_char_p).value)
libm = ctypes.CDLL("libm.so.6")
libm.cos.restype, libm.cos.argtypes = ctypes.c_double, [ctypes.c_double]
print(libm.cos(0.0))
