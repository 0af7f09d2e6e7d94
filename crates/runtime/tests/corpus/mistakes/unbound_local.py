counter = 0


def increment():
    counter += 1
    return counter


try:
    increment()
except UnboundLocalError as e:
    print(e)
print(counter)
