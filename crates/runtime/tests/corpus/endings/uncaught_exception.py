def risky(n):
    if n == 0:
        raise RuntimeError("out of luck")
    return risky(n - 1)


print("starting")
risky(3)
print("not reached")
