# args: --count many
import argparse
import sys


def positive_int(value):
    number = int(value)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return number


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=positive_int, default=1)
    args = parser.parse_args(argv)
    print("count is", args.count)
    return 0


if __name__ == "__main__":
    print("before parsing")
    sys.stdout.flush()
    sys.exit(main())
