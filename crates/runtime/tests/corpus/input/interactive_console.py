# stdin: x = 6\nx * 7\nfor i in range(2):\n    print(i)\n\n1/0\nprint("still here")\n
import code
import sys

console = code.InteractiveConsole({"greeting": "hi"})
sys.ps1 = sys.ps2 = ""
console.interact(banner="", exitmsg="")
print("left the console with x =", console.locals["x"])
