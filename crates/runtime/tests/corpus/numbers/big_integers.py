import math
import sys

print(2**200, math.factorial(30))
fib = [0, 1]
while len(fib) < 300:
    fib.append(fib[-1] + fib[-2])
print(fib[-1], fib[-1].bit_length(), pow(3, 10**6, 10**9 + 7))
print(int("ff", 16), hex(255), oct(8), bin(5), (255).to_bytes(2, "little"), int.from_bytes(b"\x01\x00", "big"))
print(-7 // 2, -7 % 2, divmod(7, -2), round(2.5), round(-0.5), 7 // 0.5)
print(math.gcd(84, 36), math.lcm(4, 6), math.comb(10, 3), math.isqrt(10**20), sys.maxsize)
print(sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else 4300)
try:
    print(len(str(10**5000)))
except ValueError as e:
    print("ValueError:", str(e)[:35])
