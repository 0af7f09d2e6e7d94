def append_to(element, target=[]):
    target.append(element)
    return target


print(append_to(1))
print(append_to(2))
print(append_to(3, []))
print(append_to.__defaults__)
