# args: --n 3 --greeting Hi World
import argparse

parser = argparse.ArgumentParser(description="Greet somebody several times.")
parser.add_argument("name")
parser.add_argument("--n", type=int, default=1, help="how often")
parser.add_argument("--greeting", default="Hello")
args = parser.parse_args()

for i in range(args.n):
    print(f"{i + 1}: {args.greeting}, {args.name}!")
