# stdin: 3\n4\n5.5\n\n
total = 0.0
while True:
    line = input("Enter a number (empty to stop): ")
    if not line:
        break
    total += float(line)
print()
print("Total:", total)
