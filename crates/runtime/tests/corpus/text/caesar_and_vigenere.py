# args: --decrypt --shift 3 "Khoor, Zruog!"
import argparse
import string


def caesar(text, shift):
    table = str.maketrans(
        string.ascii_letters,
        "".join(a[shift % 26 :] + a[: shift % 26] for a in (string.ascii_lowercase, string.ascii_uppercase)),
    )
    return text.translate(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("text")
    parser.add_argument("--shift", type=int, default=13)
    parser.add_argument("--decrypt", action="store_true")
    args = parser.parse_args()
    print(caesar(args.text, -args.shift if args.decrypt else args.shift))


main()
