# args: -f in.txt -q --ratio 0.25 extra
from optparse import OptionParser

parser = OptionParser(usage="usage: %prog [options] arg", version="%prog 1.0")
parser.add_option("-f", "--file", dest="filename", help="write report to FILE", metavar="FILE")
parser.add_option("-q", "--quiet", action="store_false", dest="verbose", default=True)
parser.add_option("--ratio", type="float", default=1.0)
(options, args) = parser.parse_args()
print(options.filename, options.verbose, options.ratio, args)
parser.print_usage()
