# args: --help
import argparse


def build_parser():
    parser = argparse.ArgumentParser(
        prog="imgtool",
        description="Resize and convert images.",
        epilog="See the manual for more.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("inputs", nargs="+", metavar="FILE", help="images to convert")
    parser.add_argument("-q", "--quality", type=int, default=85, choices=range(1, 101), metavar="1-100", help="JPEG quality")
    parser.add_argument("-o", "--output", default="out", help="where to put the results")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--verbose", action="store_true", help="say more")
    group.add_argument("--quiet", action="store_true", help="say less")
    return parser


if __name__ == "__main__":
    build_parser().parse_args()
    print("not reached")
