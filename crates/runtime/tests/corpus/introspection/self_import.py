import sys

if __name__ == "__main__":
    import self_import

    print(self_import.VALUE, self_import is sys.modules["__main__"])
VALUE = 10
print("loaded as", __name__)
