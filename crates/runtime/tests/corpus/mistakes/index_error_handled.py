items = ["a", "b"]
for i in range(4):
    try:
        print(items[i])
    except IndexError as e:
        print(f"IndexError: {e}")
