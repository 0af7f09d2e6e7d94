# args: -v -o result.txt --level=3 rest1 rest2
import getopt
import sys


def usage():
    print("usage: prog [-v] [-o FILE] [--level N] ARGS")


def main():
    try:
        opts, args = getopt.getopt(sys.argv[1:], "hvo:", ["help", "level="])
    except getopt.GetoptError as err:
        print(err)
        usage()
        sys.exit(2)
    verbose = False
    for o, a in opts:
        if o == "-v":
            verbose = True
        elif o in ("-h", "--help"):
            usage()
            sys.exit()
        else:
            print("option", o, "=", a)
    print("verbose", verbose, "args", args)


if __name__ == "__main__":
    main()
