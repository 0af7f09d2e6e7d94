# stdin: maybe\nY\nno\n
def confirm(question, default=None):
    suffix = {None: "[y/n]", True: "[Y/n]", False: "[y/N]"}[default]
    while True:
        answer = input(f"{question} {suffix} ").strip().lower()
        if not answer and default is not None:
            return default
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no"):
            return False
        print("Please answer yes or no.")


print(confirm("Continue?"))
print(confirm("Really?", default=True))
