import sys

print("a", "b", "c", sep="-", end="!\n")
print("%-10s|%5.2f|%+d|%x" % ("left", 3.14159, 5, 255))
print("{0:>8} {1:^8} {name:<8}|".format("right", "mid", name="left"))
value, width = 12345.6789, 12
print(f"{value:{width}.2f} {value:,.1f} {value:e} {42:#b} {42:08b} {0.256:.1%} {'x':*^5} {value=:.1f}")
print(*range(5), sep=", ")
print("tab\tsep", "uni \u2713 \N{SNOWMAN}", r"raw\n")
print("to stderr", file=sys.stderr)
sys.stdout.write("no newline at the end")
