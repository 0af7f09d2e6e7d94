# args: add --due 2024-05-01 "buy milk" --tag home --tag shop
"""A todo list with subcommands."""

import argparse
import datetime as dt


def cmd_add(args):
    print("added", repr(args.text), "due", args.due.isoformat(), "tags", ",".join(sorted(args.tag)))
    return 0


def cmd_list(args):
    print("nothing to do")
    return 0


def main():
    parser = argparse.ArgumentParser(prog="todo")
    sub = parser.add_subparsers(dest="command", required=True)
    add = sub.add_parser("add", help="add an item")
    add.add_argument("text")
    add.add_argument("--due", type=dt.date.fromisoformat, required=True)
    add.add_argument("--tag", action="append", default=[])
    add.set_defaults(func=cmd_add)
    lst = sub.add_parser("list")
    lst.set_defaults(func=cmd_list)
    args = parser.parse_args()
    raise SystemExit(args.func(args))


main()
