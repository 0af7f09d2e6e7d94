# args: -h
import argparse

# Without prog=, argparse takes the name of the script.
parser = argparse.ArgumentParser(description="Count things.")
parser.add_argument("thing", help="what to count")
parser.parse_args()
