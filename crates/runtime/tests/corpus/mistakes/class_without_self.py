class Counter:
    count = 0

    def bump():
        Counter.count += 1


try:
    Counter().bump()
except TypeError as e:
    print("TypeError:", e)
Counter.bump()
print(Counter.count)
print(Counter.cuont)
