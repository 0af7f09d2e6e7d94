def ratio(a, b):
    return a / b


for b in (4, 2, 0):
    print(f"8 / {b} =", ratio(8, b))
