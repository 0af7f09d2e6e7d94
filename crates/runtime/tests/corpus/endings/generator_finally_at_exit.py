def reader():
    try:
        for i in range(100):
            yield i
    finally:
        print("generator cleaned up")


r = reader()
print(next(r), next(r))
