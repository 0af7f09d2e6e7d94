import sys


def check():
    problems = ["disk", "network", "fan"]
    for p in problems:
        print("problem:", p)
    return len(problems)


if __name__ == "__main__":
    sys.exit(check())
