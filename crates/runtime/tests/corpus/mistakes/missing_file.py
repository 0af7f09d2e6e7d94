def load(path):
    with open(path) as f:
        return f.readlines()


print("loading...")
lines = load("data/input_that_does_not_exist.txt")
print(len(lines))
