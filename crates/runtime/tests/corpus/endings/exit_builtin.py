number = 13
if number > 10:
    print("too big, leaving")
    exit(4)
print("not reached")
