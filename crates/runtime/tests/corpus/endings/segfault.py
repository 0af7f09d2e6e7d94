import ctypes

print("reading address 0", flush=True)
ctypes.string_at(0)
