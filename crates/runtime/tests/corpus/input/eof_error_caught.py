# stdin: only one line
try:
    print("first:", input())
    print("second:", input())
except EOFError:
    print("no more input")
